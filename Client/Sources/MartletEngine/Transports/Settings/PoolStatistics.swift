/// The number of a transport's connections to one origin, and of requests for it, at a moment.
public struct PoolStatistics: Sendable, Hashable {
  /// The number of requests that use a connection; over HTTP/2, several may use the same.
  public var active = 0
  /// The number of requests that wait for a connection.
  public var queued = 0
  /// The number of connections that are being opened.
  public var opening = 0
  /// The number of open connections that no request uses.
  public var idle = 0
  /// How many connections have been opened so far.
  public var opened = 0
  /// How many requests used a connection that another request had used before.
  public var reused = 0

  /// Makes numbers that are all zero.
  public init() {}

  package init(
    active: Int = 0, queued: Int = 0, opening: Int = 0, idle: Int = 0, opened: Int = 0, reused: Int = 0
  ) {
    self.active = active
    self.queued = queued
    self.opening = opening
    self.idle = idle
    self.opened = opened
    self.reused = reused
  }

  @_spi(Toolkit) public static func + (one: Self, other: Self) -> Self {
    PoolStatistics(
      active: one.active + other.active, queued: one.queued + other.queued, opening: one.opening + other.opening,
      idle: one.idle + other.idle, opened: one.opened + other.opened, reused: one.reused + other.reused)
  }
}
