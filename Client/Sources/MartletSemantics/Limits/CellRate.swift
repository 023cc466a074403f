/// The decision of a rate limit about a request.
public enum RateLimitDecision: Sendable, Hashable {
  /// The request may be sent after this time; `remaining` more may follow at once. A store that takes places back names
  /// the request's ``RateLimitPlace``; other stores name none.
  case allowed(after: Duration, remaining: Int, place: RateLimitPlace? = nil)
  /// The request may not be sent. A request after this time would be allowed at once.
  case refused(retryAfter: Duration)
}

/// The place of a request in a rate limit. A request that is cancelled before it is sent returns its place.
///
/// Times are read from the store's clock, and count from any fixed moment.
public struct RateLimitPlace: Sendable, Hashable {
  /// When the rate allows the request.
  public var start: Duration
  /// The theoretical arrival time of the request after this one. It is different for all places.
  public var arrival: Duration
  /// The time between two requests in the long run.
  public var interval: Duration
  /// The request may not be sent before this time, whatever the rate allows: its arrival, or the end of a pause that a
  /// server had requested before.
  public var earliest: Duration

  /// Makes a place.
  public init(start: Duration, arrival: Duration, interval: Duration, earliest: Duration) {
    self.start = start
    self.arrival = arrival
    self.interval = interval
    self.earliest = earliest
  }

  /// Whether a request that may not be sent before a time may have the place. Otherwise its place would begin later,
  /// and later requests would come too close.
  fileprivate func suits(_ earliest: Duration) -> Bool { arrival - interval >= earliest }
}

/// The generic cell rate algorithm (ITU-T I.371 §A). A rate limit then needs one number of state: the time at which the
/// next request would arrive if all before it had been spaced evenly. Returned places are kept in addition.
///
/// Times are read from any monotonic clock that starts at zero.
package struct CellRate: Sendable, Hashable {
  /// The theoretical arrival time of the next request.
  private var arrival = Duration.zero
  /// Until when nothing may be sent, at a server's request.
  private var pause = Duration.zero
  /// The returned places before the last one, in their order.
  private var free: [RateLimitPlace] = []

  /// Makes the state before any request.
  package init() {}

  /// Requests a place, and counts the request if it is allowed.
  ///
  /// - Parameters:
  ///   - interval: the time between two requests in the long run.
  ///   - burst: how many requests may be sent at once, at least 1.
  ///   - wait: the maximum time that the request may wait. A waiting request has its place: a later one waits longer.
  ///   - now: the time.
  package mutating func take(interval: Duration, burst: Int, wait: Duration, at now: Duration) -> RateLimitDecision {
    let (interval, burst) = (min(max(.zero, interval), Self.durationLimit), max(1, burst))
    let earliest = max(now, pause)
    if arrival <= now { free = [] }
    let returned = free.firstIndex { $0.suits(earliest) }
    let next = max(arrival, earliest)
    // The request conforms if it does not arrive earlier than its theoretical time minus the tolerance.
    let start = returned.map { free[$0].start } ?? (next - Self.span(of: burst - 1, interval))
    let delay = max(earliest, start) - now
    guard delay <= max(.zero, wait) else { return .refused(retryAfter: delay) }
    if let returned {
      var place = free.remove(at: returned)
      place.earliest = earliest
      return .allowed(after: delay, remaining: 0, place: place)
    }
    arrival = next + interval
    let place = RateLimitPlace(start: start, arrival: arrival, interval: interval, earliest: earliest)
    return .allowed(after: delay, remaining: remaining(after: now + delay, interval, burst), place: place)
  }

  /// How many more requests may follow this one at once.
  private func remaining(after start: Duration, _ interval: Duration, _ burst: Int) -> Int {
    guard interval > .zero else { return burst - 1 }
    let free = (Self.span(of: burst, interval) - (arrival - start)) / interval
    return free < Double(burst - 1) ? Int(max(0, free)) : burst - 1
  }

  /// Takes back the place of a request that was not sent. If it is the last place, the next request gets it; an earlier
  /// one is kept.
  package mutating func giveBack(_ place: RateLimitPlace) {
    guard place.arrival != arrival else {
      arrival -= place.interval
      while let last = free.last, last.arrival == arrival {
        arrival -= last.interval
        free.removeLast()
      }
      return
    }
    // A later one is unknown: the state was dropped in the meantime.
    guard place.arrival < arrival else { return }
    let index = free.firstIndex { $0.arrival >= place.arrival } ?? free.endIndex
    guard index == free.endIndex || free[index].arrival != place.arrival else { return }
    free.insert(place, at: index)
    if free.count > Self.freeLimit { free.removeFirst() }
  }

  /// Allows nothing for some time, at a server's request. A longer pause stays.
  package mutating func pause(for time: Duration, at now: Duration) {
    pause = max(pause, now + min(max(.zero, time), Self.durationLimit))
  }

  /// Longer times count as this one, about 35,000 years: sums of them do not overflow.
  private static let durationLimit = Duration.seconds(1 << 40)
  private static let freeLimit = 100

  /// The time of `count` intervals.
  private static func span(of count: Int, _ interval: Duration) -> Duration {
    guard count > 0 else { return .zero }
    return interval > durationLimit / count ? durationLimit : interval * count
  }
}

