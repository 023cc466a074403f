#if os(Linux)
/// Limits how much one connection may send or receive in a turn of the loop, so that it does not keep the others
/// waiting. The rest is done in the next turn, after theirs.
struct TurnLimit {
  private var bytes = 0
  /// The end of the connection's turn.
  private var end: UInt64?

  static let byteLimit = 1 << 20
  /// In nanoseconds. A limit in bytes is not enough: a sender can make bytes expensive, for example with chunks of one
  /// byte.
  static let timeLimit: UInt64 = 2_000_000
  /// How many bytes pass before the clock is read: most turns have fewer.
  private static let unmeasured = 64 << 10

  /// Returns whether more may follow after `count` bytes.
  ///
  /// - Parameter clock: the time in nanoseconds.
  mutating func allowsMore(after count: Int, clock: () -> UInt64 = EventLoop.clock) -> Bool {
    bytes += count
    guard bytes >= Self.unmeasured else { return true }
    guard bytes < Self.byteLimit else { return false }
    let now = clock()
    guard let end else {
      end = now &+ Self.timeLimit
      return true
    }
    return now < end
  }
}
#endif
