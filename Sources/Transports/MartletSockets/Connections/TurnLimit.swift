#if os(Linux)
/// How much one connection may send, or receive, in a turn of the loop, so that it does not keep the others waiting: what
/// is left is done in the next turn, after theirs.
struct TurnLimit {
  private var bytes = 0
  /// When the turn is over for the connection.
  private var end: UInt64?

  static let mostBytes = 1 << 20
  /// In nanoseconds: bytes may be as much work as their sender likes, such as chunks of one byte.
  static let mostTime: UInt64 = 2_000_000
  /// The clock is not read before so many bytes: most turns have fewer.
  private static let unmeasured = 64 << 10

  /// Returns whether more may follow after so many bytes.
  ///
  /// - Parameter clock: the time in nanoseconds.
  mutating func allowsMore(after count: Int, clock: () -> UInt64 = EventLoop.clock) -> Bool {
    bytes += count
    guard bytes >= Self.unmeasured else { return true }
    guard bytes < Self.mostBytes else { return false }
    let now = clock()
    guard let end else {
      end = now &+ Self.mostTime
      return true
    }
    return now < end
  }
}
#endif
