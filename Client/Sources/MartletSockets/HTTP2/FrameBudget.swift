/// Limits the frames that a peer may send without content, so that a flood of them does not keep the connection's
/// thread busy (RFC 9113 §10.5): SETTINGS, PING, RST_STREAM, WINDOW_UPDATE, PRIORITY, empty DATA, frames of unknown
/// types, heads and DATA of closed streams.
///
/// An honest peer never comes near the limits, at whatever speed:
/// - For each KiB that it takes of a request's body, it may send a WINDOW_UPDATE of the stream, one of the connection,
///   and a PING with each of them. The same holds for each DATA of less than a KiB, unless the window cut it short.
///   This allowance covers 16 MiB that it has taken and not acknowledged yet.
/// - It may send a PING with each DATA and HEADERS of an open stream.
/// - For each request it may send four other frames, plus 200 others a second, of which 2000 may arrive at once.
/// - After a stream was reset, frames in transit may still arrive: as much DATA as the stream's window.
///
/// A flood ends after 2000 frames or 2 MiB, whichever is first. After an upload, 65,536 more WINDOW_UPDATE or PING may
/// arrive, 1.1 MB in all.
struct FrameBudget {
  private var available = Self.frameLimit
  private var updates = 0
  private var bytes = Self.byteLimit
  private var lastRefill: UInt64?

  /// The maximum number of frames that may arrive at once.
  static let frameLimit = 2000
  /// The frames a second that the budget allows permanently.
  static let perSecond: UInt64 = 200
  /// The frames that may arrive for each HEADERS that was sent, and the WINDOW_UPDATE and PING for each DATA.
  static let perFrameSent = 4
  /// The WINDOW_UPDATE and PING that may arrive for each KiB that was sent.
  static let updatesPerKiB = 4
  /// The maximum number of WINDOW_UPDATE and PING that may be outstanding.
  static let updateLimit = (16 << 10) * updatesPerKiB
  /// The maximum number of bytes at once that belong neither to a response nor to a frame that was paid for.
  static let byteLimit = 2 << 20
  /// The maximum number of bytes that may still arrive for reset streams.
  static let leftOverLimit = 16 << 20
  /// The bytes that the budget allows with each frame of ``perSecond``.
  private static let bytesPerFrame = 512

  /// Lets the budget grow to the time `now`, in nanoseconds of a clock that does not go back.
  mutating func refill(now: UInt64) {
    guard let last = lastRefill, now >= last else {
      lastRefill = now
      return
    }
    // A whole number of frames, so that short intervals are not lost to rounding.
    let frames = min((now - last) / (1_000_000_000 / Self.perSecond), UInt64(Self.frameLimit))
    guard frames > 0 else { return }
    lastRefill = frames == UInt64(Self.frameLimit) ? now : last + frames * (1_000_000_000 / Self.perSecond)
    available = min(Self.frameLimit, available + Int(frames))
    if bytes < Self.byteLimit { bytes = min(Self.byteLimit, bytes + Int(frames) * Self.bytesPerFrame) }
  }

  /// Adds the allowance for sent HEADERS.
  mutating func addForHeadersSent() { available = min(Self.frameLimit, available + Self.perFrameSent) }

  /// Adds the allowance for sent DATA.
  ///
  /// - Parameter isCutShort: whether the peer's window had no more room. Otherwise a peer that opens its window byte by
  ///   byte could pay for its updates with them (CVE-2019-9511).
  mutating func addForDataSent(_ count: Int, isCutShort: Bool) {
    let earned = count * Self.updatesPerKiB / 1024 + (isCutShort ? 0 : Self.perFrameSent)
    updates = min(Self.updateLimit, updates + earned)
  }

  /// Adds the allowance for a frame with this many bytes of a response.
  mutating func addForContent(bytes count: Int) {
    updates = min(Self.updateLimit, updates + 1)
    bytes += count
  }

  /// Adds the bytes that may still arrive for a reset stream with a window of this size.
  mutating func addForReset(window: Int) {
    bytes = min(max(bytes, Self.byteLimit + Self.leftOverLimit), bytes + window)
  }

  /// Pays for a frame. Returns false if the budget is used up.
  mutating func spend() -> Bool {
    available -= 1
    return available >= 0
  }

  /// Pays for a WINDOW_UPDATE or a PING of this many bytes.
  mutating func spendUpdate(bytes count: Int) -> Bool {
    bytes += count
    guard updates > 0 else { return spend() }
    updates -= 1
    return true
  }

  /// Pays for all received bytes. Their allowance was added before.
  mutating func spend(bytes count: Int) -> Bool {
    bytes -= count
    return bytes >= 0
  }
}
