import MartletSemantics
import Synchronization

/// The requests of a session that wait because of a rate limit.
///
/// If a request gives up, every later request of the same limit moves up by one place.
final class RateQueue: Sendable {
  /// The name of a limit: the same text means different limits in the session's memory and in a shared store.
  struct Name: Hashable, Sendable {
    let origin: Origin
    let isShared: Bool
  }

  /// A request that waits.
  private final class Waiter: Sendable {
    let start = OneShot<Void>()
    private let alarm = Mutex<(due: Duration, alarm: Alarm)?>(nil)

    /// Sets when the request is sent, unless an earlier time is already set.
    func set(_ due: Duration, on stopwatch: Stopwatch) {
      let new = Alarm(at: due, on: stopwatch) { [weak self] in self?.start.answer(.success(())) }
      let unneeded = alarm.withLock { alarm -> Alarm? in
        if let alarm, alarm.due <= due { return new }
        defer { alarm = (due, new) }
        return alarm?.alarm
      }
      unneeded?.cancel()
    }

    func cancelAlarm() { alarm.withLock { $0 }?.alarm.cancel() }
  }

  private let stopwatch: Stopwatch
  private let waiting = Mutex<[Name: RatePlaces<Waiter>]>([:])

  init(_ clock: any Clock<Duration>) { stopwatch = Stopwatch(clock) }

  /// Waits until a request may be sent.
  ///
  /// - Parameters:
  ///   - delay: the time until the start of its place.
  ///   - place: its place; nil if the store has none.
  ///   - giveBack: called with the free place if the request is cancelled in the meantime.
  /// - Returns: the place that it finally has.
  func wait(
    _ delay: Duration, at place: RateLimitPlace?, in name: Name, of call: Call,
    giveBack: (RateLimitPlace) -> Void
  ) async throws -> RateLimitPlace? {
    let waiter = Waiter()
    let due = stopwatch.elapsed + delay
    if let place {
      let moved = waiting.withLock { $0[name, default: RatePlaces()].add(waiter, at: place, due: due) }
      for (waiter, due) in moved { waiter.set(due, on: stopwatch) }
    } else {
      waiter.set(due, on: stopwatch)
    }
    defer { waiter.cancelAlarm() }
    do {
      try await call.wait(for: waiter.start)
      return change(name) { $0.remove(waiter) } ?? nil
    } catch {
      if let (free, moved) = change(name, { $0.giveUp(waiter) }) ?? nil {
        for (waiter, due) in moved { waiter.set(due, on: stopwatch) }
        giveBack(free)
      }
      throw error
    }
  }

  private func change<Result>(_ name: Name, _ change: (inout RatePlaces<Waiter>) -> Result) -> Result? {
    waiting.withLock { waiting in
      // Taken out, because a change to a second reference would copy all places.
      guard var places = waiting.removeValue(forKey: name) else { return nil }
      let result = change(&places)
      if !places.isEmpty { waiting[name] = places }
      return result
    }
  }
}
