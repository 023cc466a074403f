import Synchronization

/// How long calls wait for a file that another process has locked.
struct LockPatience: Sendable {
  /// How long one call waits.
  let milliseconds: Int32
  /// How long the calls after one that waited in vain fail at once; nil if each call waits.
  let rest: Duration?

  /// For data that the caller needs: long enough for a checkpoint on a slow disk.
  static let long = LockPatience(milliseconds: 5_000, rest: nil)
  /// For data that requests need, of which many may wait.
  static let once = LockPatience(milliseconds: 5_000, rest: .seconds(10))
  /// For data without which the caller does as well, and for which it must not wait.
  static let short = LockPatience(milliseconds: 1_000, rest: .seconds(10))
}

/// Spares callers the wait for a lock, after a call that waited in vain.
final class LockRest: Sendable {
  private let end = Mutex<ContinuousClock.Instant?>(nil)

  /// Does the work; throws ``SQLiteFailure/stillLocked`` at once while a rest lasts.
  func during<R>(_ patience: LockPatience, _ work: () throws -> R) throws -> R {
    if patience.rest != nil, let end = end.withLock({ $0 }), ContinuousClock.now < end {
      throw SQLiteFailure.stillLocked
    }
    do { return try work() } catch let failure as SQLiteFailure where failure.isLocked {
      if let rest = patience.rest { end.withLock { $0 = .now + rest } }
      throw failure
    }
  }
}
