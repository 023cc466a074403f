#if os(Linux)
import CCurl
@_spi(Transports) import MartletEngine
import MartletSemantics

/// The underlying error of a transfer whose server has to be checked first, or was refused by the system.
struct ReceivedCertificates: Error {
  let certificates: [Data]
  let isRefused: Bool
}

extension Transfer {
  /// Whether the request may be sent over a connection. If the caller has a check that was not called for its
  /// certificates yet, the transfer fails with the certificates before anything is sent, and the request begins again
  /// after the check.
  func isChecked(_ connection: Connection?) -> Bool {
    guard let checked = limits.checked, connection?.isChecked != true else { return true }
    let received = handle.certificates
    let certificates = received.isEmpty ? connection?.certificates ?? [] : received
    connection?.certificates = certificates
    if certificates.isEmpty { return restartToLearnCertificates() }
    guard checked.contains(certificates, of: limits.origin) else {
      failure = HTTPError(
        .untrustedCertificate, "\(CurlFailure.peer(of: handle)): the server's certificates were not checked",
        phase: .securing, underlying: ReceivedCertificates(certificates: certificates, isRefused: false))
      return false
    }
    connection?.isChecked = true
    return true
  }

  /// Restarts the transfer on a new connection: the certificates of this one are unknown, because the transfer that
  /// opened it has ended.
  private func restartToLearnCertificates() -> Bool {
    if !hasFreshConnection, rewindBytes(to: 0) {
      wantsFreshConnection = true
    } else {
      let message = "\(CurlFailure.peer(of: handle)): libcurl does not report the server's certificates"
      failure = HTTPError(.tlsFailed, message, phase: .securing)
    }
    return false
  }

  /// Returns the error, with the server's certificates if they are the reason and the caller has a check.
  func withCertificates(_ error: HTTPError) -> HTTPError {
    guard limits.checked != nil, error.kind == .untrustedCertificate || error.kind == .pinMismatch else { return error }
    var error = error
    error.underlying = ReceivedCertificates(certificates: handle.certificates, isRefused: true)
    return error
  }
}

extension EasyHandle {
  /// The server's certificates in DER, its own first. Only for a connection that this transfer opened, and only if
  /// `CURLOPT_CERTINFO` is set.
  fileprivate var certificates: [Data] {
    var certificates: [Data] = []
    while var field = martlet_certificate(raw, Int32(certificates.count)) {
      var found: Data?
      while true {
        if found == nil { found = Self.certificate(in: String(cString: field.pointee.data)) }
        guard let next = field.pointee.next else { break }
        field = next
      }
      guard let found else { return [] }
      certificates.append(found)
    }
    return certificates
  }

  /// Parses `Cert:` followed by a PEM text.
  private static func certificate(in line: String) -> Data? {
    guard line.hasPrefix("Cert:") else { return nil }
    let text = line.dropFirst(5).split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
    return Data(base64Encoded: text)
  }
}
#endif
