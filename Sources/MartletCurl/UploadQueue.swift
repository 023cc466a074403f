#if os(Linux)
import CCurl
import Glibc
import MartletSemantics
import Synchronization

/// The bytes of a request's body on their way from the task that produces them to the loop thread: bounded, so that a
/// fast producer waits for a slow network.
final class UploadQueue: Sendable {
  fileprivate struct State {
    var chunks: [Data] = []
    var first = 0
    var offset = 0
    var buffered = 0
    var isEnded = false
    var isClosed = false
    var isPaused = false
    var isWanted = false
    var producer: CheckedContinuation<Void, Never>?
  }

  private let state: Mutex<State>
  private static let highWater = 512 << 10

  /// - Parameter waitsForDemand: whether the producer begins only when libcurl asks for the first bytes. It does where a
  ///   body must stay untouched if it is not sent; else the bytes are there before the connection is.
  init(waitsForDemand: Bool) { state = Mutex(State(isWanted: !waitsForDemand)) }

  /// From the loop thread: fills libcurl's buffer. 0 is the end; nothing there yet pauses the sending.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let (count, producer) = state.withLock { state -> (Int, CheckedContinuation<Void, Never>?) in
      let count = state.take(into: buffer)
      state.isWanted = true
      if count == 0, !state.isEnded { state.isPaused = true }
      guard state.buffered <= Self.highWater / 2 else { return (count, nil) }
      defer { state.producer = nil }
      return (count == 0 && !state.isEnded ? Int(CURL_READFUNC_PAUSE) : count, state.producer)
    }
    producer?.resume()
    return count
  }

  /// From the producer: waits until anybody wants bytes. Returns false if nobody ever will.
  func demand() async -> Bool {
    await withCheckedContinuation { continuation in
      let goesOn = state.withLock { state in
        if state.isClosed || state.isWanted { return true }
        state.producer = continuation
        return false
      }
      if goesOn { continuation.resume() }
    }
    return state.withLock { !$0.isClosed }
  }

  /// From the producer: adds bytes, and waits while there are too many. Returns whether the sending has to be unpaused
  /// before waiting, through the closure, and whether anybody still wants more.
  func push(_ chunk: Data, unpause: () -> Void) async -> Bool {
    let (wasPaused, isClosed) = state.withLock { state in
      defer { state.isPaused = false }
      if !state.isClosed {
        state.chunks.append(chunk)
        state.buffered += chunk.count
      }
      return (state.isPaused, state.isClosed)
    }
    if isClosed { return false }
    if wasPaused { unpause() }
    await withCheckedContinuation { continuation in
      let goesOn = state.withLock { state in
        if state.isClosed || state.buffered <= Self.highWater { return true }
        state.producer = continuation
        return false
      }
      if goesOn { continuation.resume() }
    }
    return state.withLock { !$0.isClosed }
  }

  /// From the producer: there are no more bytes. Returns whether the sending has to be unpaused.
  func end() -> Bool {
    state.withLock { state in
      state.isEnded = true
      defer { state.isPaused = false }
      return state.isPaused
    }
  }

  /// Nobody wants more: a waiting producer goes on, and learns it.
  func close() {
    let producer = state.withLock { state in
      state.isClosed = true
      state.chunks = []
      defer { state.producer = nil }
      return state.producer
    }
    producer?.resume()
  }
}

extension UploadQueue.State {
  fileprivate mutating func take(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    var count = 0
    while count < buffer.count, first < chunks.count {
      let chunk = chunks[first]
      let part = min(buffer.count - count, chunk.count - offset)
      let start = chunk.startIndex + offset
      chunk.copyBytes(to: UnsafeMutableRawBufferPointer(rebasing: buffer[count...]), from: start..<(start + part))
      count += part
      offset += part
      if offset == chunk.count {
        chunks[first] = Data()
        first += 1
        offset = 0
      }
    }
    if first == chunks.count {
      chunks.removeAll(keepingCapacity: true)
      first = 0
    }
    buffered -= count
    return count
  }
}
#endif
