public import MartletSemantics

/// Trust, versions and client certificate for https. The server's certificate and host name are always verified.
///
/// Over sockets, the files of ``clientCertificate``, ``authorities`` and ``additionalAuthorities`` may change while a
/// session lives, as those of cert-manager and SPIRE do every few hours. Each new connection asks whether their inode,
/// size or time of modification has changed, and then reads them again. Connections with the former content get no
/// further requests; those in progress end in peace. Files that cannot be used, or a certificate and a key that do not
/// match, are not an error then: the former content stays in use, and the connection's first request reports that as an
/// ``Event/note(_:)``. Connections that live long notice nothing, so set
/// ``ConnectionConfiguration/connectionLifetime``, too.
public struct TLSSettings: Sendable {
  /// A PEM file with the trusted certificate authorities, in place of the system's file and of its folder of hashed
  /// names. nil, the default, trusts the system's. A proxy over TLS is verified with the system's authorities.
  public var authorities: URL?
  /// A PEM file with additional certificate authorities to trust, besides the system's, or besides ``authorities`` if
  /// that is set. nil by default. It is read when the transport is made; if that fails, every request fails with
  /// ``HTTPError/Kind/tlsFailed``.
  public var additionalAuthorities: URL?
  /// The lowest version that is accepted; TLS 1.2 by default.
  public var minimumVersion = Version.v1_2
  /// The accepted public keys: the server must have one of them, in addition to a valid certificate. Each is the base64
  /// of the SHA-256 of the `SubjectPublicKeyInfo` (RFC 7469 §2.4). Empty, the default, allows any key.
  ///
  /// `openssl x509 -pubkey -noout -in server.pem | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary |
  /// base64`
  public var pinnedPublicKeys: [String] = []
  /// The certificate and private key for servers that request a client certificate. nil by default.
  ///
  /// Over sockets and HTTP/1.1, a server may also request it after the handshake, for some of its paths: up to eight
  /// times on a connection in TLS 1.3 (RFC 8446 §4.6.2), once in TLS 1.2 (RFC 5746). A request that is refused fails
  /// with ``HTTPError/Kind/tlsFailed``.
  public var clientCertificate: ClientCertificate?
  /// Called for each new connection to an origin over https, before the TLS handshake: returns the client certificate
  /// and the pins for this origin. nil by default. For the transport over sockets only: the other transports refuse it.
  ///
  /// The returned settings replace both ``clientCertificate`` and ``pinnedPublicKeys``; if it returns nil, these are
  /// used. The answer applies to the connection and all its requests. TLS sessions are resumed only between connections
  /// with equal answers. The files of a certificate are read once for equal answers, of the last 64, and again when
  /// they have changed.
  ///
  /// It may suspend, and its time counts toward ``ConnectionConfiguration/connectTimeout``. Its task is cancelled after
  /// that time, and when the transport is released. If it throws, no handshake begins, and a request that waits for the
  /// connection fails: an ``HTTPError`` is thrown unchanged, any other error becomes the underlying error of one of
  /// kind ``HTTPError/Kind/tlsFailed``. It is not called for a proxy.
  ///
  /// ```swift
  /// var connection = ConnectionConfiguration()
  /// connection.tls.originSettings = { origin in
  ///   guard origin.host == "bank.example" else { return nil }
  ///   return TLSSettings.OriginSettings(clientCertificate: .pkcs12(file: certificate, password: password))
  /// }
  /// ```
  public var originSettings: (@Sendable (Origin) async throws -> OriginSettings?)?
  /// Called with the server's certificates before anything is sent to it. It can refuse a server, but cannot accept one
  /// that the system refuses. nil by default. See ``ServerTrust/Check``.
  public var serverTrustCheck: ServerTrust.Check?
  /// A file to which the secrets of all connections are appended, for Wireshark and other tools that then decrypt a
  /// recording of the traffic. **Everyone who can read it can read the traffic**, so it is for debugging only. nil, the
  /// default, for none. For the transport over sockets only: the other transports refuse it.
  ///
  /// ```swift
  /// connection.tls.keyLog = URL(filePath: "/home/anna/keys.log")
  /// ```
  ///
  /// Each secret is a line of the format that browsers write (`SSLKEYLOGFILE`, draft-ietf-tls-keylogfile). The file is
  /// made with permissions for its owner only, and an existing file gets these permissions; one of another user is
  /// refused with ``HTTPError/Kind/tlsFailed``, as is one that cannot be written. A device or a named pipe may take its
  /// place. A line that cannot be written, because the disk is full, is lost, and the connection works.
  ///
  /// The library never reads the variable `SSLKEYLOGFILE` of the environment. The tool `martlet` does, and says so.
  public var keyLog: URL?
  /// Called in place of ``serverTrustCheck`` if the system refuses the server's certificates: returns whether to use
  /// the server anyway. For development only, and for the transport over sockets only. nil by default.
  ///
  /// It is not called if the server's key is not among the pinned ones. Nor is it called with a client certificate,
  /// because the server would have received that before the decision.
  @_spi(Transports) public var acceptsRefusedServer: (@Sendable (ServerTrust, Call) async throws -> Bool)?

