/// Limits the retries of all requests of a session, so that retries do not multiply the load of a server that is
/// already overloaded.
///
/// Every request that is sent adds a fraction of a retry to the budget, and every retry takes one. A small reserve
/// allows retries to a client that sends little; it is refilled within ten seconds. The capacity limits how much can
/// accumulate.
public struct RetryBudget: Sendable, Hashable {
  /// The retries that one request adds. 0.2 by default: at most a fifth more load for the server.
  public var share: Double
  /// The retries that are available at the beginning and refilled within ten seconds, however little is sent. 10 by
  /// default.
  public var reserve: Double
  /// The maximum number of retries that can accumulate. 100 by default.
  public var capacity: Double

  private var balance: Double
  /// The time of the last refill.
  private var time = Duration.zero

  /// Makes a full budget. Negative values and NaN count as zero.
  public init(share: Double = 0.2, reserve: Double = 10, capacity: Double = 100) {
    self.share = share
    self.reserve = reserve
    self.capacity = capacity
    balance = 0
    balance = floor
  }

  /// A budget without a limit: only the retry policy counts.
  public static let unlimited = RetryBudget(share: .infinity, reserve: .infinity, capacity: .infinity)

  /// Adds the share of a request that is sent for the first time.
  ///
  /// - Parameter now: the time of any monotonic clock that starts at zero.
  package mutating func deposit(at now: Duration) {
    refill(at: now)
    add()
  }

  private mutating func add() {
    balance = min(max(balance, max(capacity.orZero, floor)), balance + share.orZero)
  }

  /// Adds the share like ``deposit(at:)`` if the reserve is full, which does not require the time. Otherwise returns
  /// false and changes nothing.
  package mutating func depositIfFull() -> Bool {
    guard balance >= floor else { return false }
    add()
    return true
  }

  /// Takes one retry, and returns whether there was one.
  package mutating func withdraw(at now: Duration) -> Bool {
    refill(at: now)
    guard balance >= 1 else { return false }
    balance -= 1
    return true
  }

  /// The reserve, at least zero.
  private var floor: Double { reserve.orZero }

  private mutating func refill(at now: Duration) {
    let elapsed = max(.zero, now - time) / Duration.seconds(10)
    time = max(time, now)
    guard balance < floor else { return }
    balance = elapsed > 0 ? min(floor, balance + floor * elapsed) : balance
  }
}

extension Double {
  /// The value, or zero if it is negative or NaN.
  fileprivate var orZero: Double { self > 0 ? self : 0 }
}
