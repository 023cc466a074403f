#if os(Linux)
import COpenSSL
import MartletSemantics

/// The verification of a server's certificates within the handshake: chain, validity, host and pins.
///
/// OpenSSL's own verification decides, without a callback that could overrule it. Only if it fails, a second one
/// continues after each error to find all problems.
struct ServerVerification {
  /// The allowed pins of the server's key; empty allows any key.
  let pins: Set<String>

  /// Verifies the certificates of a handshake; nil if the server is trusted.
  ///
  /// - Parameter context: openSSL's verification before it has begun, with the expected host.
  func failure(in context: OpaquePointer) -> TrustFailure? {
    let own = X509_STORE_CTX_get0_cert(context).map(Certificate.init)
    let sent = X509_STORE_CTX_get0_untrusted(context)
    let isValid = X509_verify_cert(context) == 1 && X509_STORE_CTX_get_error(context) == X509_V_OK
    guard let own else {
      return TrustFailure(problems: [.other("there is no certificate", subject: nil)], certificates: [])
    }
    var problems = isValid ? [] : problems(of: own, sent: sent, like: context)
    if let problem = pinProblem(of: own) { problems.append(problem) }
    guard !problems.isEmpty else { return nil }
    return TrustFailure(problems: problems, certificates: CertificateStack(raw: sent).certificates.compactMap(\.data))
  }

  /// The problem with the pins, if the key of the server's own certificate has none of them.
  func pinProblem(of certificate: Certificate) -> TrustFailure.Problem? {
    if pins.isEmpty { return nil }
    let pin = certificate.pin
    return pin.map { pins.contains($0) } == true ? nil : .pinMismatch(pin: pin)
  }

  /// All problems of refused certificates; at least one.
  private func problems(
    of certificate: Certificate, sent: OpaquePointer?, like context: OpaquePointer
  ) -> [TrustFailure.Problem] {
    let code = X509_STORE_CTX_get_error(context)
    let current = X509_STORE_CTX_get_current_cert(context).map(Certificate.init)
    var found = FoundProblems()
    if let second = X509_STORE_CTX_new() {
      defer { X509_STORE_CTX_free(second) }
      if X509_STORE_CTX_init(second, X509_STORE_CTX_get0_store(context), certificate.raw, sent) == 1 {
        X509_VERIFY_PARAM_set1(X509_STORE_CTX_get0_param(second), X509_STORE_CTX_get0_param(context))
        withUnsafeMutablePointer(to: &found) { found in
          X509_STORE_CTX_set_ex_data(second, 0, found)
          X509_STORE_CTX_set_verify_cb(second) { isValid, context in FoundProblems.goOn(isValid, context) }
          _ = X509_verify_cert(second)
          X509_STORE_CTX_set_ex_data(second, 0, nil)
        }
      }
    }
    return found.list.isEmpty ? [TrustFailure.Problem(code: code, certificate: current)] : found.list
  }
}

/// The problems that the second verification finds.
private struct FoundProblems {
  var list: [TrustFailure.Problem] = []
  private var lacksIssuer = false

  /// OpenSSL's callback for each certificate and error: it notes the error and continues.
  static func goOn(_ isValid: Int32, _ context: OpaquePointer?) -> Int32 {
    guard isValid != 1, let context, let data = X509_STORE_CTX_get_ex_data(context, 0) else { return 1 }
    data.assumingMemoryBound(to: FoundProblems.self).pointee
      .add(X509_STORE_CTX_get_error(context), X509_STORE_CTX_get_current_cert(context).map(Certificate.init))
    return 1
  }

  private mutating func add(_ code: Int32, _ certificate: Certificate?) {
    // Without an issuer, the signature cannot be verified either.
    if code == X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, lacksIssuer { return }
    let problem = TrustFailure.Problem(code: code, certificate: certificate)
    switch problem {
    case .unknownIssuer, .selfSigned: lacksIssuer = true
    default: break
    }
    if list.count < 8, !list.contains(problem) { list.append(problem) }
  }
}
#endif
