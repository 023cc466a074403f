import COpenSSL
import MartletSemantics
import TestServers

/// A certificate and its key, made in memory.
final class MemoryIdentity: @unchecked Sendable {
  // SAFETY: OpenSSL's certificates and keys are not changed after they were made.
  let certificate: OpaquePointer
  let key: OpaquePointer
  let name: String

  init(certificate: OpaquePointer, key: OpaquePointer, name: String) {
    self.certificate = certificate
    self.key = key
    self.name = name
  }

  deinit {
    X509_free(certificate)
    EVP_PKEY_free(key)
  }

  /// The certificate in DER.
  var data: Data { Self.output { i2d_X509_bio($0, certificate) } }
  /// The certificate in PEM.
  var pem: Data { Self.output { PEM_write_bio_X509($0, certificate) } }
  /// The key in PEM, encrypted if there is a password.
  func keyPEM(password: String? = nil) -> Data {
    let cipher = password == nil ? nil : EVP_aes_256_cbc()
    let text = Array((password ?? "").utf8CString.dropLast())
    return Self.output { PEM_write_bio_PKCS8PrivateKey($0, key, cipher, text, Int32(text.count), nil, nil) }
  }

  /// The name of the certificate's file in a folder of hashed names, without the number.
  var subjectHash: String {
    let text = String(X509_NAME_hash_ex(X509_get_subject_name(certificate), nil, nil, nil), radix: 16)
    return String(repeating: "0", count: 8 - text.count) + text
  }

  static func output(_ write: (OpaquePointer) -> Int32) -> Data {
    guard let bio = BIO_new(BIO_s_mem()) else { return Data() }
    defer { BIO_free(bio) }
    _ = write(bio)
    var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(bio))
    _ = BIO_read(bio, &bytes, Int32(bytes.count))
    return Data(bytes)
  }
}

/// Makes certificates in memory, with times and names that no real authority would sign.
struct MemoryAuthority: Sendable {
  let identity: MemoryIdentity

  /// A self-signed authority, or one that another one has issued.
  init(_ name: String = "Authority \(UUID())", issuedBy parent: MemoryAuthority? = nil) throws {
    identity = try Self.make(name, issuer: parent?.identity, extensions: [(NID_basic_constraints, "critical,CA:TRUE")])
  }

  /// Makes an authority from a certificate, whatever its allowed uses.
  init(_ identity: MemoryIdentity) { self.identity = identity }

  /// Issues a certificate for a server.
  ///
  /// - Parameters:
  ///   - names: the `subjectAltName`, in OpenSSL's notation; nil for none.
  ///   - validity: seconds from now.
  func server(
    _ names: String?, subject: String = "server", validity: ClosedRange<Int> = -3600...86400,
    purpose: String = "serverAuth", isSelfSigned: Bool = false
  ) throws -> MemoryIdentity {
    let alternatives = names.map { [(NID_subject_alt_name, $0)] } ?? []
    return try Self.make(
      subject, issuer: isSelfSigned ? nil : identity, validity: validity,
      extensions: alternatives + [(NID_ext_key_usage, purpose)])
  }

  private static func make(
    _ name: String, issuer: MemoryIdentity?, validity: ClosedRange<Int> = -3600...86400, extensions: [(Int32, String)]
  ) throws -> MemoryIdentity {
    guard let key = makeKey(), let certificate = X509_new(), let subject = X509_NAME_new() else {
      throw RealServerError("no key")
    }
    defer { X509_NAME_free(subject) }
    X509_set_version(certificate, 2)
    ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), UInt64.random(in: 1..<1 << 60))
    X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8, Array(name.utf8), Int32(name.utf8.count), -1, 0)
    X509_set_subject_name(certificate, subject)
    X509_set_issuer_name(certificate, issuer.map { X509_get_subject_name($0.certificate) } ?? subject)
    X509_gmtime_adj(X509_getm_notBefore(certificate), validity.lowerBound)
    X509_gmtime_adj(X509_getm_notAfter(certificate), validity.upperBound)
    X509_set_pubkey(certificate, key)
    for (kind, value) in extensions {
      guard let part = X509V3_EXT_conf_nid(nil, nil, kind, value) else { throw RealServerError("extension \(value)") }
      X509_add_ext(certificate, part, -1)
      X509_EXTENSION_free(part)
    }
    guard X509_sign(certificate, issuer?.key ?? key, EVP_sha256()) > 0 else { throw RealServerError("not signed") }
    return MemoryIdentity(certificate: certificate, key: key, name: name)
  }

  private static func makeKey() -> OpaquePointer? {
    guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { return nil }
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_group_name(context, "P-256") == 1,
      EVP_PKEY_generate(context, &key) == 1
    else { return nil }
    return key
  }
}
