public import MartletSemantics

/// How long each phase of one attempt took, as measured by the transport.
///
/// Durations are counted from the start of the attempt, as in curl and the Resource Timing API: the length of a phase
/// is the difference to the previous one. A phase that did not take place, such as the handshakes of a reused
/// connection, has no length. For a failed attempt, incomplete phases are zero.
public struct TransferMetrics: Sendable, Hashable {
  /// Until the request got an open connection, or the transport began to open one for it: the time it waited while all
  /// connections that the limits allow were in use. Zero if the transport does not measure it.
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

  /// The TLS of the connection to the server; nil without TLS, or over a transport that does not report it.
  public var tls: TLS?

  /// Makes empty metrics, for a transport to fill.
  public init() {}
}

extension TransferMetrics {
  /// What the handshake of a connection agreed on, and the server's certificate.
  public struct TLS: Sendable, Hashable, CustomStringConvertible {
    /// The version: `TLSv1.2` or `TLSv1.3`.
    public var version: String { content.value.version }
    /// The name of the cipher suite.
    public var cipher: String { content.value.cipher }
    /// The protocol that was negotiated (ALPN), such as `h2`; nil if there was none.
    public var applicationProtocol: String? { content.value.applicationProtocol }
    /// Whether an earlier session was resumed. The certificate then comes from the handshake of that session.
    public var isResumed: Bool { content.value.isResumed }
    /// The server's certificate; nil if it is not known.
    public var certificate: Certificate? { content.value.certificate }

    /// Metrics are copied more often than they are read.
    private let content: Shared<Content>

    private struct Content: Sendable, Hashable {
      let version: String
      let cipher: String
      let applicationProtocol: String?
      let isResumed: Bool
      let certificate: Certificate?
    }

    /// Makes the description of a connection's TLS.
    public init(
      version: String, cipher: String, applicationProtocol: String? = nil, isResumed: Bool = false,
      certificate: Certificate? = nil
    ) {
      content = Shared(
        Content(
          version: version, cipher: cipher, applicationProtocol: applicationProtocol, isResumed: isResumed,
          certificate: certificate))
    }

    public static func == (one: TLS, other: TLS) -> Bool { one.content.value == other.content.value }

    public func hash(into hasher: inout Hasher) { hasher.combine(content.value) }

    /// The version, the cipher suite, and the names in the certificate.
    public var description: String {
      let names = certificate.map { ["certificate of \($0.subject) by \($0.issuer)"] } ?? []
      return ([version, cipher] + [applicationProtocol].compactMap(\.self) + names).joined(separator: ", ")
    }

    /// The parts of a certificate that are shown. Texts are copied from the certificate, without control characters.
    public struct Certificate: Sendable, Hashable {
      /// The common name of the subject, or another of its names.
      public var subject: String
      /// The common name of the issuer, or another of its names.
      public var issuer: String
      /// When its validity begins; nil if that cannot be read.
      public var validFrom: Date?
      /// When its validity ends; nil if that cannot be read.
      public var validUntil: Date?

      /// Makes the description of a certificate.
      public init(subject: String, issuer: String, validFrom: Date? = nil, validUntil: Date? = nil) {
        self.subject = subject
        self.issuer = issuer
        self.validFrom = validFrom
        self.validUntil = validUntil
      }
    }
  }
}
