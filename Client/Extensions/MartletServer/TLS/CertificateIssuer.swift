#if os(Linux)
import COpenSSL
import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Signs certificates with the key of an authority.
///
/// SAFETY: the certificate and the key do not change after `init`, and OpenSSL counts their uses atomically.
final class CertificateIssuer: @unchecked Sendable {
  let certificate: OwnedCertificate
  private let key: OwnedKey

  /// What a certificate is for.
  enum Subject {
    case authority
    case server([String])
    case client(String)
  }

  /// A certificate with its key.
  struct Identity {
    let certificate: OwnedCertificate
    let key: OwnedKey
  }

  /// Makes an authority. Its name differs from those of all others, so that none is taken for another.
  init() throws(LoopbackServerError) {
    // Without the clean-up at exit, which would free memory that connections' threads still use.
    OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    key = try OwnedKey()
    certificate = try OwnedCertificate()
    try Self.fill(certificate, .authority, name: "Martlet test authority \(UUID())", key: key, validity: nil)
    try certificate.sign(for: .authority, issuer: certificate, with: key)
  }

  /// Signs a certificate with a new key.
  func identity(_ subject: Subject, validity: Range<Date>?) throws(LoopbackServerError) -> Identity {
    let identity = Identity(certificate: try OwnedCertificate(), key: try OwnedKey())
    let name =
      switch subject {
      case .client(let name): name
      case .server, .authority: "Martlet test server"
      }
    guard (1...64).contains(name.unicodeScalars.count) else {
      throw LoopbackServerError("'\(name)' cannot be the name of a certificate: use 1 to 64 characters")
    }
    try Self.fill(identity.certificate, subject, name: name, key: identity.key, validity: validity)
    try identity.certificate.sign(for: subject, issuer: certificate, with: key)
    return identity
  }

  private static func fill(
    _ certificate: OwnedCertificate, _ subject: Subject, name: String, key: OwnedKey, validity: Range<Date>?
  ) throws(LoopbackServerError) {
    let validity = validity ?? Date.now.addingTimeInterval(-3600)..<Date.now.addingTimeInterval(2 * 86400)
    let raw = certificate.raw
    let text = Array(name.utf8)
    let isFilled =
      X509_set_version(raw, 2) == 1
      && ASN1_INTEGER_set_uint64(X509_get_serialNumber(raw), UInt64.random(in: 1...UInt64(Int64.max))) == 1
      && ASN1_TIME_set(X509_getm_notBefore(raw), time(validity.lowerBound)) != nil
      && ASN1_TIME_set(X509_getm_notAfter(raw), time(validity.upperBound)) != nil
      && X509_set_pubkey(raw, key.raw) == 1
      && X509_NAME_add_entry_by_txt(
        X509_get_subject_name(raw), "CN", Int32(MBSTRING_FLAG), text, Int32(text.count), -1, 0) == 1
    guard isFilled else { throw OpenSSLFailure.error("a certificate cannot be made") }
  }

  private static func time(_ date: Date) -> time_t {
    time_t(min(max(date.timeIntervalSince1970, -2_000_000_000), 250_000_000_000))
  }
}

/// A certificate that this object frees.
final class OwnedCertificate {
  let raw: OpaquePointer

  init() throws(LoopbackServerError) {
    guard let raw = X509_new() else { throw OpenSSLFailure.error("there is no memory for a certificate") }
    self.raw = raw
  }

  deinit { X509_free(raw) }

  func pem() throws(LoopbackServerError) -> Data {
    try OpenSSLText.make { PEM_write_bio_X509($0, raw) }
  }

  /// Adds the extensions (RFC 5280 §4.2) and the signature.
  fileprivate func sign(
    for subject: CertificateIssuer.Subject, issuer: OwnedCertificate, with key: OwnedKey
  ) throws(LoopbackServerError) {
    guard X509_set_issuer_name(raw, X509_get_subject_name(issuer.raw)) == 1 else {
      throw OpenSSLFailure.error("a certificate cannot be made")
    }
    for (identifier, value) in try subject.extensions { try add(identifier, value, issuer: issuer) }
    guard X509_sign(raw, key.raw, EVP_sha256()) > 0 else {
      throw OpenSSLFailure.error("a certificate cannot be signed")
    }
  }

