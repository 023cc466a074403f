@_spi(Toolkit) import MartletEngine
import MartletSemantics
import Synchronization

/// Limits how many loads run at a time. Waiting loads begin by priority.
///
/// There are two limits. A load counts for its origin from its beginning to its end. It has one of the places for all
/// origins only while bytes arrive or are decoded: a load that waits for its server gives its place back, so that a
/// dead server does not stop the images of others. Loads of low priority leave one place of each limit to others.
final class LoadPlaces: Sendable {
  private struct Waiter: Sendable {
    /// The origin of a load that begins; nil for a load that continues, or whose URL has no origin.
    let origin: Origin?
    let turn = OneShot<Void>()
  }

  private struct State {
    let limit: Int
    let limitPerOrigin: Int
    var taken = 0
    var loads: [Origin: Int] = [:]
    /// In a lane for each origin.
    var waiters = PriorityQueue<Origin?, Waiter>()

    /// Takes the places for the next waiter that may have them.
    mutating func admitNext() -> Waiter? {
      guard let next = removeNext() else { return nil }
      taken += 1
      if let origin = next.origin { loads[origin, default: 0] += 1 }
      return next
    }

    private mutating func removeNext() -> Waiter? {
      guard taken < limit else { return nil }
      // The closure must not refer to this value, because removing from a second reference would copy all waiters.
      let (taken, loads, limit, limitPerOrigin) = (taken, loads, limit, limitPerOrigin)
      return waiters.removeNext { origin, priority in
        let kept = priority == ImagePriority.low.rawValue ? 1 : 0
        guard taken < max(1, limit - kept) else { return false }
        return origin.map { loads[$0, default: 0] < max(1, limitPerOrigin - kept) } ?? true
      }?.element
    }

    mutating func end(_ origin: Origin?) {
      guard let origin, let count = loads[origin] else { return }
      loads[origin] = count == 1 ? nil : count - 1
    }
  }

  private let state: Mutex<State>

  init(limit: Int, perOrigin: Int) {
    let limit = max(1, limit)
    state = Mutex(State(limit: limit, limitPerOrigin: min(max(1, perOrigin), limit)))
  }

  /// Runs a load when there is a place for it.
  ///
  /// - Throws: the load's error, or `CancellationError` if the task is cancelled before it runs.
  func run<Value>(
    _ priority: PriorityBox, at origin: Origin?, _ load: (LoadPlace) async throws -> Value
  ) async throws -> Value {
    try await enter(priority, origin)
    let place = LoadPlace(in: self, priority)
    defer {
      state.withLock { $0.end(origin) }
      if !place.end() { admitWaiting() }
    }
    return try await load(place)
  }

  /// The number of loads that wait.
  var waiting: Int { state.withLock { $0.waiters.count } }

  /// Waits for a place.
  ///
  /// - Parameter origin: the origin of a load that begins.
  func enter(_ priority: PriorityBox, _ origin: Origin? = nil) async throws {
    let waiter = Waiter(origin: origin)
    let number = state.withLock { $0.waiters.append(waiter, priority, in: origin) }
    admitWaiting()
    do { try await waiter.turn.wait() } catch {
      _ = state.withLock { $0.waiters.remove(number) }
      throw error
    }
  }

  /// Gives a place back.
  func leave() {
    state.withLock { $0.taken -= 1 }
    admitWaiting()
  }

  /// Lets loads enter for which there are places: after one was given back, or a priority was raised.
  func admitWaiting() {
    while let next = state.withLock({ $0.admitNext() }) {
      guard !next.turn.answer(.success(())) else { continue }
      // The waiter was cancelled in the meantime and does not take the place.
      state.withLock { state in
        state.taken -= 1
        state.end(next.origin)
      }
    }
  }
}

/// The place of a running load.
final class LoadPlace: Sendable {
  /// How long a load may wait for its server before it gives its place back.
  private static let patience = Duration.milliseconds(25)

  private struct State {
    var isHeld = true
    /// The number of the latest wait, so that an alarm of an earlier one has no effect.
    var wait: UInt64 = 0
  }

  private let places: LoadPlaces
  private let priority: PriorityBox
  private let state = Mutex(State())

  init(in places: LoadPlaces, _ priority: PriorityBox) { (self.places, self.priority) = (places, priority) }

  /// Waits for a server. If that takes longer than a moment, another load gets the place; after the wait, the load
  /// waits for a place again. A load without a place only waits for the server.
  static func lend<Value>(_ place: LoadPlace?, while wait: () async throws -> Value) async throws -> Value {
    guard let place else { return try await wait() }
    let number = place.beginWait()
    // Real time also in tests with a clock of their own: the moment decides only which load is the next one.
    let alarm = Alarm(after: patience, on: ContinuousClock()) { place.giveBack(ifWaiting: number) }
    let value: Value
    do { value = try await wait() } catch {
      alarm.cancel()
      throw error
    }
    alarm.cancel()
    try await place.endWait()
    return value
  }

  private func beginWait() -> UInt64 {
    state.withLock { state in
      state.wait += 1
      return state.wait
    }
  }

  private func giveBack(ifWaiting number: UInt64) {
    let isGiven = state.withLock { state in
      guard state.wait == number, state.isHeld else { return false }
      state.isHeld = false
      return true
    }
    if isGiven { places.leave() }
  }

  private func endWait() async throws {
    let isHeld = state.withLock { state in
      state.wait += 1
      return state.isHeld
    }
    guard !isHeld else { return }
    try await places.enter(priority)
    state.withLock { $0.isHeld = true }
  }

  /// Gives the place back for good. Returns false if the load did not have one any more.
  func end() -> Bool {
    let isHeld = state.withLock { state in
      state.wait += 1
      defer { state.isHeld = false }
      return state.isHeld
    }
    if isHeld { places.leave() }
    return isHeld
  }
}
