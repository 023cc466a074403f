@_spi(Toolkit) import MartletSemantics

/// Sends a request until its response is accepted. Redirects, retries, challenges and all other resends share this
/// loop, its limit and its history. Interceptors need not check for cancellation, because the loop does. It also
/// cancels the body of a response that is not used; ``Verdict/replace(_:)`` says which bodies an interceptor cancels.
final class AttemptLoop: Sendable {
  /// The session's interceptors, and the engine's own after them. A request's interceptors run between the two.
  private let interceptors: (session: [any Interceptor], engine: [any Interceptor])
  /// The chain for requests without interceptors.
  private let chain: InterceptorChain
  private let transport: any Transport
  /// Whether the transport ends its waits at a call's deadline.
  let transportEndsAtDeadline: Bool
  /// The maximum number of attempts of a call.
  let limit: Int
  private let clock: any Clock<Duration>

  init(
    interceptors: (session: [any Interceptor], engine: [any Interceptor]), transport: any Transport, limit: Int,
    clock: any Clock<Duration>
  ) {
    self.interceptors = interceptors
    self.transport = transport
    transportEndsAtDeadline = Deadline.isKept(by: transport)
    self.limit = limit
    self.clock = clock
    chain = InterceptorChain(interceptors.session + interceptors.engine)
  }

  /// Returns the accepted response.
  func run(_ original: HTTPRequest, in call: Call) async throws(HTTPError) -> HTTPResponse {
    let own = original.options.interceptors
    let chain = own.isEmpty ? chain : InterceptorChain(interceptors.session + own + interceptors.engine)
    var request = original
    var history: [AttemptRecord] = []
    while true {
      var described = DescribedRequest(request)
      do {
        try Task.checkCancellation()
        try call.activeDeadline?.check()
        call.missingCredentials = nil
        let answer = try await chain.prepare(&described, in: call)
        let sent = described.request
        try Self.check(sent, orDiscard: answer)
        let attempt = Attempt(number: history.count + 1, request: request, sent: sent, history: history)
        call.begin(attempt: attempt.number)
        call.emit(.attempt(attempt.number, sent))
        var outcome = await outcome(of: sent, or: answer?.response, in: call)
        let pending = chain.reviewImmediately(outcome, of: attempt, by: answer?.preparedCount ?? .max, in: call)
        guard let pending,
          let next = try await next(after: attempt, &outcome, reviewing: pending, &history, in: call)
        else { return try Self.response(consume outcome, to: sent, after: history) }
        request = next
      } catch {
        throw Self.failure(error, of: described.request, after: history, in: call)
      }
    }
  }

  /// Checks a request that interceptors have prepared. A response that one of them returned is not used if this fails.
  private static func check(_ prepared: HTTPRequest, orDiscard answer: InterceptorChain.Answer?) throws {
    do {
      try Task.checkCancellation()  // An interceptor may have ignored the cancellation.
      try prepared.validate()
    } catch {
      answer?.response.body.cancel()
      throw error
    }
  }

  /// Returns the accepted response, and records in it the request that it answers and the attempts that preceded it. If
  /// two requests raced, the slower one is already in the response.
  private static func response(
    _ outcome: consuming Outcome, to request: HTTPRequest, after history: [AttemptRecord]
  ) throws -> HTTPResponse {
    switch consume outcome {
    case .success(var response):
      response.answer(request, after: history)
      return response
    case .failure(let error): throw error
    }
  }

  // `@inline(never)`: every waiting call keeps the frame of `run`, and the variables of these functions must not
  // enlarge it.

  /// Completes the error of a call. If its last attempt has not begun, nothing of that attempt was sent.
  @inline(never)
  private static func failure(
    _ error: any Error, of request: HTTPRequest, after history: [AttemptRecord], in call: Call
  ) -> HTTPError {
    let hasBegun = call.currentAttempt > history.count
    return (hasBegun ? HTTPError(wrapping: error) : HTTPError(beforeSending: error))
      .addingContext(request: request.head, response: nil, history: history)
  }

  /// Finishes the reviews of an outcome. If an interceptor asks for another attempt, records this one, reports the
  /// resend and waits until it is due.
  ///
  /// - Returns: the next request; nil if the outcome is accepted.
  @inline(never)
  private func next(
    after attempt: Attempt, _ outcome: inout Outcome, reviewing first: InterceptorChain.Pending<Verdict>,
    _ history: inout [AttemptRecord], in call: Call
  ) async throws -> HTTPRequest? {
    guard let resend = try await review(&outcome, of: attempt, after: first, in: call) else { return nil }
    guard attempt.number < limit else {
      throw HTTPError.tooManyAttempts(limit, last: resend.reason)
        .addingContext(request: attempt.sent.head, response: outcome.head, history: history)
    }
    history.append(AttemptRecord(request: attempt.sent.head, response: outcome.head, reason: resend.reason))
    let delay = resend.delay
    call.emit(.resend(resend.request, after: delay, reason: resend.reason, failure: resend.failure))
    if delay > .zero {
      try await call.withinDeadline { [clock] in try await clock.sleep(for: delay.bounded) }
    }
    return resend.request
  }

  /// Sends the request, unless an interceptor has returned the response.
  @inline(never)
  private func outcome(of request: HTTPRequest, or answer: HTTPResponse?, in call: Call) async -> Outcome {
    do {
      let response =
        if let answer {
          answer
        } else if transportEndsAtDeadline || !call.hasDeadline {
          try await transport.send(request, in: call)
        } else {
          try await call.withinDeadline(discarding: { $0.body.cancel() }) { [transport] in
            try await transport.send(request, in: call)
          }
        }
      call.emit(.response(response.head, from: response.url))
      return .success(response)
    } catch { return .failure(HTTPError(wrapping: error)) }
  }

  /// Finishes the reviews of an outcome, and returns the next request; nil if the outcome is accepted. If there is a
  /// next request or an error, the response of this attempt is discarded.
  private func review(
    _ outcome: inout Outcome, of attempt: Attempt, after first: InterceptorChain.Pending<Verdict>, in call: Call
  ) async throws -> InterceptorChain.Resend? {
    do {
      let resend = try await first.chain.review(&outcome, of: attempt, after: first, in: call)
      if resend != nil { await outcome.discard(on: clock, in: call) }
      return resend
    } catch {
      await outcome.discard(on: clock, in: call)
      throw HTTPError(wrapping: error).addingContext(request: attempt.sent.head, response: outcome.head, history: [])
    }
  }
}

extension Outcome {
  fileprivate var head: ResponseHead? { (try? get())?.head }

  var error: HTTPError? {
    if case .failure(let error) = self { error } else { nil }
  }

  /// Discards a response whose body is not needed. The body of a redirect is still read if it is small and arrives
  /// soon, because the cache stores only bodies that are read to the end.
  fileprivate func discard(on clock: any Clock<Duration>, in call: Call) async {
    guard let response = try? get() else { return }
    if response.status.isRedirection, let body = response.body.source as? any FinishableBody {
      await body.readRest(upTo: 16 << 10, within: .seconds(1), on: clock)
    }
    response.body.cancel()
  }
}

extension HTTPError {
  fileprivate static func tooManyAttempts(_ limit: Int, last reason: String) -> HTTPError {
    HTTPError(
      .tooManyAttempts,
      "the call reached its limit of \(limit) attempts (attemptLimit), and the last one asked for another: \(reason)")
  }
}
