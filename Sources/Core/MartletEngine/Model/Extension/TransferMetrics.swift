public import MartletSemantics

/// How long each phase of one attempt took, as measured by the transport.
///
/// Durations are counted from the start of the attempt, as in curl and the Resource Timing API: the length of a phase
/// is the difference to the previous one. A phase that did not take place, such as the handshakes of a reused
/// connection, has no length. For a failed attempt, incomplete phases are zero.
public struct TransferMetrics: Sendable, Hashable {
  /// Until the request got an open connection, or one began to be opened for it: how long it waited because all
  /// connections that the limits allow were in use. Zero over a transport that does not measure it.
  public var queued: Duration = .zero
  /// Until the name was resolved.
  public var nameLookup: Duration = .zero
  /// Until the TCP connection was open.
  public var connect: Duration = .zero
  /// Until the TLS handshake was complete; zero without TLS.
  public var secureConnect: Duration = .zero
  /// Until the request was about to be sent.
  public var requestStart: Duration = .zero
  /// Until the first byte of the response.
  public var firstByte: Duration = .zero
  /// Until the last byte of the response, or until the rest of it was abandoned.
  public var total: Duration = .zero
  /// The bytes of the request's body, as sent over the network.
  public var bytesSent: Int64 = 0
  /// The bytes of the response's body, as received from the network, before decompression.
  public var bytesReceived: Int64 = 0
  /// The bytes of all heads of the response, as received from the network.
  public var headerBytesReceived: Int64 = 0
  /// Whether the connection was already open.
  public var reusedConnection = false
  /// The version of HTTP.
  public var version: HTTPVersion?
  /// The IP address of the server, or of the proxy if one is used.
  public var remoteAddress: String?
  /// The port of the server, or of the proxy.
  public var remotePort: Int?
  /// The local port, which distinguishes connections.
  public var localPort: Int?

  /// Makes empty metrics, for a transport to fill.
  public init() {}
}
