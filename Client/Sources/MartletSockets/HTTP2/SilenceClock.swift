/// Measures how long an HTTP/2 connection has left its requests without a byte, however they end. Times are in
/// nanoseconds on a clock that does not go back.
///
/// A request that its caller gives up says nothing about the connection by itself. But a connection without a byte
/// since its first unanswered request may be dead, although no single request waits long enough for its own timeout.
struct SilenceClock {
  /// When the first request was sent after bytes had last arrived. If requests were waiting then, when these bytes
  /// arrived. nil if no request waits.
  private var since: UInt64?
  /// When the connection was last tested because its silence was suspicious; nil if a response has begun since.
  private var lastTest: UInt64?

  /// Notes that a request is sent.
  mutating func sent(at now: UInt64) { if since == nil { since = now } }

  /// Notes that bytes have arrived.
  ///
  /// - Parameter isAwaited: whether requests still wait.
  mutating func received(at now: UInt64, isAwaited: Bool) { since = isAwaited ? now : nil }

  /// Notes that a response has begun.
  mutating func beganResponse() { lastTest = nil }

  /// Returns whether to test the connection, because it has been silent for `patience` or longer. Further tests without
  /// a response in between are at least `pause` apart: some servers end a connection with many PINGs and no responses
  /// (gRPC; Go 70575).
  mutating func suspects(at now: UInt64, patience: UInt64, pause: UInt64) -> Bool {
    guard let since, now >= since &+ patience else { return false }
    if let lastTest, now < lastTest &+ pause { return false }
    lastTest = now
    return true
  }
}
