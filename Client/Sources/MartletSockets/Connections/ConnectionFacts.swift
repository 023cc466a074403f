import MartletEngine
import MartletSemantics

/// The facts of a connection that was made. Times are in nanoseconds on the loop's clock.
struct ConnectionFacts {
  /// When its opening began, and when it was open.
  var started: UInt64 = 0
  var opened: UInt64 = 0
  var resolved: UInt64 = 0
  var connected: UInt64 = 0
  /// nil without TLS.
  var secured: UInt64?
  var version: HTTPVersion?
  var remoteAddress: String?
  var remotePort: Int?
  var localPort: Int?
  /// The properties of TLS to the origin; nil until a request has listeners that receive metrics.
  var tls: TransferMetrics.TLS?
}
