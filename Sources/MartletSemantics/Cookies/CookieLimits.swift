/// How many cookies a jar holds (RFC 6265bis §6.1).
public struct CookieLimits: Sendable, Hashable {
  /// The most cookies of one domain: 180 by default, as in browsers. The standard asks for 50 at least.
  public var perDomain: Int
  /// The most cookies altogether: 3000 by default, which is what the standard asks for at least.
  public var total: Int

  /// Makes limits.
  public init(perDomain: Int = 180, total: Int = 3000) {
    self.perDomain = max(1, perDomain)
    self.total = max(1, total)
  }
}
