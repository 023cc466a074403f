#if os(Linux)
import CCurl
import Glibc
import MartletSemantics
import Synchronization

/// The queue of a request's body between the task that produces it and the loop thread. Its size is limited, so that a
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
    /// Whether libcurl has asked for bytes.
    var isWanted = false
    var producer: CheckedContinuation<Void, Never>?
  }

  private let state: Mutex<State>
  private static let highWater = 512 << 10

  /// - Parameter waitsForDemand: whether the producer begins only when libcurl asks for the first bytes, because the
  ///   body must not be opened if it is not sent; otherwise it begins while the connection is established.
  init(waitsForDemand: Bool) { state = Mutex(State(isWanted: !waitsForDemand)) }

  /// Called by the loop thread: copies bytes into libcurl's buffer. Returns their number, 0 at the end, and
  /// `CURL_READFUNC_PAUSE` if there are none yet.
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

  /// Called by the producer: waits until libcurl asks for bytes. Returns false if it never will.
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

  /// Called by the producer: adds bytes, and waits while there are too many. Returns false if no more are needed.
  ///
  /// - Parameter unpause: called, before the wait, if libcurl has paused the sending.
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

  /// Called by the producer: marks the end. Returns whether libcurl has paused the sending.
  func end() -> Bool {
    state.withLock { state in
      state.isEnded = true
      defer { state.isPaused = false }
      return state.isPaused
    }
  }

  /// Closes the queue, and resumes a waiting producer.
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
