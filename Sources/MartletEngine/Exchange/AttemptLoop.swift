import MartletSemantics

/// The only loop of the engine: redirects, retries, challenges and every other resend share its budget, its history, and
/// the one place where bodies are dropped and cancellation is checked.
struct AttemptLoop: Sendable {
  /// Those of the session, and the engine's own behind them. A request's stand between the two.
  let interceptors: (session: [any Interceptor], engine: [any Interceptor])
  let transport: any Transport
  let limit: Int
  let clock: any Clock<Duration>

  func run(_ original: HTTPRequest, in exchange: Exchange) async throws(HTTPError) -> HTTPResponse {
    let interceptors = interceptors.session + original.options.interceptors + interceptors.engine
    var request = original
    var history: [AttemptRecord] = []
    while true {
      var described = DescribedRequest(request)
      var sent: HTTPRequest { described.request }
      do {
        try Task.checkCancellation()
        for interceptor in interceptors { described.update(to: try await interceptor.prepare(sent, in: exchange)) }
        try Task.checkCancellation()  // an interceptor may have swallowed it
        try sent.validate()
        let attempt = Attempt(number: history.count + 1, request: request, sent: sent, history: history)
        exchange.emit(.attempt(attempt.number, sent))
        switch try await review(
          await outcome(of: sent, in: exchange), of: attempt, by: interceptors, in: exchange)
        {
        case .done(var response):
          response.history = history
          return response
        case .again(let next, let delay, let record):
          history.append(record)
          guard history.count < limit else { throw HTTPError.tooManyAttempts(limit, last: record.reason) }
          exchange.emit(.resend(next, after: delay, reason: record.reason))
          if delay > .zero { try await clock.sleep(for: delay.bounded) }
          request = next
        }
      } catch {
        throw HTTPError(wrapping: error).placed(request: sent.head, response: nil, attempts: history)
      }
    }
  }

  private func outcome(of request: HTTPRequest, in exchange: Exchange) async -> Outcome {
    do {
      let response = try await transport.send(request, in: exchange)
      exchange.emit(.response(response.head, from: response.url))
      return .success(response)
    } catch { return .failure(error) }
  }

  private enum Step {
    case done(HTTPResponse)
    case again(HTTPRequest, Duration, AttemptRecord)
  }

  /// From the last interceptor to the first. `.replace` goes on with the new response; `.resend` or a thrown error ends
  /// the round, and whatever response there was is given up.
  private func review(
    _ first: Outcome, of attempt: Attempt, by interceptors: [any Interceptor], in exchange: Exchange
  ) async throws -> Step {
    var outcome = first
    do {
      for interceptor in interceptors.reversed() {
        switch try await interceptor.review(outcome, of: attempt, in: exchange) {
        case .accept: continue
        case .replace(let response): outcome = .success(response)
        case .resend(let next, let delay, let reason):
          await outcome.giveUp(on: clock)
          let record = AttemptRecord(request: attempt.sent.head, response: outcome.head, reason: reason)
          return .again(next, delay, record)
        }
      }
    } catch {
      await outcome.giveUp(on: clock)
      throw HTTPError(wrapping: error).placed(request: attempt.sent.head, response: outcome.head, attempts: [])
    }
    return .done(try outcome.get())
  }
}

extension Outcome {
  fileprivate var head: ResponseHead? { (try? get())?.head }

  /// Ends a response that nobody will read. One that is not read to its end is not stored, so that a redirect is read, where
  /// its body is small and comes soon.
  fileprivate func giveUp(on clock: any Clock<Duration>) async {
    guard let response = try? get() else { return }
    if response.status.isRedirection, let body = response.body.source as? StoringBody {
      await body.readRest(upTo: 16 << 10, within: .seconds(1), on: clock)
    }
    response.body.cancel()
  }
}

extension HTTPError {
  fileprivate static func tooManyAttempts(_ limit: Int, last reason: String) -> HTTPError {
    HTTPError(.tooManyAttempts, "the exchange was sent \(limit) times and should go again: \(reason)")
  }

  /// Adds where it happened, as far as that is not known already.
  func placed(request: RequestHead, response: ResponseHead?, attempts: [AttemptRecord]) -> HTTPError {
    var error = self
    error.request = error.request ?? request
    error.response = error.response ?? response
    if error.attempts.isEmpty { error.attempts = attempts }
    return error
  }
}
