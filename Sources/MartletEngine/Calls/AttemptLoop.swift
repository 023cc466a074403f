import MartletSemantics

/// Sends a request until its response is accepted. It is the only loop of the engine: redirects, retries, challenges
/// and all other resends share its limit and its history, and bodies are discarded and cancellation is checked only
/// here.
struct AttemptLoop: Sendable {
  /// The session's interceptors, and the engine's own after them. A request's interceptors run between the two.
  private let interceptors: (session: [any Interceptor], engine: [any Interceptor])
  /// The chain for requests without interceptors.
  private let chain: InterceptorChain
  private let transport: any Transport
  private let limit: Int
  private let clock: any Clock<Duration>

  /// - Parameter limit: the largest number of attempts.
  init(
    interceptors: (session: [any Interceptor], engine: [any Interceptor]), transport: any Transport, limit: Int,
    clock: any Clock<Duration>
  ) {
    self.interceptors = interceptors
    self.transport = transport
    self.limit = limit
    self.clock = clock
    chain = InterceptorChain(interceptors.session + interceptors.engine)
  }

  /// Returns the accepted response, and the method of the request that it is the response to.
  func run(
    _ original: HTTPRequest, in call: Call
  ) async throws(HTTPError) -> (response: HTTPResponse, method: HTTPMethod) {
    let own = original.options.interceptors
    let chain = own.isEmpty ? chain : InterceptorChain(interceptors.session + own + interceptors.engine)
    var request = original
    var history: [AttemptRecord] = []
    while true {
      var described = DescribedRequest(request)
      do {
        try Task.checkCancellation()
        let answer = try await chain.prepare(&described, in: call)
        try Task.checkCancellation()  // in case an interceptor ignored the cancellation
        let sent = described.request
        try sent.validate()
        let attempt = Attempt(number: history.count + 1, request: request, sent: sent, history: history)
        call.emit(.attempt(attempt.number, sent))
        let outcome = await outcome(of: sent, or: answer?.response, in: call)
        switch try await review(outcome, of: attempt, by: chain, answer?.preparedCount, in: call) {
        case .done(let response): return (response, sent.method)
        case .again(let resend, let record):
          history.append(record)
          guard history.count < limit else { throw HTTPError.tooManyAttempts(limit, last: record.reason) }
          call.emit(.resend(resend.request, after: resend.delay, reason: record.reason))
          if resend.delay > .zero { try await clock.sleep(for: resend.delay.bounded) }
          request = resend.request
        }
      } catch {
        throw HTTPError(wrapping: error)
          .addingContext(request: described.request.head, response: nil, attempts: history)
      }
    }
  }

  /// Sends the request, unless an interceptor has returned the response.
  @inline(never)  // so that a call that waits has room for one response, and not for all variables of the loop
  private func outcome(of request: HTTPRequest, or answer: HTTPResponse?, in call: Call) async -> Outcome {
    do {
      let response = if let answer { answer } else { try await transport.send(request, in: call) }
      call.emit(.response(response.head, from: response.url))
      return .success(response)
    } catch { return .failure(error) }
  }

  private enum Step {
    case done(HTTPResponse)
    case again(InterceptorChain.Resend, AttemptRecord)
  }

  /// Runs the reviews of an outcome. If there is a resend or an error, the response of this attempt is discarded.
  @inline(never)
  private func review(
    _ first: Outcome, of attempt: Attempt, by chain: InterceptorChain, _ preparedCount: Int?, in call: Call
  ) async throws -> Step {
    var outcome = first
    do {
      guard let resend = try await chain.review(&outcome, of: attempt, by: preparedCount, in: call) else {
        var response = try outcome.get()
        response.history = attempt.history
        return .done(response)
      }
      await outcome.discard(on: clock)
      return .again(
        resend, AttemptRecord(request: attempt.sent.head, response: outcome.head, reason: resend.reason))
    } catch {
      await outcome.discard(on: clock)
      throw HTTPError(wrapping: error).addingContext(request: attempt.sent.head, response: outcome.head, attempts: [])
    }
  }
}

extension Outcome {
  fileprivate var head: ResponseHead? { (try? get())?.head }

  /// Discards a response whose body is not needed. A body that is not read to its end is not stored in the cache, so
  /// that of a redirect is read if it is small and arrives soon.
  fileprivate func discard(on clock: any Clock<Duration>) async {
    guard let response = try? get() else { return }
    if response.status.isRedirection, let body = response.body.source as? StoringBody {
      await body.readRest(upTo: 16 << 10, within: .seconds(1), on: clock)
    }
    response.body.cancel()
  }
}

extension HTTPError {
  fileprivate static func tooManyAttempts(_ limit: Int, last reason: String) -> HTTPError {
    HTTPError(
      .tooManyAttempts,
      "the request was sent \(limit) times, which is the limit, and would have to be sent again: \(reason)")
  }
}
