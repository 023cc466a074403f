#if os(Linux)
import MartletEngine
public import MartletSemantics

/// Trust, versions and identity for https. The peer's certificate and host name are always verified.
public struct TLSSettings: Sendable {
  /// A PEM file with the certificate authorities to trust, in place of the system's: its file, and its folder of hashed
  /// names. nil, the default, trusts the system's. A proxy that is reached over TLS is verified with the system's.
  public var authorities: URL?
  /// A PEM file with certificate authorities to trust beside the others: beside the system's, or beside ``authorities`` where
  /// that is set. nil by default. It is read when the transport is made; a file that cannot be read fails every request with
  /// ``HTTPError/Kind/tlsFailed``.
  public var additionalAuthorities: URL?
  /// The lowest version that is accepted; TLS 1.2 by default.
  public var minimumVersion = Version.v1_2
  /// The public keys of which the peer must have one, beside a valid certificate: the base64 of the SHA-256 of each
  /// `SubjectPublicKeyInfo` (RFC 7469 §2.4). Empty, the default, pins nothing.
  ///
  /// `openssl x509 -pubkey -noout -in server.pem | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64`
  public var pinnedPublicKeys: [String] = []
  /// The certificate and key that identify this client where a server asks for it. nil by default.
  public var clientCertificate: ClientCertificate?

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
/// What cannot be read fails with ``HTTPError/Kind/badClientCertificate``, a wrong password with
/// ``HTTPError/Kind/badClientCertificatePassword``, both when the first connection needs it.
public struct ClientCertificate: Sendable {
  enum Source: Sendable {
    case file(URL)
    case data(Data)
    case pem(certificate: URL, key: URL)
  }

  let source: Source
  let password: String?

  /// The container in a file.
  public static func pkcs12(file: URL, password: String) -> ClientCertificate {
    ClientCertificate(source: .file(file), password: password)
  }

  /// The container in memory.
  public static func pkcs12(data: Data, password: String) -> ClientCertificate {
    ClientCertificate(source: .data(data), password: password)
  }

  /// A certificate, and behind it those of the authorities that a server may not know, in one PEM file; the private key in
  /// another, or in the same.
  ///
  /// - Parameters:
  ///   - certificate: the file of the certificates.
  ///   - key: the file of the key.
  ///   - password: opens an encrypted key; nil, the default, for one that is not encrypted.
  public static func pem(certificate: URL, key: URL, password: String? = nil) -> ClientCertificate {
    ClientCertificate(source: .pem(certificate: certificate, key: key), password: password)
  }

  var type: String {
    if case .pem = source { "PEM" } else { "P12" }
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
#endif
