#if os(Linux)
import COpenSSL
import MartletEngine
import MartletSemantics

/// Decides whether a server may ask for a client certificate after the handshake, as Apache and IIS do for a part of
/// their URLs: by post-handshake authentication in TLS 1.3 (RFC 8446 §4.6.2), by renegotiation in TLS 1.2 (RFC 5746).
///
/// - Only for HTTP/1.1. Over HTTP/2 both are forbidden (RFC 9113 §9.2.1, §9.2.3), because the answer could not be
///   attributed to one of the requests; a server tells the client to use HTTP/1.1 instead. An upgrade to another
///   protocol ends the permission.
/// - TLS 1.2: once. The server must have the same certificate as before, which is verified again, and must support
///   secure renegotiation. While it takes place, no other bytes may arrive.
/// - TLS 1.3: up to ``limit`` times.
///
/// A refusal ends the connection.
struct Reauthentication {
  /// Whether the client's side allows it, whatever the protocol.
  private let isOffered: Bool
  /// Whether the server may ask now.
  private(set) var isAllowed = false
  /// How often it was answered.
  private var count = 0
  /// Why the server was refused; nil if it was not.
  private(set) var refusal: String?
  /// The certificate of the server, in DER, if it may renegotiate.
  private(set) var server: Data?

  /// The maximum number of answers over a connection of TLS 1.3: each costs a signature.
  static let limit = 8

  init(isOffered: Bool) { self.isOffered = isOffered }

  /// Whether the server was answered.
  var hasBegun: Bool { count > 0 }

  /// Allows it after the handshake, if the connection is for HTTP/1.1.
  ///
  /// - Parameters:
  ///   - chosen: the negotiated protocol; nil if there is none.
  ///   - offered: the protocols that were offered.
  ///   - server: the server's certificate, if it may renegotiate (TLS 1.2).
  mutating func allow(protocol chosen: String?, offered: [String], server: @autoclosure () -> Data?) {
    isAllowed = isOffered && (chosen ?? "http/1.1") == "http/1.1" && (offered.isEmpty || offered.contains("http/1.1"))
    if isAllowed { self.server = server() }
  }

  /// Forbids it from now on.
  mutating func forbid() { isAllowed = false }

  /// Notes that the server asks. Returns whether it is answered.
  mutating func isAsked(limit: Int = Self.limit) -> Bool {
    guard isAllowed, count < limit else {
      let why = isAllowed ? "too often" : "which is possible over HTTP/1.1 only (RFC 9113 §9.2.3)"
      refuse("the server asks for a client certificate after the TLS handshake, \(why)")
      return false
    }
    count += 1
    return true
  }

  /// Notes why the server is refused. The first reason counts.
  mutating func refuse(_ reason: String) { refusal = refusal ?? reason }
}

extension TLSSession {
  /// Allows the server to ask for a certificate, after the handshake.
  func prepareReauthentication() {
    let mayRenegotiate = SSL_version(ssl) < TLS1_3_VERSION
    reauthentication.allow(
      protocol: negotiatedProtocol, offered: protocols, server: mayRenegotiate ? certificates.first : nil)
    guard mayRenegotiate else { return }
    martlet_allow_renegotiation(ssl, reauthentication.isAllowed ? 1 : 0)
    SSL_set_info_callback(ssl) { ssl, event, value in
      let isSent = event & (SSL_CB_ALERT | SSL_CB_WRITE) == SSL_CB_ALERT | SSL_CB_WRITE
      guard isSent, value & 0xff == SSL_AD_NO_RENEGOTIATION else { return }
      TLSSession.use(ssl) { session in _ = session.reauthentication.isAsked(limit: 1) }
    }
  }

  /// Answers no more questions of the server: the connection is no longer used for HTTP/1.1.
  func endReauthentication() {
    reauthentication.forbid()
    martlet_allow_renegotiation(ssl, 0)
  }

  /// OpenSSL's callback for a request for a certificate; it returns 1 to answer now, -1 to answer later, 0 to refuse.
  static func answerCertificateRequest(_ ssl: OpaquePointer?) -> Int32 {
    var result: Int32 = 1
    use(ssl) { session in
      // Within a read: a step of the handshake then makes the signature on another thread.
      if case .open = session.state { result = session.reauthentication.isAsked() ? -1 : 0 }
    }
    return result
  }

  private static func use(_ ssl: OpaquePointer?, _ body: (TLSSession) -> Void) {
    guard let ssl = ssl.map({ SSL_get_ex_data($0, 0) }), let data = ssl else { return }
    Unmanaged<TLSSession>.fromOpaque(data)._withUnsafeGuaranteedRef { body($0) }
  }

  /// Notices after a read that the server asks to renegotiate (TLS 1.2).
  func noteRenegotiation() throws(HTTPError) {
    if let refusal = reauthentication.refusal { throw fail(reauthenticationError(refusal)) }
    guard reauthentication.server != nil, SSL_renegotiate_pending(ssl) == 1 else { return }
    _ = reauthentication.isAsked(limit: 1)
    beginReauthentication()
  }

  /// Begins to answer the server; ``handshake()`` continues.
  func beginReauthentication() {
    state = .reauthenticating
    mayBeResumed = false
  }

  /// Continues to answer the server with the received bytes. Returns whether the answer is complete.
  func reauthenticate() throws(HTTPError) -> Bool {
    ERR_clear_error()
    let result = SSL_do_handshake(ssl)
    guard result == 1 else {
      let code = SSL_get_error(ssl, result)
      if code == SSL_ERROR_WANT_READ, !hasEnded { return false }
      throw fail(reauthenticationFailure(code))
    }
    state = .open
    records.reset()
    if reauthentication.server != nil { martlet_allow_renegotiation(ssl, 0) }
    return true
  }

  /// Whether the certificates to verify begin with the one of the first handshake; true within that.
  func isSameServer(_ verification: OpaquePointer) -> Bool {
    guard isReauthenticating else { return true }
    let own = X509_STORE_CTX_get0_cert(verification).map(Certificate.init)
    guard let own, own.data == reauthentication.server else {
      reauthentication.refuse("the server renegotiates TLS with another certificate than before")
      return false
    }
    return true
  }

  private func reauthenticationFailure(_ code: Int32) -> HTTPError {
    let failure = TLSFailure.current()
    if let refusal = reauthentication.refusal { return reauthenticationError(refusal) }
    if code == SSL_ERROR_WANT_READ {
      return reauthenticationError("the server asked for a client certificate, and then closed the connection")
    }
    var error =
      trustFailure?.error(peer: peer, authorities: context.authorities)
      ?? failure.error(
        ofHandshakeWith: peer, opening: [], minimumVersion: context.minimumVersion,
        hasClientCertificate: context.hasClientCertificate)
    error.phase = .waiting
    return error
  }

  /// The error of a connection whose server is refused. Its request may have been sent before.
  func reauthenticationError(_ reason: String) -> HTTPError {
    HTTPError(.tlsFailed, "\(peer.description): \(reason)", phase: .waiting)
  }
}
#endif
