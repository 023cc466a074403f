#if os(Linux)
import COpenSSL
import MartletEngine
import MartletSemantics

/// Translates OpenSSL's errors of one operation.
struct TLSFailure {
  /// The codes, the cause first.
  let codes: [UInt]

  /// Takes the errors from this thread's queue.
  static func current() -> TLSFailure {
    var codes: [UInt] = []
    while codes.count < 16 {
      let code = ERR_get_error()
      if code == 0 { break }
      codes.append(code)
    }
    ERR_clear_error()
    return TLSFailure(codes: codes)
  }

  /// The reasons of this thread's errors, which are removed.
  static func takeReasons() -> String { current().reason }

  /// The reasons, without repetitions.
  var reason: String {
    var reasons: [String] = []
    for code in codes {
      let reason = ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(ERR_GET_REASON(code))"
      if !reasons.contains(reason) { reasons.append(reason) }
    }
    return reasons.isEmpty ? "no reason is known" : reasons.joined(separator: ", ")
  }

  /// Whether a code is among them.
  func has(_ library: Int32, _ reason: Int32) -> Bool {
    codes.contains { ERR_GET_LIB($0) == library && ERR_GET_REASON($0) == reason }
  }

  /// The alert that the server sent (RFC 8446 §6).
  private var alert: Int32? {
    codes.lazy.filter { ERR_GET_LIB($0) == ERR_LIB_SSL }.map { ERR_GET_REASON($0) - SSL_AD_REASON_OFFSET }
      .first { (1..<256).contains($0) }
  }

  /// Whether a server's first bytes may be a TLS record, by its type and version (RFC 8446 §5.1).
  static func isTLS(_ opening: [UInt8]) -> Bool {
    guard let type = opening.first else { return true }
    return (20...24).contains(type) && (opening.count < 2 || opening[1] == 3)
  }
}

// MARK: - Errors

extension TLSFailure {
  /// The error of a handshake that failed for a reason other than the server's certificate.
  func error(
    ofHandshakeWith peer: TLSPeer, opening: [UInt8], minimumVersion: TLSSettings.Version, hasClientCertificate: Bool
  ) -> HTTPError {
    func failed(_ message: String, _ kind: HTTPError.Kind = .tlsFailed) -> HTTPError {
      HTTPError(kind, "\(peer.description): \(message)", phase: .securing)
    }
    if !Self.isTLS(opening) {
      return failed(
        "the server does not use TLS on this port: it may be one for http (it sent \(Self.beginning(opening)))")
    }
    if let error = certificateRefusal(by: peer, hasClientCertificate: hasClientCertificate) { return error }
    let lowest = minimumVersion == .v1_3 ? "TLS 1.3" : "TLS 1.2"
    if alert == SSL_AD_PROTOCOL_VERSION || has(ERR_LIB_SSL, SSL_R_UNSUPPORTED_PROTOCOL) {
      return failed("the server does not support \(lowest), the lowest version that is accepted (\(reason))")
    }
    if alert == SSL_AD_HANDSHAKE_FAILURE {
      let certificate = hasClientCertificate ? "" : ", or the server requires a client certificate, and none is set"
      return failed("the server refused the handshake: there is no common cipher\(certificate) (\(reason))")
    }
    if alert == SSL_AD_NO_APPLICATION_PROTOCOL {
      return failed("the server supports none of the protocols that were offered (\(reason))")
    }
    return failed("the TLS handshake failed: \(reason)")
  }

  /// The error of a connection that fails after the handshake. The owner adds the phase, unless it is set.
  func error(afterHandshakeWith peer: TLSPeer, hasClientCertificate: Bool) -> HTTPError {
    // With TLS 1.3, the alert about a client certificate arrives after the client's part of the handshake.
    certificateRefusal(by: peer, hasClientCertificate: hasClientCertificate)
      ?? HTTPError(.connectionLost, "\(peer.description): the TLS connection failed: \(reason)")
  }

  /// The error if the server refused the client certificate or requires one (RFC 8446 §6.2).
  private func certificateRefusal(by peer: TLSPeer, hasClientCertificate: Bool) -> HTTPError? {
    guard let alert, alert == SSL_AD_CERTIFICATE_REQUIRED || Self.certificateAlerts.contains(alert) else { return nil }
    // Servers in Java report a missing certificate as a bad one.
    if alert == SSL_AD_CERTIFICATE_REQUIRED || !hasClientCertificate {
      return HTTPError(
        .tlsFailed, "\(peer.description): the server requires a client certificate (\(reason))", phase: .securing)
    }
    return HTTPError(
      .badClientCertificate, "\(peer.description): the server refused the client certificate (\(reason))",
      phase: .securing)
  }

  /// The alerts about a certificate of the client (RFC 8446 §6.2).
  private static let certificateAlerts = [
    SSL_AD_BAD_CERTIFICATE, SSL_AD_UNSUPPORTED_CERTIFICATE, SSL_AD_CERTIFICATE_REVOKED, SSL_AD_CERTIFICATE_EXPIRED,
    SSL_AD_CERTIFICATE_UNKNOWN, SSL_AD_UNKNOWN_CA,
  ]

  /// The beginning of what a server sent instead of TLS: its text, or the bytes.
  private static func beginning(_ bytes: [UInt8]) -> String {
    let line = bytes.prefix { $0 != 0x0d && $0 != 0x0a }.prefix(48)
    if !line.isEmpty, line.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) {
      return "'\(String(decoding: line, as: UTF8.self))'"
    }
    return "the bytes "
      + bytes.prefix(8).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined(separator: " ")
  }
}
#endif
