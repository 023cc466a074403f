#if os(Linux)
import COpenSSL
import MartletEngine
import MartletSemantics

// The results of the negotiation.
extension TLSSession {
  /// The protocol negotiated with ALPN; nil if there is none.
  var negotiatedProtocol: String? {
    var name: UnsafePointer<UInt8>?
    var count: UInt32 = 0
    SSL_get0_alpn_selected(ssl, &name, &count)
    return count == 0 ? nil : String(decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
  }

  /// The server's certificates in DER, its own first. They are available even if they were refused; a resumed session
  /// has the certificates of the first session.
  var certificates: [Data] {
    trustFailure?.certificates ?? CertificateStack(raw: SSL_get_peer_cert_chain(ssl)).certificates.compactMap(\.data)
  }

  /// Why the server's certificates were refused, for ``ServerTrust/refusal``; nil if they are trusted.
  var refusal: String? { trustFailure?.reason(host: peer.host, authorities: context.authorities) }

  /// The version, `TLSv1.2` or `TLSv1.3`.
  var version: String { SSL_get_version(ssl).map { String(cString: $0) } ?? "" }

  /// The name of the cipher suite; empty before the handshake is complete.
  var cipher: String {
    SSL_get_current_cipher(ssl).flatMap { SSL_CIPHER_get_name($0) }.map { String(cString: $0) } ?? ""
  }

  /// The description for listeners; nil before the handshake is complete.
  var description: TransferMetrics.TLS? {
    guard case .open = state else { return nil }
    let own = SSL_get0_peer_certificate(ssl).map(Certificate.init)
    return TransferMetrics.TLS(
      version: version, cipher: cipher, applicationProtocol: negotiatedProtocol, isResumed: isResumed,
      certificate: own?.summary)
  }

  /// Whether an earlier session was resumed, so that no certificates were sent.
  var isResumed: Bool { SSL_session_reused(ssl) == 1 }

  /// The error unless the caller accepts a server whose chain was refused; nil if there is nothing to accept.
  var refusedChain: HTTPError? { if case .held(let error) = state { error } else { nil } }

  /// Accepts a server whose chain was refused; for contexts with ``TLSContext/RefusedChains/hold``.
  func acceptRefusedChain() { if case .held = state { state = .open } }
}
#endif
