public import MartletEngine
import MartletSemantics

/// A transport whose answers come from a closure.
///
/// ```swift
/// let transport = MockTransport { request in
///   request.url.path == "/login" ? .json(#"{"token": "t"}"#) : .status(.notFound)
/// }
/// ```
///
/// It behaves like a real one around the closure: `RequestOptions.responseTimeout` ends a closure that takes too long
/// (every chunk of the body that it reads restarts the time), and cancelling the task ends the call at once, even if
/// the closure pays no heed.
public struct MockTransport: Transport {
  /// Answers one request. What it throws, the transport throws.
  public typealias Responder = @Sendable (MockRequest) async throws -> MockResponse

  private let clock: any Clock<Duration>
  private let respond: Responder

  /// Makes a transport.
  ///
  /// - Parameters:
  ///   - clock: measures the response's timeout; a ``ManualClock`` where a test wants to decide.
  ///   - respond: answers the requests, any number at the same time.
  public init(clock: any Clock<Duration> = ContinuousClock(), _ respond: @escaping Responder) {
    self.clock = clock
    self.respond = respond
  }

  /// Answers with what the closure says.
  ///
  /// - Throws: what the closure throws, an `HTTPError` of kind `.responseTimeout`, or `CancellationError`.
  public func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse {
    let answer = try await answer(to: request, in: exchange, on: clock)
    for head in answer.interim { exchange.emit(.informational(head)) }
    return try answer.response(for: request.url)
  }

  /// The first of three: the closure's answer, the end of the time, the task's cancellation. The closure runs in a task of
  /// its own, because one that ignores cancellation would hold a child task, and so the caller, for ever.
  private func answer<C: Clock<Duration>>(
    to request: HTTPRequest, in exchange: Exchange, on clock: C
  ) async throws -> MockResponse {
    let outcome = Watched<Result<MockResponse, any Error>?>(nil)
    let lastMove = Watched(clock.now)
    let call = MockRequest(request, in: exchange) { lastMove.update { $0 = clock.now } }
    let work = Task {
      let result: Result<MockResponse, any Error>
      do { result = .success(try await respond(call)) } catch { result = .failure(error) }
      outcome.update { $0 = $0 ?? result }
    }
    let watchdog = request.options.responseTimeout.map { timeout in
      Task {
        while true {
          let end = lastMove.state.advanced(by: timeout.bounded)
          try await clock.sleep(until: end, tolerance: nil)
          guard lastMove.state.advanced(by: timeout.bounded) <= clock.now else { continue }
          let error = HTTPError(.responseTimeout, "the mock gave no response in \(timeout)", phase: .waiting)
          return outcome.update { $0 = $0 ?? .failure(error) }
        }
      }
    }
    defer {
      work.cancel()
      watchdog?.cancel()
    }
    return try await outcome.wait { $0 }.get()
  }
}
