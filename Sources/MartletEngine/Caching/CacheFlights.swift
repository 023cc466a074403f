import MartletSemantics
import Synchronization

/// Identical requests on their way at the same time: one goes out, the others wait for what comes of it.
///
/// Which requests are identical says ``RequestRoute``; `Vary` is heeded when the answer is there. An answer that cannot be
/// shared is remembered for its key, so that later requests there do not wait in vain.
final class CacheFlights: Sendable {
  /// How a flight ended, for those who waited.
  enum End: Sendable {
    /// The answer is stored: look again.
    case stored
    /// There is nothing to share: everybody for himself.
    case released
    /// The one who went was cancelled: another has to go.
    case abandoned
  }

  enum Role: Sendable {
    case leader(Flight)
    case follower(AnswerGate<End>)
    /// Nobody waits for anybody.
    case alone
  }

  private struct State {
    var underWay: [RequestRoute: Flight] = [:]
    var unshared: Set<CacheKey> = []
    var landings = 0
  }

  private let state = Mutex(State())

  /// How many of those who went for others have stored an answer so far.
  var landings: Int { state.withLock { $0.landings } }

  func join(_ route: RequestRoute) -> Role {
    state.withLock { state in
      guard !state.unshared.contains(route.key) else { return .alone }
      if let flight = state.underWay[route] {
        let gate = AnswerGate<End>()
        flight.waiting.withLock { $0.append(gate) }
        return .follower(gate)
      }
      let flight = Flight(route, of: self)
      state.underWay[route] = flight
      return .leader(flight)
    }
  }

  fileprivate func end(_ flight: Flight, _ end: End) {
    let gates = state.withLock { state -> [AnswerGate<End>] in
      guard state.underWay[flight.route] === flight else { return [] }
      state.underWay[flight.route] = nil
      if end == .stored { state.landings += 1 }
      return flight.waiting.withLock { waiting in
        defer { waiting = [] }
        return waiting
      }
    }
    for gate in gates { gate.answer(.success(end)) }
  }

  /// Remembers whether answers of a key can be shared.
  func note(_ key: CacheKey, isShared: Bool) {
    state.withLock { state in
      guard !isShared else {
        state.unshared.remove(key)
        return
      }
      if state.unshared.count >= 1024 { state.unshared.removeFirst() }
      state.unshared.insert(key)
    }
  }

  /// One request on its way. Whoever has it ends it; where nobody keeps it any more, its leader is gone.
  final class Flight: Sendable {
    let route: RequestRoute
    private let flights: CacheFlights
    fileprivate let waiting = Mutex<[AnswerGate<End>]>([])

    fileprivate init(_ route: RequestRoute, of flights: CacheFlights) {
      self.route = route
      self.flights = flights
    }

    /// Ends the flight; later ends mean nothing.
    func end(_ end: End) { flights.end(self, end) }
  }
}
