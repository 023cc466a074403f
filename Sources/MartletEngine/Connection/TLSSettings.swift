public import MartletSemantics

/// Trust, versions and client certificate for https. The server's certificate and host name are always verified.
public struct TLSSettings: Sendable {
  /// A PEM file with the certificate authorities to trust, in place of the system's file and of its folder of hashed
  /// names. nil, the default, trusts the system's. A proxy over TLS is verified with the system's authorities.
  public var authorities: URL?
  /// A PEM file with certificate authorities to trust in addition: to the system's, or to ``authorities`` if that is
  /// set. nil by default. It is read when the transport is made; if it cannot be read, every request fails with
  /// ``HTTPError/Kind/tlsFailed``.
  public var additionalAuthorities: URL?
  /// The lowest version that is accepted; TLS 1.2 by default.
  public var minimumVersion = Version.v1_2
  /// The public keys of which the server must have one, in addition to a valid certificate: the base64 of the SHA-256
  /// of each `SubjectPublicKeyInfo` (RFC 7469 §2.4). Empty, the default, allows any key.
  ///
  /// `openssl x509 -pubkey -noout -in server.pem | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary |
  /// base64`
  public var pinnedPublicKeys: [String] = []
  /// The certificate and private key that are sent to servers that ask for a client certificate. nil by default.
  public var clientCertificate: ClientCertificate?
  /// Called with the server's certificates before anything is sent to it. It can refuse a server, but cannot accept one
  /// that the system refuses. nil by default. See ``ServerTrust/Check``.
  public var serverTrustCheck: ServerTrust.Check?
  /// Called in place of ``serverTrustCheck`` if the system refuses the server's certificates: returns whether the server
  /// is used all the same. For development only, and for the transport over sockets only. nil by default.
  ///
  /// It is not called for a key that is not pinned, nor with a client certificate, which the server would have got
  /// before.
  package var acceptsRefusedServer: (@Sendable (ServerTrust, Call) async throws -> Bool)?

  /// Makes the default settings.
  public init() {}

  /// A version of TLS.
  public enum Version: Sendable, Hashable {
    /// TLS 1.2 (RFC 5246).
    case v1_2
    /// TLS 1.3 (RFC 8446).
    case v1_3
  }
}

/// A certificate with its private key: a PKCS#12 container (RFC 7292, `.p12` or `.pfx`), or two PEM files (RFC 7468).
///
/// If it cannot be read, requests fail with ``HTTPError/Kind/badClientCertificate``; if the password is wrong, with
/// ``HTTPError/Kind/badClientCertificatePassword``. Both are found at the first connection that needs it.
public struct ClientCertificate: Sendable {
  package enum Source: Sendable {
    case file(URL)
    case data(Data)
    case pem(certificate: URL, key: URL)
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

  /// PEM files: one with the certificate, followed by intermediate certificates that the server may not have; and one
  /// with the private key, which may be the same file.
  ///
  /// - Parameters:
  ///   - certificate: the file with the certificates.
  ///   - key: the file with the private key.
  ///   - password: the password of the key; nil, the default, if it is not encrypted.
  public static func pem(certificate: URL, key: URL, password: String? = nil) -> ClientCertificate {
    ClientCertificate(source: .pem(certificate: certificate, key: key), password: password)
  }
}

extension ClientCertificate: CustomStringConvertible, CustomReflectable {
  /// Where the certificate is; never the password.
  public var description: String {
    switch source {
    case .file(let url): "PKCS#12 file \(url.path)"
    case .data(let data): "PKCS#12 data of \(data.count) bytes"
    case .pem(let certificate, let key): "PEM files \(certificate.path) and \(key.path)"
    }
  }

  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
