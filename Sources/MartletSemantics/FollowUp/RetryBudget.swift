/// How many retries all exchanges of a session may make together, so that a server in trouble does not get several times
/// its usual load from those who retry.
///
/// Every request earns a share of a retry, every retry costs one. A small reserve lets a client retry that sends little; it
/// comes back within ten seconds. What was saved up in good times is limited, because a long quiet day should not pay for
/// a storm.
public struct RetryBudget: Sendable, Hashable {
  /// How many retries one request earns. 0.2 by default: at most a fifth more load for the server.
  public var share: Double
  /// How many retries are granted to begin with, and come back within ten seconds however little is sent. 10 by default.
  public var reserve: Double
  /// The most retries that can be saved up. 100 by default.
  public var capacity: Double

  private var balance: Double
  /// When the balance was last counted.
  private var time = Duration.zero

  /// Makes a full budget. Values below zero, and what is no number, count as zero.
  public init(share: Double = 0.2, reserve: Double = 10, capacity: Double = 100) {
    self.share = share
    self.reserve = reserve
    self.capacity = capacity
    balance = 0
    balance = floor
  }

  /// As many retries as the policy allows.
  public static let unlimited = RetryBudget(share: .infinity, reserve: .infinity, capacity: .infinity)

  /// A request was sent for the first time.
  ///
  /// - Parameter now: The time on any clock that starts at zero and does not go back.
  package mutating func deposit(at now: Duration) {
    refill(at: now)
    balance = min(max(balance, max(capacity.orZero, floor)), balance + share.orZero)
  }

  /// Takes one retry out, if there is one.
  package mutating func withdraw(at now: Duration) -> Bool {
    refill(at: now)
    guard balance >= 1 else { return false }
    balance -= 1
    return true
  }

  /// The reserve's worth.
  private var floor: Double { reserve.orZero }

  private mutating func refill(at now: Duration) {
    let elapsed = max(.zero, now - time) / Duration.seconds(10)
    time = max(time, now)
    guard balance < floor else { return }
    balance = elapsed > 0 ? min(floor, balance + floor * elapsed) : balance
  }
}

extension Double {
  /// No debt, and no NaN.
  fileprivate var orZero: Double { self > 0 ? self : 0 }
}