/// The requests of one process that wait for places of one rate limit, in the order of their arrival.
///
/// A free place goes to the first request that gains by it. Its own place goes to the next one, and so on: each waits
/// as if the requests that have given up had never existed.
package struct RatePlaces<Waiter: AnyObject & Sendable>: Sendable {
  private struct Seat: Sendable {
    let waiter: Waiter
    /// The waiter may not be sent before this time of the store's clock.
    let earliest: Duration
    /// The offset from the store's clock to that of the process.
    let offset: Duration
    var place: RateLimitPlace
    /// When the waiter is sent, on the clock of the process.
    var due: Duration { max(earliest, place.start) + offset }
  }

  private var seats: [Seat] = []
  /// No place of a waiter has a later arrival: a place with a later one is of no use to any of them.
  private var latest = Duration.zero

  package init() {}

  package var isEmpty: Bool { seats.isEmpty }

  /// Adds a waiter after all others.
  ///
  /// - Parameters:
  ///   - place: the place that the store has assigned to it.
  ///   - due: when it may be sent, on the clock of the process.
  /// - Returns: the waiters with changed places, including the new one, and the times at which they are sent.
  package mutating func add(
    _ waiter: Waiter, at place: RateLimitPlace, due: Duration
  ) -> [(waiter: Waiter, due: Duration)] {
    var moved: [Int] = []
    let rest = settle(place, &moved)
    let offset = due - max(place.earliest, place.start)
    seats.append(Seat(waiter: waiter, earliest: place.earliest, offset: offset, place: rest))
    latest = max(latest, rest.arrival)
    return (moved + [seats.count - 1]).map { (seats[$0].waiter, seats[$0].due) }
  }

  /// Removes a waiter that is sent. Returns its place.
  @discardableResult
  package mutating func remove(_ waiter: Waiter) -> RateLimitPlace? {
    guard let index = seats.firstIndex(where: { $0.waiter === waiter }) else { return nil }
    return seats.remove(at: index).place
  }

  /// Removes a waiter that is not sent.
  ///
  /// - Returns: the free place, for the store to take back, and the waiters with changed places and the times at which
  ///   they are sent; nil if the waiter is not here.
  package mutating func giveUp(
    _ waiter: Waiter
  ) -> (free: RateLimitPlace, moved: [(waiter: Waiter, due: Duration)])? {
    guard let index = seats.firstIndex(where: { $0.waiter === waiter }) else { return nil }
    var moved: [Int] = []
    let rest = settle(seats.remove(at: index).place, &moved)
    return (rest, moved.map { (seats[$0].waiter, seats[$0].due) })
  }

  /// Gives a free place to the first waiter that gains by it, and that waiter's place to the next. Returns the final
  /// free place.
  private mutating func settle(_ free: RateLimitPlace, _ moved: inout [Int]) -> RateLimitPlace {
    guard free.arrival < latest else { return free }
    var free = free
    for index in seats.indices
    where free.arrival < seats[index].place.arrival && free.suits(seats[index].earliest) {
      swap(&free, &seats[index].place)
      moved.append(index)
    }
    return free
  }
}
