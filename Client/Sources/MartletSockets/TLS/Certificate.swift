#if os(Linux)
import COpenSSL
@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// A certificate parsed by OpenSSL, read for messages and pins. It is valid only while its owner is.
struct Certificate {
  let raw: OpaquePointer

  /// The certificate in DER (RFC 5280 §4.1).
  var data: Data? { Self.encoded { i2d_X509(raw, $0) } }

  /// The base64 of the SHA-256 of its `SubjectPublicKeyInfo` (RFC 7469 §2.4).
  var pin: String? {
    guard let key = X509_get_X509_PUBKEY(raw), let data = Self.encoded({ i2d_X509_PUBKEY(key, $0) }) else { return nil }
    return MessageDigest.hash(.sha256, data)?.base64EncodedString()
  }

  /// The common name of the subject, or its other names.
  var subject: String { Self.text(of: X509_get_subject_name(raw)) }

  /// The common name of the issuer, or its other names.
  var issuer: String { Self.text(of: X509_get_issuer_name(raw)) }

  /// The first second of its validity, in UTC.
  var validFrom: String { Self.text(of: X509_get0_notBefore(raw)) }
  var validUntil: String { Self.text(of: X509_get0_notAfter(raw)) }

  /// What listeners are told.
  var summary: TransferMetrics.TLS.Certificate {
    .init(
      subject: subject, issuer: issuer, validFrom: Self.date(X509_get0_notBefore(raw)),
      validUntil: Self.date(X509_get0_notAfter(raw)))
  }

  /// Whether it has expired.
  var isExpired: Bool { X509_get0_notAfter(raw).map { X509_cmp_current_time($0) <= 0 } ?? true }

  /// The DNS names and addresses that it is valid for; the first 20.
  var hosts: [String] {
    guard let names = martlet_names(raw) else { return [] }
    defer { martlet_free_names(names) }
    return (0..<min(martlet_name_count(names), 20)).compactMap { index in
      var isAddress: Int32 = 0
      guard let name = martlet_name_at(names, index, &isAddress), let bytes = ASN1_STRING_get0_data(name) else {
        return nil
      }
      let value = UnsafeRawBufferPointer(start: bytes, count: Int(max(0, ASN1_STRING_length(name))))
      return isAddress == 0 ? Self.printable(value) : TLSPeer.text(ofAddress: value)
    }
  }

  /// Calls one of OpenSSL's encoders.
  private static func encoded(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> Data? {
    var bytes: UnsafeMutablePointer<UInt8>?
    let count = encode(&bytes)
    guard count >= 0, let bytes else { return nil }
    defer { CRYPTO_free(bytes, "", 0) }
    return Data(bytes: bytes, count: Int(count))
  }

  private static func text(of name: OpaquePointer?) -> String {
    for part in [NID_commonName, NID_organizationName, NID_organizationalUnitName] {
      let index = X509_NAME_get_index_by_NID(name, part, -1)
      guard index >= 0, let entry = X509_NAME_get_entry(name, index), let value = X509_NAME_ENTRY_get_data(entry) else {
        continue
      }
      var bytes: UnsafeMutablePointer<UInt8>?
      let count = ASN1_STRING_to_UTF8(&bytes, value)
      guard count >= 0, let bytes else { continue }
      defer { CRYPTO_free(bytes, "", 0) }
      return printable(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
    }
    return "without a name"
  }

  private static func text(of time: UnsafePointer<ASN1_TIME>?) -> String {
    var parts = tm()
    guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { return "an unreadable date" }
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let day = "\(Int(parts.tm_year) + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
    return "\(day) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) UTC"
  }

  private static func date(_ time: UnsafePointer<ASN1_TIME>?) -> Date? {
    var parts = tm()
    guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
    return Date(timeIntervalSince1970: TimeInterval(timegm(&parts)))
  }

  /// Returns text from a certificate for a message, of at most 200 bytes.
  private static func printable(_ bytes: UnsafeRawBufferPointer) -> String {
    String(decoding: bytes.prefix(200), as: UTF8.self).printable
  }
}

/// A stack of certificates in OpenSSL's form.
struct CertificateStack {
  let raw: OpaquePointer?

  var certificates: [Certificate] {
    (0..<max(0, martlet_certificate_count(raw))).compactMap { martlet_certificate_at(raw, $0).map(Certificate.init) }
  }
}
#endif
