public import MartletSemantics

/// How long each phase of one attempt took, as the transport measured it.
///
/// Durations are counted from the start of the attempt, as in libcurl and the Resource Timing API: a phase's own length
/// is the difference to the one before it. A phase that did not happen, such as the handshakes on a reused connection,
/// adds nothing.
public struct TransferMetrics: Sendable, Hashable {
  /// Until the name was resolved.
  public var nameLookup: Duration = .zero
  /// Until the TCP connection stood.
  public var connect: Duration = .zero
  /// Until the TLS handshake was done; zero without TLS.
  public var secureConnect: Duration = .zero
  /// Until the request was about to be sent.
  public var requestStart: Duration = .zero
  /// Until the first byte of the response.
  public var firstByte: Duration = .zero
  /// Until the last byte of the response.
  public var total: Duration = .zero
  /// Bytes of the request's body on the wire.
  public var bytesSent: Int64 = 0
  /// Bytes of the response's body on the wire, before decompression.
  public var bytesReceived: Int64 = 0
  /// Bytes of all response heads on the wire.
  public var headerBytesReceived: Int64 = 0
  /// Whether the request went over a connection that was already open.
  public var reusedConnection = false
  /// The version of HTTP that was spoken.
  public var version: HTTPVersion?
  /// The numeric address of the peer (the proxy's, where one is used).
  public var remoteAddress: String?
  /// The port of the peer.
  public var remotePort: Int?
  /// The port at this end, which tells connections apart.
  public var localPort: Int?

  /// Makes empty metrics, for a transport to fill.
  public init() {}
}
