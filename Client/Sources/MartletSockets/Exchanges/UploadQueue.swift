#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics
import Synchronization

/// The queue for a request's body, between the task that produces it and the loop thread that sends it. Its size is
/// limited, so that a fast producer waits for a slow network.
///
/// Its continuation is an unsafe one, as in ``SignalQueue``: it is taken out of the state under the lock.
final class UploadQueue: Sendable {
  /// The result of asking the queue.
  enum Next: Sendable {
    /// The next bytes.
    case chunk(Data)
    /// There are no bytes yet, and the producer wakes the loop when there are; or the queue is closed, and there will
    /// never be any.
    case nothingYet
    /// There are no more bytes; the trailers follow.
    case end(trailers: HTTPFields)
  }

  fileprivate struct State {
    var chunks = HeadQueue<Data>()
    var buffered = 0
    /// The trailers, once the body has ended.
    var trailers: HTTPFields?
    var isClosed = false
    /// Whether the loop found no bytes and has to be woken for the next.
    var loopWaits = false
    /// Whether the loop has asked for bytes.
    var isWanted = false
    var producer: UnsafeContinuation<Void, Never>?
  }

  private let state: Mutex<State>
  private static let highWater = 512 << 10

  /// - Parameter waitsForDemand: whether the producer begins only when the loop asks for the first bytes, because the
  ///   body must not be opened if it is not sent. Otherwise it begins while the connection is established.
  init(waitsForDemand: Bool) { state = Mutex(State(isWanted: !waitsForDemand)) }

  /// Called by the loop: takes the next chunk.
  func next() -> Next {
    let (next, producer) = state.withLock { state -> (Next, UnsafeContinuation<Void, Never>?) in
      state.isWanted = true
      let next = state.take()
      guard state.buffered <= Self.highWater / 2 else { return (next, nil) }
      defer { state.producer = nil }
      return (next, state.producer)
    }
    producer?.resume()
    return next
  }

  /// Called by the producer: waits until the loop asks for bytes. Returns false if it never will.
  func demand() async -> Bool {
    await wait { $0.isWanted }
    return state.withLock { !$0.isClosed }
  }

  /// Called by the producer: adds bytes, and waits while there are too many. Returns false if no more are needed.
  ///
  /// - Parameter wake: called before the wait if the loop had found no bytes.
  func push(_ chunk: Data, wake: () -> Void) async -> Bool {
    if let isWanted = add(chunk, wake: wake) { return isWanted }
    return await room()
  }

  /// Called by the producer: adds bytes. Returns whether more are needed; nil if there are too many, and the producer
  /// has to wait for ``room()``.
  ///
  /// - Parameter wake: called if the loop had found no bytes.
  func add(_ chunk: Data, wake: () -> Void) -> Bool? {
    let (wakes, isWanted) = state.withLock { state -> (Bool, Bool?) in
      guard !state.isClosed else { return (false, false) }
      defer { state.loopWaits = false }
      state.chunks.append(chunk)
      state.buffered += chunk.count
      return (state.loopWaits, state.buffered <= Self.highWater ? true : nil)
    }
    if wakes { wake() }
    return isWanted
  }

  /// Called by the producer: waits while there are too many bytes. Returns false if no more are needed.
  func room() async -> Bool {
    await wait { $0.buffered <= Self.highWater }
    return state.withLock { !$0.isClosed }
  }

  /// Called by the producer: marks the end. Returns whether to wake the loop.
  func end(trailers: HTTPFields = [:]) -> Bool {
    state.withLock { state in
      state.trailers = trailers
      defer { state.loopWaits = false }
      return state.loopWaits
    }
  }

  /// Closes the queue, and resumes a waiting producer. A closed queue never reports its end, because a body that was
  /// given up must not look complete to the server.
  func close() {
    let producer = state.withLock { state in
      state.isClosed = true
      state.chunks.removeAll()
      defer { state.producer = nil }
      return state.producer
    }
    producer?.resume()
  }

  /// Suspends the producer until the state satisfies a condition, or the queue is closed.
  private func wait(until isReady: @Sendable (borrowing State) -> Bool) async {
    await withUnsafeContinuation { continuation in
      let goesOn = state.withLock { state in
        if state.isClosed || isReady(state) { return true }
        state.producer = continuation
        return false
      }
      if goesOn { continuation.resume() }
    }
  }
}

extension UploadQueue.State {
  fileprivate mutating func take() -> UploadQueue.Next {
    guard let chunk = chunks.popFirst() else {
      if let trailers, !isClosed { return .end(trailers: trailers) }
      loopWaits = true
      return .nothingYet
    }
    buffered -= chunk.count
    return .chunk(chunk)
  }
}
#endif
