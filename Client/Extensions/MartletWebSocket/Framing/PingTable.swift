@_spi(Toolkit) import MartletEngine
import MartletSemantics
import Synchronization

/// The pings that a program sent and that were not answered yet.
final class PingTable: Sendable {
  private struct Ping: Sendable {
    let payload: Data
    let stopwatch: Stopwatch
    let answer: OneShot<Duration>
  }

  private struct State: Sendable {
    var pings: [Ping] = []
    var lastNumber: UInt64 = 0
    var error: HTTPError?
  }

  private let state = Mutex(State())
  private let clock: any Clock<Duration>

  init(_ clock: any Clock<Duration>) { self.clock = clock }

  /// Adds a ping. Returns its unique payload, and the answer to wait for.
  func add() -> (payload: Data, answer: OneShot<Duration>) {
    let answer = OneShot<Duration>()
    let (payload, error) = state.withLock { state in
      state.lastNumber += 1
      let payload = withUnsafeBytes(of: state.lastNumber.bigEndian) { Data($0) }
      if state.error == nil { state.pings.append(Ping(payload: payload, stopwatch: Stopwatch(clock), answer: answer)) }
      return (payload, state.error)
    }
    if let error { answer.answer(.failure(error)) }
    return (payload, answer)
  }

  /// Answers the ping with this payload and those before it: a peer may answer the last one only (RFC 6455 §5.5.3).
  func answer(_ payload: Data) {
    let answered = state.withLock { state -> ArraySlice<Ping> in
      guard let index = state.pings.firstIndex(where: { $0.payload == payload }) else { return [] }
      defer { state.pings.removeFirst(index + 1) }
      return state.pings[...index]
    }
    for ping in answered { ping.answer.answer(.success(ping.stopwatch.elapsed)) }
  }

  func remove(_ payload: Data) { state.withLock { $0.pings.removeAll { $0.payload == payload } } }

  /// Fails all pings with this error, including later ones.
  func fail(_ error: HTTPError) {
    let pings = state.withLock { state in
      state.error = error
      defer { state.pings = [] }
      return state.pings
    }
    for ping in pings { ping.answer.answer(.failure(error)) }
  }
}