  private func add(_ identifier: Int32, _ value: String, issuer: OwnedCertificate) throws(LoopbackServerError) {
    var context = X509V3_CTX()
    X509V3_set_ctx(&context, issuer.raw, raw, nil, nil, 0)
    guard let part = X509V3_EXT_conf_nid(nil, &context, identifier, value) else {
      throw OpenSSLFailure.error("a certificate cannot have '\(value)'")
    }
    defer { X509_EXTENSION_free(part) }
    guard X509_add_ext(raw, part, -1) == 1 else { throw OpenSSLFailure.error("a certificate cannot be made") }
  }
}

extension CertificateIssuer.Subject {
  fileprivate var extensions: [(Int32, String)] {
    get throws(LoopbackServerError) {
      let own: [(Int32, String)] =
        switch self {
        case .authority:
          [(NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign,cRLSign")]
        case .server(let hosts):
          [
            (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
            (NID_ext_key_usage, "serverAuth"), (NID_subject_alt_name, try Self.names(hosts)),
          ]
        case .client:
          [
            (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
            (NID_ext_key_usage, "clientAuth"),
          ]
        }
      return own + [(NID_subject_key_identifier, "hash"), (NID_authority_key_identifier, "keyid")]
    }
  }

  /// Returns the hosts in the form of OpenSSL's configuration, in which a comma or a colon would have a meaning.
  private static func names(_ hosts: [String]) throws(LoopbackServerError) -> String {
    guard !hosts.isEmpty else { throw LoopbackServerError("a server's certificate needs a name: set `hosts`") }
    let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._*".unicodeScalars)
    var names: [String] = []
    for host in hosts {
      var address = [UInt8](repeating: 0, count: 16)
      if inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1 {
        names.append("IP:\(host)")
        continue
      }
      let isName = !host.isEmpty && host.unicodeScalars.allSatisfy { allowed.contains($0) }
      guard isName else {
        throw LoopbackServerError(
          "'\(host)' cannot be in a certificate: use an ASCII name without a port, or an address")
      }
      names.append("DNS:\(host)")
    }
    return names.joined(separator: ",")
  }
}

/// A private key that this object frees.
final class OwnedKey {
  let raw: OpaquePointer

  /// Makes a key on P-256: those of RSA take long.
  init() throws(LoopbackServerError) {
    let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    let isMade =
      EVP_PKEY_keygen_init(context) == 1 && EVP_PKEY_CTX_set_group_name(context, "P-256") == 1
      && EVP_PKEY_generate(context, &key) == 1
    guard isMade, let key else { throw OpenSSLFailure.error("a private key cannot be made") }
    raw = key
  }

  deinit { EVP_PKEY_free(raw) }

  func pem() throws(LoopbackServerError) -> Data {
    try OpenSSLText.make { PEM_write_bio_PrivateKey($0, raw, nil, nil, 0, nil, nil) }
  }
}

/// Text that OpenSSL writes.
enum OpenSSLText {
  static func make(_ write: (OpaquePointer) -> Int32) throws(LoopbackServerError) -> Data {
    guard let bio = BIO_new(BIO_s_mem()) else { throw OpenSSLFailure.error("there is no memory") }
    defer { BIO_free(bio) }
    guard write(bio) > 0 else { throw OpenSSLFailure.error("a certificate or a key cannot be written") }
    var text = Data(count: BIO_ctrl_pending(bio))
    let count = text.withUnsafeMutableBytes { BIO_read(bio, $0.baseAddress, Int32($0.count)) }
    return text.prefix(Int(max(count, 0)))
  }
}

/// The reasons that OpenSSL has recorded on this thread.
enum OpenSSLFailure {
  static func error(_ what: String) -> LoopbackServerError { LoopbackServerError("\(what): \(takeReason())") }

  static func takeReason() -> String {
    let code = ERR_get_error()
    ERR_clear_error()
    guard code != 0 else { return "no reason given" }
    var text = [CChar](repeating: 0, count: 256)
    ERR_error_string_n(code, &text, text.count)
    return text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
  }
}
#endif
