import MartletSemantics
import Synchronization

/// A body that passes at no more than a rate.
final class PacedBody: BodyLayer {
  let base: any BodySource
  private let share: RateShare
  /// The part of the last chunk that has not passed.
  private let rest = Mutex(Data())

  init(_ base: any BodySource, _ share: RateShare) { (self.base, self.share) = (base, share) }

  func next() async throws -> Data? {
    var chunk = rest.withLock { $0 }
    if chunk.isEmpty {
      guard let next = try await base.next() else { return nil }
      chunk = next
    }
    let piece = chunk.prefix(share.pieceSize)
    let left = chunk.dropFirst(piece.count)
    rest.withLock { $0 = left }
    try await share.pass(piece.count)
    return piece
  }

  var hasNoRest: Bool { rest.withLock { $0.isEmpty } && base.isKnownToHaveNoRest }

  /// False: it waits for its turn, too.
  var endsAtDeadline: Bool { false }
}

/// A response's body that fails if it arrives too slowly. Only the time in which its reader waits counts.
final class WatchedBody: BodyLayer {
  let base: any BodySource
  private let rate: MinimumRate
  private let clock: any Clock<Duration>
  private let floor: Mutex<RateFloor>

  init(_ base: any BodySource, _ rate: MinimumRate, on clock: any Clock<Duration>) {
    (self.base, self.rate, self.clock) = (base, rate, clock)
    floor = Mutex(rate.floor)
  }

  func next() async throws -> Data? {
    let wait = Stopwatch(clock)
    let limit = Deadline(floor.withLock { $0.patience }, on: clock)
    let chunk: Data?
    do { chunk = try await limit.limiting { [base] in try await base.next() } } catch {
      // The call's own deadline does not end this wait, but the one around it.
      guard (error as? HTTPError)?.kind == .deadlineExceeded, limit.remaining == .zero else { throw error }
      throw tooSlow()
    }
    let isTooSlow = floor.withLock { floor in
      defer { floor.add(chunk?.count ?? 0) }
      return floor.wait(wait.elapsed)
    }
    if isTooSlow, chunk != nil { throw tooSlow() }
    return chunk
  }

  private func tooSlow() -> HTTPError {
    base.cancel()
    return rate.error("the body arrived with", .receiving)
  }

  var endsAtDeadline: Bool { false }
}

/// A request's body whose transfer fails if the network takes it too slowly. Only the time between a chunk and the
/// question for the next one counts.
final class WatchedUpload: Sendable {
  private struct State {
    var floor: RateFloor
    /// Since when the transport has had a chunk; nil while it waits for one.
    var sending: Stopwatch?
    var hasEnded = false
  }

  private let rate: MinimumRate
  private let clock: any Clock<Duration>
  private let state: Mutex<State>

  init(_ rate: MinimumRate, on clock: any Clock<Duration>) {
    (self.rate, self.clock) = (rate, clock)
    state = Mutex(State(floor: rate.floor))
  }

  /// Returns the body with a watch on its source.
  func watching(_ body: RequestBody) -> RequestBody {
    body.wrapped { source in Source(base: source, upload: self) }
  }

  private struct Source: BodyLayer {
    let base: any BodySource
    let upload: WatchedUpload

    func next() async throws -> Data? {
      upload.tookChunk()
      let chunk = try await base.next()
      upload.gave(chunk?.count)
      return chunk
    }
  }

  private func tookChunk() {
    state.withLock { state in
      if let sending = state.sending.take() { _ = state.floor.wait(sending.elapsed) }
    }
  }

  /// - Parameter count: nil at the end.
  private func gave(_ count: Int?) {
    state.withLock { state in
      guard let count else { return state.hasEnded = true }
      state.floor.add(count)
      state.sending = Stopwatch(clock)
    }
  }

  /// Returns when the body has been taken.
  ///
  /// - Throws: ``HTTPError/Kind/tooSlow``.
  func watch() async throws {
    while true {
      let patience = state.withLock { state -> Duration? in
        if state.hasEnded { return nil }
        return state.floor.patience - (state.sending?.elapsed ?? .zero)
      }
      guard let patience else { return }
      guard patience > .zero else { throw rate.error("the network took the body with", .sending) }
      try await clock.sleep(for: patience)
    }
  }
}

extension RequestBody {
  /// Returns the body with a source around its own.
  func wrapped(_ wrap: @escaping @Sendable (any BodySource) -> any BodySource) -> RequestBody {
    let open: @Sendable () async throws -> OpenBody = {
      let body = try await self.open()
      return OpenBody(source: wrap(body.source), length: body.length)
    }
    return RequestBody(
      .made(open), length: length, fields: fields, hasTrailers: hasTrailers, singleUses: singleUses)
  }
}
