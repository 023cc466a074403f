public import MartletSemantics
import Synchronization

/// Keeps the state of rate limits. If you implement it on a database, all processes that use it share their limits.
///
/// Its one operation must be atomic: reading and writing the state in two steps would let two processes take the same
/// place. On Redis it is a script, on an SQL database a transaction. Measure the time on the store's clock. If it
/// throws, or takes longer than the call may, each process applies the limit alone for that request.
public protocol RateLimitStore: Sendable {
  /// Changes the limit of a name and returns its decision. The result of a pause is not used.
  func apply(_ change: RateLimitChange, to name: String) async throws -> RateLimitDecision
}

/// A change of a rate limit's state.
public enum RateLimitChange: Sendable, Hashable {
  /// A request is about to be sent, and takes a place unless it is refused. In the long run, requests are `interval`
  /// apart; up to `burst` may be sent at once. The request is refused if it would have to wait for longer than `wait`.
  case take(interval: Duration, burst: Int, wait: Duration)
  /// Nothing may be sent for this time. A longer pause stays.
  case pause(Duration)
  /// The request with this place was cancelled before it was sent: its place is free for another one. A store that
  /// returns no places never gets this. The result is not used.
  case giveBack(RateLimitPlace)
}

/// Keeps the state of rate limits in memory, for one process; several sessions may share it. It keeps the state of the
/// 1,000 most recently used names.
public final class MemoryRateLimitStore: RateLimitStore {
  private let limits = Mutex(LRUStorage<String, CellRate>(countLimit: 1000))
  private let stopwatch: Stopwatch

  /// Makes an empty store.
  ///
  /// - Parameter clock: measures the time.
  public init(clock: any Clock<Duration> = ContinuousClock()) { stopwatch = Stopwatch(clock) }

  public func apply(_ change: RateLimitChange, to name: String) async throws -> RateLimitDecision {
    decision(on: change, for: name)
  }

  func decision(on change: RateLimitChange, for name: String) -> RateLimitDecision {
    let now = stopwatch.elapsed
    return limits.withLock { $0.update(name, from: CellRate()) { $0.apply(change, at: now) } }
  }
}

extension CellRate {
  fileprivate mutating func apply(_ change: RateLimitChange, at now: Duration) -> RateLimitDecision {
    switch change {
    case .take(let interval, let burst, let wait): return take(interval: interval, burst: burst, wait: wait, at: now)
    case .pause(let time):
      pause(for: time, at: now)
      return .allowed(after: time, remaining: 0)
    case .giveBack(let place):
      giveBack(place)
      return .allowed(after: .zero, remaining: 0)
    }
  }
}
