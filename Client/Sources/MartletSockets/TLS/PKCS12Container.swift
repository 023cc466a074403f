#if os(Linux)
import COpenSSL
import MartletEngine
import MartletSemantics

/// A container in PKCS#12 (RFC 7292) with a certificate and its key.
struct PKCS12Container {
  private let data: Data
  private let name: String
  private let password: String
  private let legacyProvider: String

  /// - Parameters:
  ///   - name: the location of the container, for messages; not the password.
  ///   - legacyProvider: openSSL's module with old ciphers; some systems do not install it.
  init(_ data: Data, name: String, password: String, legacyProvider: String = "legacy") {
    self.data = data
    self.name = name
    self.password = password
    self.legacyProvider = legacyProvider
  }

  /// Opens the container.
  func identity() throws(HTTPError) -> ClientIdentity {
    switch open(in: nil) {
    case .opened(let identity): return identity
    case .failed(let error): throw error
    case .unsupported(let failure): return try identityWithOldCipher(failure.reason)
    }
  }

  /// Opens the container with OpenSSL's provider of old ciphers such as RC2, which is loaded for this container only.
  private func identityWithOldCipher(_ reason: String) throws(HTTPError) -> ClientIdentity {
    let unsupported = ClientIdentity.error(
      """
      the client certificate cannot be opened: \(name) is encrypted with an old cipher that this OpenSSL does not support \
      (\(reason)); convert it with 'openssl pkcs12 -legacy' and 'openssl pkcs12 -export'
      """)
    guard let library = OSSL_LIB_CTX_new() else { throw unsupported }
    defer { OSSL_LIB_CTX_free(library) }
    guard let legacy = OSSL_PROVIDER_load(library, legacyProvider) else { throw unsupported }
    defer { OSSL_PROVIDER_unload(legacy) }
    guard let standard = OSSL_PROVIDER_load(library, "default") else { throw unsupported }
    defer { OSSL_PROVIDER_unload(standard) }
    switch open(in: library) {
    case .opened(let identity): return identity
    case .failed(let error): throw error
    case .unsupported: throw unsupported
    }
  }

  private enum Opening: ~Copyable {
    case opened(ClientIdentity)
    case failed(HTTPError)
    case unsupported(TLSFailure)
  }

  /// Opens the container with the algorithms of a library context; nil for the process's own.
  private func open(in library: OpaquePointer?) -> Opening {
    ERR_clear_error()
    guard let container = parsed(in: library) else {
      let reason = TLSFailure.takeReasons()
      return .failed(
        ClientIdentity.error("the client certificate cannot be read: \(name): is it a PKCS#12 container? (\(reason))"))
    }
    defer { PKCS12_free(container) }
    do throws(HTTPError) { try KeyDerivation.check(KeyDerivation.steps(of: container), in: name) } catch {
      return .failed(error)
    }
    guard let password = acceptedPassword(of: container) else {
      let failure = TLSFailure.current()
      if Self.isUnsupported(failure) { return .unsupported(failure) }
      return .failed(
        ClientIdentity.error(
          "the client certificate cannot be opened: \(name): is the password right?", .badClientCertificatePassword))
    }
    do throws(HTTPError) {
      try KeyDerivation.check(KeyDerivation.steps(within: container, password: password.text), in: name)
    } catch { return .failed(error) }
    return identity(in: container, password: password)
  }

  private func identity(in container: OpaquePointer, password: Password) -> Opening {
    ERR_clear_error()
    var key: OpaquePointer?
    var certificate: OpaquePointer?
    var others: OpaquePointer?
    let isOpen = PKCS12_parse(container, password.text, &key, &certificate, &others) == 1
    let failure = TLSFailure.current()
    defer { martlet_free_certificates(others) }
    if isOpen, let certificate, let key, let own = Self.copy(of: key, and: certificate, others) { return .opened(own) }
    if !isOpen, Self.isUnsupported(failure) { return .unsupported(failure) }
    let reason = isOpen ? "it needs a certificate and its private key" : failure.reason
    return .failed(ClientIdentity.error("the client certificate cannot be opened: \(name): \(reason)"))
  }

  private func parsed(in library: OpaquePointer?) -> OpaquePointer? {
    data.withUnsafeBytes { bytes -> OpaquePointer? in
      guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
      defer { BIO_free(bio) }
      var empty = library.flatMap { PKCS12_init_ex(NID_pkcs7_data, $0, nil) }
      guard let container = d2i_PKCS12_bio(bio, &empty) else { return nil }
      return container
    }
  }

  private struct Password { let text: String? }

  /// The password that matches the container's checksum; an empty one is written in two ways. nil if none matches.
  private func acceptedPassword(of container: OpaquePointer) -> Password? {
    // A container may have no checksum.
    if PKCS12_mac_present(container) == 0 { return Password(text: password) }
    if PKCS12_verify_mac(container, password, -1) == 1 { return Password(text: password) }
    if password.isEmpty, PKCS12_verify_mac(container, nil, 0) == 1 { return Password(text: nil) }
    return nil
  }

  private static func isUnsupported(_ failure: TLSFailure) -> Bool {
    failure.codes.contains { code in
      let reason = ERR_GET_REASON(code)
      return reason == ERR_R_UNSUPPORTED
        || ERR_GET_LIB(code) == ERR_LIB_EVP
          && [EVP_R_UNSUPPORTED_ALGORITHM, EVP_R_UNKNOWN_PBE_ALGORITHM].contains(reason)
        || ERR_GET_LIB(code) == ERR_LIB_PKCS12 && reason == PKCS12_R_UNKNOWN_DIGEST_ALGORITHM
    }
  }

  /// Copies the content to the process's library context, and frees it.
  private static func copy(
    of key: OpaquePointer, and certificate: OpaquePointer, _ others: OpaquePointer?
  ) -> ClientIdentity? {
    defer {
      EVP_PKEY_free(key)
      X509_free(certificate)
    }
    guard let ownKey = copy(ofKey: key) else { return nil }
    guard let own = copy(ofCertificate: certificate) else {
      EVP_PKEY_free(ownKey)
      return nil
    }
    let chain = CertificateStack(raw: others).certificates.compactMap { copy(ofCertificate: $0.raw) }
    return ClientIdentity(certificate: own, key: ownKey, chain: chain)
  }

  private static func copy(ofKey key: OpaquePointer) -> OpaquePointer? {
    var bytes: UnsafeMutablePointer<UInt8>?
    let count = i2d_PrivateKey(key, &bytes)
    guard count > 0, let bytes else { return nil }
    defer { CRYPTO_clear_free(bytes, Int(count), "", 0) }
    var position = UnsafePointer<UInt8>(bytes) as UnsafePointer<UInt8>?
    return d2i_AutoPrivateKey(nil, &position, Int(count))
  }

  private static func copy(ofCertificate certificate: OpaquePointer) -> OpaquePointer? {
    guard let data = Certificate(raw: certificate).data else { return nil }
    return PEMReader.Block(label: "CERTIFICATE", content: Array(data)).certificate()
  }
}
#endif