  /// Makes the default settings.
  public init() {}

  /// The settings of TLS for one origin; see ``TLSSettings/originSettings``.
  public struct OriginSettings: Sendable, Hashable {
    /// The certificate for servers that request one; nil for none.
    public var clientCertificate: ClientCertificate?
    /// The accepted public keys, as in ``TLSSettings/pinnedPublicKeys``; empty allows any key.
    public var pinnedPublicKeys: [String]

    /// Makes the settings of an origin.
    public init(clientCertificate: ClientCertificate? = nil, pinnedPublicKeys: [String] = []) {
      self.clientCertificate = clientCertificate
      self.pinnedPublicKeys = pinnedPublicKeys
    }
  }

  /// A version of TLS.
  @nonexhaustive public enum Version: Sendable, Hashable {
    /// TLS 1.2 (RFC 5246).
    case v1_2
    /// TLS 1.3 (RFC 8446).
    case v1_3
  }
}

/// A certificate with its private key: a PKCS#12 container (RFC 7292, `.p12` or `.pfx`), or two PEM files (RFC 7468).
///
/// If it cannot be read, requests fail with ``HTTPError/Kind/badClientCertificate``; if the password is wrong, with
/// ``HTTPError/Kind/badClientCertificatePassword``. Both errors appear at the first connection that needs the
/// certificate.
///
/// `SocketTransport` refuses a certificate that derives a key from the password in more than 5 million steps, with the
/// error ``HTTPError/Kind/badClientCertificate``. A request waits for the certificate no longer than
/// ``ConnectionConfiguration/connectTimeout``, or 60 seconds if that is nil.
public struct ClientCertificate: Sendable, Hashable {
  package enum Source: Sendable, Hashable {
    case file(URL)
    case data(Data)
    case pem(certificate: URL, key: URL)
    case pemData(certificate: Data, key: Data)
  }

  package let source: Source
  package let password: String?

  /// A PKCS#12 container in a file.
  public static func pkcs12(file: URL, password: String) -> ClientCertificate {
    ClientCertificate(source: .file(file), password: password)
  }

  /// A PKCS#12 container in memory.
  public static func pkcs12(data: Data, password: String) -> ClientCertificate {
    ClientCertificate(source: .data(data), password: password)
  }

  /// PEM files: one with the certificate and any intermediate certificates that the server may not have, and one with
  /// the private key, which may be the same file.
  ///
  /// - Parameters:
  ///   - certificate: the file with the certificates.
  ///   - key: the file with the private key.
  ///   - password: the password of the key; nil, the default, if it is not encrypted.
  public static func pem(certificate: URL, key: URL, password: String? = nil) -> ClientCertificate {
    ClientCertificate(source: .pem(certificate: certificate, key: key), password: password)
  }

  /// The same in memory, for certificates that come from elsewhere, such as a vault or an agent for SPIFFE. See
  /// ``TLSSettings/originSettings`` to return another one for later connections.
  public static func pem(certificate: Data, key: Data, password: String? = nil) -> ClientCertificate {
    ClientCertificate(source: .pemData(certificate: certificate, key: key), password: password)
  }

  /// The files that it consists of.
  fileprivate var files: [URL] {
    switch source {
    case .file(let file): [file]
    case .pem(let certificate, let key): [certificate, key]
    case .data, .pemData: []
    }
  }
}

extension TLSSettings {
  /// The files that the settings name.
  package var files: [URL] {
    [authorities, additionalAuthorities].compactMap(\.self) + (clientCertificate?.files ?? [])
  }
}

extension ClientCertificate: CustomStringConvertible, CustomReflectable {
  /// The location of the certificate; never the password.
  public var description: String {
    switch source {
    case .file(let url): "PKCS#12 file \(url.path)"
    case .data(let data): "PKCS#12 data of \(data.count) bytes"
    case .pem(let certificate, let key): "PEM files \(certificate.path) and \(key.path)"
    case .pemData(let certificate, _): "PEM data of \(certificate.count) bytes"
    }
  }

  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
