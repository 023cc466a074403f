import MartletSemantics
import Synchronization

/// The body that a session hands out: counted against the limit, watched, held to the deadline, its errors placed in
/// their exchange, and its end told exactly once.
final class SessionBody: BodySource {
  private let base: any BodySource
  private let length: Int64?
  private let limit: Int64?
  private let attempt: Int
  private let deadline: Deadline?
  private let exchange: Exchange
  private let place: @Sendable (HTTPError) -> HTTPError
  private let state = Mutex((count: Int64(0), isFinished: false))

  init(
    of response: HTTPResponse, limit: Int64?, deadline: Deadline?, in exchange: Exchange,
    place: @escaping @Sendable (HTTPError) -> HTTPError
  ) {
    base = response.body.source
    length = response.body.length
    attempt = response.history.count + 1
    self.limit = limit
    self.deadline = deadline
    self.exchange = exchange
    self.place = place
  }

  func next() async throws -> Data? {
    do {
      if let limit, let length, length > limit { throw HTTPError.bodyTooLarge(limit: limit) }
      guard let chunk = try await pull() else {
        finish(nil)
        return nil
      }
      let count = state.withLock { state in
        state.count += Int64(chunk.count)
        return state.count
      }
      if let limit, count > limit { throw HTTPError.bodyTooLarge(limit: limit) }
      if exchange.wantsBodies { exchange.emit(.bytes(chunk, .received, attempt: attempt)) }
      exchange.emit(.progress(TransferProgress(.received, completed: count, total: length)))
      return chunk
    } catch {
      let error = place(HTTPError(wrapping: error))
      base.cancel()
      finish(error)
      throw error
    }
  }

  private func pull() async throws -> Data? {
    guard let deadline else { return try await base.next() }
    return try await deadline.holding { [base] in try await base.next() }
  }

  func cancel() {
    base.cancel()
    finish(place(HTTPError(.cancelled, "the response's body was given up before its end")))
  }

  var trailers: HTTPFields { base.trailers }

  private func finish(_ error: HTTPError?) {
    let isFirst = state.withLock { state in
      defer { state.isFinished = true }
      return !state.isFinished
    }
    if isFirst { exchange.emit(.finished(error)) }
  }

  deinit { if !state.withLock({ $0.isFinished }) { cancel() } }
}
