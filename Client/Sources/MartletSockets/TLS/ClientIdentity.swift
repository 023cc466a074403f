#if os(Linux)
import COpenSSL
@_spi(Toolkit) import MartletEngine
import MartletSemantics

/// A client certificate, its private key, and the certificates between it and its authority, parsed.
struct ClientIdentity: ~Copyable {
  private let certificate: OpaquePointer
  private let key: OpaquePointer
  /// The certificates that are sent with the client's own.
  private let chain: [OpaquePointer]

  /// Reads a certificate.
  ///
  /// - Throws: ``HTTPError/Kind/badClientCertificate``; ``HTTPError/Kind/badClientCertificatePassword`` if the password
  ///   is wrong or missing.
  init(_ source: ClientCertificate) throws(HTTPError) {
    ERR_clear_error()
    defer { ERR_clear_error() }
    switch source.source {
    case .file(let url):
      let data = try Self.content(of: url)
      self = try PKCS12Container(data, name: source.description, password: source.password ?? "").identity()
    case .data(let data):
      self = try PKCS12Container(data, name: source.description, password: source.password ?? "").identity()
    case .pem(let certificate, let key):
      self = try ClientIdentity(
        certificate: (Self.content(of: certificate), "'\(certificate.path)'"),
        key: (Self.content(of: key), "'\(key.path)'"), password: source.password)
    case .pemData(let certificate, let key):
      self = try ClientIdentity(
        certificate: (certificate, "the certificate's data"), key: (key, "the key's data"), password: source.password)
    }
  }

  /// Takes over a parsed certificate, its key, and its chain.
  init(certificate: OpaquePointer, key: OpaquePointer, chain: [OpaquePointer]) {
    self.certificate = certificate
    self.key = key
    self.chain = chain
  }

  deinit {
    X509_free(certificate)
    EVP_PKEY_free(key)
    for certificate in chain { X509_free(certificate) }
  }

  /// Makes the sessions of a context send the certificate to servers that request one.
  func install(in context: OpaquePointer) throws(HTTPError) {
    ERR_clear_error()
    guard SSL_CTX_use_certificate(context, certificate) == 1, SSL_CTX_use_PrivateKey(context, key) == 1,
      SSL_CTX_check_private_key(context) == 1, chain.allSatisfy({ martlet_add_chain_certificate(context, $0) == 1 })
    else {
      throw Self.error("the client certificate cannot be used: \(TLSFailure.takeReasons())")
    }
  }

  static func error(_ message: String, _ kind: HTTPError.Kind = .badClientCertificate) -> HTTPError {
    HTTPError(kind, message, phase: .securing)
  }

  private static func content(of url: URL) throws(HTTPError) -> Data {
    do { return try SpareDescriptors.contents(of: url) } catch {
      var failure = Self.error("the client certificate in '\(url.path)' cannot be read")
      failure.underlying = error
      throw failure
    }
  }
}

// MARK: - PEM

extension ClientIdentity {
  /// A text, and its place for messages.
  private typealias Text = (content: Data, place: String)

  private init(certificate: Text, key: Text, password: String?) throws(HTTPError) {
    let certificates = try Self.certificates(certificate.content, in: certificate.place)
    do {
      let parsed = try Self.privateKey(key.content, in: key.place, password: password)
      self.init(certificate: certificates[0], key: parsed, chain: Array(certificates.dropFirst()))
    } catch {
      for certificate in certificates { X509_free(certificate) }
      throw error
    }
  }

  /// Returns the certificates of a text, which the caller frees; at least one.
  private static func certificates(_ text: Data, in place: String) throws(HTTPError) -> [OpaquePointer] {
    var reader = PEMReader(text)
    var certificates: [OpaquePointer] = []
    var isDamaged = false
    while !isDamaged, let block = reader.next() {
      guard block.isCertificate else { continue }
      if let parsed = block.certificate() { certificates.append(parsed) } else { isDamaged = true }
    }
    if !isDamaged, !reader.isDamaged, !certificates.isEmpty { return certificates }
    for certificate in certificates { X509_free(certificate) }
    guard isDamaged || reader.isDamaged else { throw error("there is no certificate in PEM in \(place)") }
    throw error(
      "the client certificate in \(place) cannot be read: certificate \(certificates.count + 1), or the text before "
        + "it, is damaged")
  }

  private static func privateKey(
    _ text: Data, in place: String, password: String?
  ) throws(HTTPError) -> OpaquePointer {
    var reader = PEMReader(text)
    while let block = reader.next() { try KeyDerivation.check(block.derivationSteps, in: place) }
    var request = PasswordRequest(password: password.map { Array($0.utf8) })
    let key = text.withUnsafeBytes { bytes -> OpaquePointer? in
      guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
      defer { BIO_free(bio) }
      return withUnsafeMutablePointer(to: &request) { PEM_read_bio_PrivateKey(bio, nil, PasswordRequest.answer, $0) }
    }
    if let key { return key }
    let reason = TLSFailure.takeReasons()
    if request.isTooLong {
      throw error("the password of the key in \(place) is longer than OpenSSL accepts", .badClientCertificatePassword)
    }
    guard request.wasAsked else { throw error("there is no private key in PEM in \(place) (\(reason))") }
    let what =
      password == nil ? "is encrypted, and there is no password" : "cannot be decrypted: is the password right?"
    throw error("the client certificate's key in \(place) \(what) (\(reason))", .badClientCertificatePassword)
  }
}

extension PEMReader.Block {
  /// The number of steps that derive the key of an encrypted key; 0 for any other block.
  fileprivate var derivationSteps: Int64 {
    guard label == "ENCRYPTED PRIVATE KEY" else { return 0 }
    return content.withUnsafeBufferPointer { bytes in
      var position = bytes.baseAddress
      let key = d2i_X509_SIG(nil, &position, bytes.count)
      defer { X509_SIG_free(key) }
      return KeyDerivation.steps(ofKey: key)
    }
  }
}

/// The answer to OpenSSL's question for a key's password. Without one, OpenSSL would ask at the terminal.
private struct PasswordRequest {
  let password: [UInt8]?
  var wasAsked = false
  var isTooLong = false

  static let answer: @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32 = {
    buffer, size, _, data in
    guard let buffer, let request = data?.assumingMemoryBound(to: PasswordRequest.self) else { return -1 }
    request.pointee.wasAsked = true
    guard let password = request.pointee.password else { return -1 }
    guard password.count <= Int(size) else {
      request.pointee.isTooLong = true
      return -1
    }
    UnsafeMutableRawPointer(buffer).copyMemory(from: password, byteCount: password.count)
    return Int32(password.count)
  }
}
#endif
