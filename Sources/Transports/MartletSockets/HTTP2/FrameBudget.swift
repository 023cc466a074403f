/// Limits frames that bring nothing: SETTINGS, PING, RST_STREAM, WINDOW_UPDATE, PRIORITY, empty DATA, heads of closed
/// streams. A peer that floods the connection with them would keep its thread busy (RFC 9113 §10.5). Frames of unknown
/// types are not counted: nghttp2 passes over them.
///
/// They are paid from a budget that grows with time and with the frames that are sent.
struct FrameBudget {
  private var available = Self.most
  private var lastRefill: UInt64?

  /// The most frames that may come at once.
  static let most = 2000
  /// The frames a second that the budget allows without end.
  static let perSecond: UInt64 = 200
  /// The frames that may come for each DATA or HEADERS that was sent: a WINDOW_UPDATE of the stream, one of the
  /// connection, a PING that measures the bandwidth, a RST_STREAM.
  static let perFrameSent = 4

  /// Lets the budget grow to the time `now`, in nanoseconds of a clock that does not go back.
  mutating func refill(now: UInt64) {
    guard let last = lastRefill, now >= last else {
      lastRefill = now
      return
    }
    // a whole number of frames, so that short intervals are not lost to rounding
    let frames = min((now - last) / (1_000_000_000 / Self.perSecond), UInt64(Self.most))
    guard frames > 0 else { return }
    lastRefill = frames == UInt64(Self.most) ? now : last + frames * (1_000_000_000 / Self.perSecond)
    available = min(Self.most, available + Int(frames))
  }

  /// Adds what a sent frame allows.
  mutating func addForFrameSent() { available = min(Self.most, available + Self.perFrameSent) }

  /// Pays for a frame. Returns false if the budget is used up.
  mutating func spend() -> Bool {
    available -= 1
    return available >= 0
  }
}
