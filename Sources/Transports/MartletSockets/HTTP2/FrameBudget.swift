/// Limits what a peer may send that brings nothing, so that a flood of it does not keep the connection's thread busy
/// (RFC 9113 §10.5): SETTINGS, PING, RST_STREAM, WINDOW_UPDATE, PRIORITY, empty DATA, frames of unknown types, heads and
/// DATA of closed streams.
///
/// An honest peer never comes near the limits, at whatever speed:
/// - For each KiB of a request's body that it takes, it may send a WINDOW_UPDATE of the stream, one of the connection,
///   and a PING with each of them. The same holds for each DATA that has less than a KiB, unless the window cut it
///   short. This counts for 16 MiB that it has taken and not acknowledged yet.
/// - It may send a PING with each DATA and HEADERS of an open stream.
/// - For each request it may send four other frames, and 200 others a second, of which 2000 may come at once.
/// - After a stream was reset, what was on the way may still arrive: DATA as large as the stream's window.
///
/// A flood ends after 2000 frames or 2 MiB, whatever comes first. After an upload 65,536 WINDOW_UPDATE or PING may come
/// besides, which have 1.1 MB.
struct FrameBudget {
  private var available = Self.most
  private var updates = 0
  private var bytes = Self.mostBytes
  private var lastRefill: UInt64?

  /// The most frames that may come at once.
  static let most = 2000
  /// The frames a second that the budget allows without end.
  static let perSecond: UInt64 = 200
  /// The frames that may come for each HEADERS that was sent, and the WINDOW_UPDATE and PING for each DATA.
  static let perFrameSent = 4
  /// The WINDOW_UPDATE and PING that may come for each KiB that was sent.
  static let updatesPerKiB = 4
  /// The most WINDOW_UPDATE and PING that may be outstanding.
  static let mostUpdates = 16 << 10 * updatesPerKiB
  /// The most bytes that may come at once and are neither of a response nor of a frame that was paid for.
  static let mostBytes = 2 << 20
  /// The bytes of streams that were reset which may still come.
  static let mostLeftOver = 16 << 20
  /// The bytes that the budget allows with each frame of ``perSecond``.
  private static let bytesPerFrame = 512

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
    if bytes < Self.mostBytes { bytes = min(Self.mostBytes, bytes + Int(frames) * Self.bytesPerFrame) }
  }

  /// Adds what HEADERS that were sent allow.
  mutating func addForHeadersSent() { available = min(Self.most, available + Self.perFrameSent) }

  /// Adds what DATA that was sent allows.
  ///
  /// - Parameter isCutShort: whether the peer's window had room for no more. Otherwise a peer that opens its window byte
  ///   by byte would pay for its updates with them (CVE-2019-9511).
  mutating func addForDataSent(_ count: Int, isCutShort: Bool) {
    let earned = count * Self.updatesPerKiB / 1024 + (isCutShort ? 0 : Self.perFrameSent)
    updates = min(Self.mostUpdates, updates + earned)
  }

  /// Adds what a frame with a part of a response allows, which has so many bytes.
  mutating func addForContent(bytes count: Int) {
    updates = min(Self.mostUpdates, updates + 1)
    bytes += count
  }

  /// Adds what may still come of a stream that was reset, with a window of so many bytes.
  mutating func addForReset(window: Int) { bytes = min(max(bytes, Self.mostBytes + Self.mostLeftOver), bytes + window) }

  /// Pays for a frame. Returns false if the budget is used up.
  mutating func spend() -> Bool {
    available -= 1
    return available >= 0
  }

  /// Pays for a WINDOW_UPDATE or a PING of so many bytes.
  mutating func spendUpdate(bytes count: Int) -> Bool {
    bytes += count
    guard updates > 0 else { return spend() }
    updates -= 1
    return true
  }

  /// Pays for all bytes that were received. What they are for was added before.
  mutating func spend(bytes count: Int) -> Bool {
    bytes -= count
    return bytes >= 0
  }
}
