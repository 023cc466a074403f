#if os(Linux)
import COpenSSL
import MartletEngine
import MartletSemantics

/// The client's side of one TLS connection, without I/O: received bytes go in, bytes to send come out.
///
/// ```
/// session.receive(ciphertext) → handshake() until true → write(plaintext), read(into:) until it needs more
/// after each call: send `outgoing`, even after a failure, because it may have an alert for the server
/// ```
/// It has one owner at a time. After a failure every call throws the same error.
final class TLSSession {
  /// The bytes to send. The owner consumes them.
  var outgoing = SendBuffer()
  /// The received bytes that are not decrypted yet.
  var received = ReceivedBytes()
  /// Why the server's certificates were refused; nil before their verification, and if they are trusted.
  private(set) var trustFailure: TrustFailure?

  /// Whether the server resumes an earlier session, or has not answered yet whether it does. Otherwise the next step of
  /// the handshake takes long, because it verifies the server.
  var mayBeResumed = false

  let context: TLSContext
  let peer: TLSPeer
  let protocols: [String]
  let ssl: OpaquePointer
  var state = State.handshaking
  /// Whether the server sends no more bytes.
  private(set) var hasEnded = false
  var records = RecordCount()
  /// The rule for a server that asks for a client certificate after the handshake.
  var reauthentication: Reauthentication
  private var isClosed = false
  private var isVerified = false
  /// Whether the server's first record is awaited, which says whether it resumes the session.
  private var awaitsAnswer = false
  /// The server's first bytes, which show whether it uses TLS.
  private var opening: [UInt8] = []
  /// Tickets that arrived before the handshake was complete.
  private var early: [ResumableSession] = []

  enum State {
    case handshaking
    case open
    /// The server has asked for a client certificate after the handshake, and is being answered.
    case reauthenticating
    /// The handshake is complete, but the server was refused. The session fails with this error unless the caller
    /// accepts it.
    case held(HTTPError)
    case failed(HTTPError)
  }

  /// Begins a session; ``handshake()`` makes its first bytes.
  ///
  /// - Parameters:
  ///   - context: trust and client certificate.
  ///   - peer: the host that the certificate must cover. A name is sent to the server (SNI, RFC 6066 §3), an address is
  ///     not.
  ///   - protocols: the protocols to negotiate (ALPN, RFC 7301), in order of preference; empty for no negotiation.
  ///   - resumes: whether an earlier session of the context with the same peer and protocols may be resumed.
  ///   - reauthenticates: whether the server may ask for a client certificate after the handshake.
  init(
    _ context: TLSContext, peer: TLSPeer, protocols: [String], resumes: Bool = true, reauthenticates: Bool = true
  ) throws(HTTPError) {
    ERR_clear_error()
    guard let ssl = SSL_new(context.raw) else {
      throw HTTPError(.tlsFailed, "\(peer.description): no memory for TLS", phase: .securing)
    }
    self.context = context
    self.peer = peer
    self.protocols = protocols
    self.ssl = ssl
    reauthentication = Reauthentication(isOffered: reauthenticates)
    SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(self).toOpaque())
    guard let bio = SessionBIO.make(for: self) else {
      throw HTTPError(.tlsFailed, "\(peer.description): no memory for TLS", phase: .securing)
    }
    SSL_set_bio(ssl, bio, bio)
    SSL_set_connect_state(ssl)
    SSL_set_post_handshake_auth(ssl, reauthenticates ? 1 : 0)
    guard setPeer(), setProtocols() else {
      throw HTTPError(
        .tlsFailed, "\(peer.description): TLS cannot be prepared: \(TLSFailure.takeReasons())", phase: .securing)
    }
    if resumes, let earlier = context.resumable.take(for: resumptionKey, pins: context.verification) {
      mayBeResumed = SSL_set_session(ssl, earlier.raw) == 1
      awaitsAnswer = mayBeResumed
    }
  }

  deinit {
    // Without this, OpenSSL considers the last ticket of a connection unusable if the connection ends without
    // close_notify.
    if case .open = state { SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN) }
    SSL_free(ssl)
  }

  /// Continues the handshake with the received bytes. If the server does not resume the session, the first call stops
  /// after this answer and leaves the other bytes for the next one.
  ///
  /// - Returns: whether it is complete: the server's chain, host and pin were verified.
  /// - Throws: ``HTTPError/Kind/untrustedCertificate`` and ``HTTPError/Kind/pinMismatch``, with ``trustFailure``;
  ///   ``HTTPError/Kind/badClientCertificate``; ``HTTPError/Kind/tlsFailed``.
  func handshake() throws(HTTPError) -> Bool {
    switch state {
    case .open, .held: return true
    case .failed(let error): throw error
    case .reauthenticating: return try reauthenticate()
    case .handshaking: break
    }
    ERR_clear_error()
    var result = SSL_do_handshake(ssl)
    if awaitsAnswer, records.isAtEndOfFirst, SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ {
      (awaitsAnswer, records, mayBeResumed) = (false, RecordCount(), isResumed)
      guard mayBeResumed || received.count == 0 else { return false }
      result = SSL_do_handshake(ssl)
    }
    if result != 1 {
      let code = SSL_get_error(ssl, result)
      if code == SSL_ERROR_WANT_READ, !hasEnded { return false }
      throw fail(handshakeFailure(code))
    }
    try completeHandshake()
    return true
  }

  /// The result of ``read(into:)``.
  enum ReadResult: Equatable {
    /// This many bytes; there may be more.
    case bytes(Int)
    /// All received bytes were read.
    case needsMore
    /// The server sends no more. The end is clean after close_notify; otherwise the connection ended without it, which
    /// an attacker can cause too (RFC 8446 §6.1).
    case end(isClean: Bool)
  }

  /// Decrypts received bytes. Call it until it needs more.
  func read(into target: UnsafeMutableRawBufferPointer) throws(HTTPError) -> ReadResult {
    switch state {
    case .failed(let error): throw error
    case .handshaking, .reauthenticating: return .needsMore
    case .held(let error):
      guard received.count < 1 << 20 else { throw fail(error) }
      return .needsMore
    case .open: break
    }
    guard let start = target.baseAddress, target.count > 0 else { return .bytes(0) }
    ERR_clear_error()
    var count = 0
    let result = SSL_read_ex(ssl, start, target.count, &count)
    if result == 1 {
      records.reset()
      return .bytes(count)
    }
    if records.isExceeded { throw fail(violation("floods the connection with TLS records that have no content")) }
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_ZERO_RETURN: return .end(isClean: true)
    case SSL_ERROR_WANT_READ:
      try noteRenegotiation()
      return hasEnded && isOpen ? .end(isClean: false) : .needsMore
    case SSL_ERROR_WANT_X509_LOOKUP:
      beginReauthentication()
      return .needsMore
    default: throw fail(connectionFailure())
    }
  }

  /// Encrypts all bytes to ``outgoing``. The owner limits how many it writes before they are sent.
  func write(_ plaintext: UnsafeRawBufferPointer) throws(HTTPError) {
    switch state {
    case .failed(let error), .held(let error): throw error
    case .handshaking, .reauthenticating:
      throw HTTPError(.tlsFailed, "\(peer.description): the TLS handshake is not complete", phase: .securing)
    case .open: break
    }
    guard let start = plaintext.baseAddress, plaintext.count > 0 else { return }
    ERR_clear_error()
    var count = 0
    guard SSL_write_ex(ssl, start, plaintext.count, &count) == 1, count == plaintext.count else {
      throw fail(connectionFailure())
    }
  }

  /// Announces that nothing more will be written (close_notify). Without a complete handshake, it does nothing.
  func close() {
    guard case .open = state, !isClosed else { return }
    isClosed = true
    ERR_clear_error()
    _ = SSL_shutdown(ssl)
    ERR_clear_error()
  }
}

// MARK: - Received bytes

extension TLSSession {
  /// Copies received bytes, for the next calls of ``handshake()`` and ``read(into:)``.
  func receive(_ ciphertext: UnsafeRawBufferPointer) {
    noteOpening(ciphertext)
    received.append(ciphertext)
  }

  /// Calls the closure with received bytes available. Only the bytes that the closure leaves unread are copied.
  func withReceived<Result>(
    _ ciphertext: UnsafeRawBufferPointer, _ body: () throws(HTTPError) -> Result
  ) throws(HTTPError) -> Result {
    noteOpening(ciphertext)
    received.lend(ciphertext)
    defer { received.endLending() }
    return try body()
  }

  /// Moves received bytes to OpenSSL. Returns none after too many records without application data, because OpenSSL
  /// would decrypt all that are available, and none after the record that says whether the session is resumed.
  func takeReceived(into target: UnsafeMutableRawBufferPointer) -> Int {
    guard awaitsAnswer || isOpen || isReauthenticating else { return received.take(into: target) }
    guard awaitsAnswer ? !records.isAtEndOfFirst : isReauthenticating || !records.isExceeded else { return 0 }
    let count = received.take(into: target)
    records.add(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(target)[..<count]))
    return count
  }

  private var isOpen: Bool { if case .open = state { true } else { false } }

  /// Whether bytes were received that are not decrypted yet, such as the beginning of a record.
  var hasUnreadBytes: Bool { received.count > 0 || SSL_has_pending(ssl) == 1 }

  /// Whether the server has asked for a client certificate after the handshake, and is being answered.
  var isReauthenticating: Bool { if case .reauthenticating = state { true } else { false } }

  /// Notes that the server sends no more bytes.
  func receiveEnd() { hasEnded = true }

  private func noteOpening(_ ciphertext: UnsafeRawBufferPointer) {
    guard case .handshaking = state, opening.count < 64 else { return }
    opening += ciphertext.prefix(64 - opening.count)
  }
}

// MARK: - Set-up

extension TLSSession {
  private func setPeer() -> Bool {
    let parameters = SSL_get0_param(ssl)
    switch peer.identity {
    case .name(let name):
      // A name in the subject is not considered (RFC 9110 §4.3.4), nor `w*.example.com` (RFC 9525 §6.3).
      SSL_set_hostflags(
        ssl, UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT) | UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
      return martlet_set_server_name(ssl, name) == 1 && SSL_set1_host(ssl, name) == 1
    case .address(let bytes):
      return X509_VERIFY_PARAM_set1_ip(parameters, bytes, bytes.count) == 1
    }
  }

  private func setProtocols() -> Bool {
    if protocols.isEmpty { return true }
    guard protocols.allSatisfy({ (1...255).contains($0.utf8.count) }) else { return false }
    let list = protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
    return SSL_set_alpn_protos(ssl, list, UInt32(list.count)) == 0
  }

  private var resumptionKey: ResumableSessions.Key { .init(peer: peer, protocols: protocols) }
}

// MARK: - Verification

extension TLSSession {
  /// OpenSSL's callback that verifies the server's certificates; it returns 1 if the handshake may go on.
  static func verify(_ context: OpaquePointer?) -> Int32 {
    guard let context, let ssl = X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx()),
      let data = SSL_get_ex_data(OpaquePointer(ssl), 0)
    else { return 0 }
    return Unmanaged<TLSSession>.fromOpaque(data)._withUnsafeGuaranteedRef { $0.verify(context) ? 1 : 0 }
  }

  private func verify(_ verification: OpaquePointer) -> Bool {
    guard isSameServer(verification) else {
      X509_STORE_CTX_set_error(verification, X509_V_ERR_CERT_REJECTED)
      return false
    }
    isVerified = true
    trustFailure = context.verification.failure(in: verification)
    guard let trustFailure else { return true }
    let isHeld = context.refusedChains == .hold && !trustFailure.includesPinMismatch
    if trustFailure.isPinMismatch { X509_STORE_CTX_set_error(verification, X509_V_ERR_CERT_REJECTED) }
    if isHeld { X509_STORE_CTX_set_error(verification, X509_V_OK) }
    return isHeld
  }

  private func completeHandshake() throws(HTTPError) {
    if isResumed, let own = SSL_get0_peer_certificate(ssl).map(Certificate.init) {
      // The chain was verified before its session was kept; the pins apply to every handshake.
      isVerified = true
      if let problem = context.verification.pinProblem(of: own) {
        trustFailure = TrustFailure(problems: [problem], certificates: certificates)
      }
    }
    guard isVerified, SSL_get_verify_result(ssl) == Int(X509_V_OK) else {
      throw fail(
        HTTPError(.tlsFailed, "\(peer.description): the server's certificate was not verified", phase: .securing))
    }
    if let chosen = negotiatedProtocol, !protocols.contains(chosen) {
      let what = "the server chose the protocol '\(chosen)', which was not offered (RFC 7301 §3.1)"
      throw fail(HTTPError(.tlsFailed, "\(peer.description): \(what)", phase: .securing))
    }
    opening = []
    if let trustFailure {
      let error = trustFailure.error(peer: peer, authorities: context.authorities)
      guard context.refusedChains == .hold, !trustFailure.includesPinMismatch else { throw fail(error) }
      state = .held(error)
    } else {
      state = .open
    }
    prepareReauthentication()
    for ticket in early { keep(ticket) }
    early = []
  }

  /// OpenSSL's callback for a resumable session; it returns 1 if the session is kept.
  static func keep(_ resumable: OpaquePointer?, of ssl: OpaquePointer?) -> Int32 {
    guard let resumable, let ssl, let data = SSL_get_ex_data(ssl, 0) else { return 0 }
    let ticket = ResumableSession(owning: resumable)
    Unmanaged<TLSSession>.fromOpaque(data)._withUnsafeGuaranteedRef { $0.keep(ticket) }
    return 1
  }

  /// Writes a line with a secret of a session to the key log of its context.
  static func log(_ line: UnsafePointer<CChar>?, of ssl: OpaquePointer?) {
    guard let line, let ssl, let data = SSL_get_ex_data(ssl, 0) else { return }
    Unmanaged<TLSSession>.fromOpaque(data)._withUnsafeGuaranteedRef { $0.context.keyLog?.append(line) }
  }

  private func keep(_ ticket: ResumableSession) {
    // A session is resumed without verification, so only sessions of trusted servers are kept.
    if case .open = state, trustFailure == nil {
      context.resumable.store(ticket, for: resumptionKey)
    } else if case .handshaking = state, early.count < 4 {
      early.append(ticket)
    }
  }
}

// MARK: - Failures

extension TLSSession {
  /// Ends the session with an error, and returns the error.
  func fail(_ error: HTTPError) -> HTTPError {
    state = .failed(error)
    return error
  }

  /// The error of a server that misuses TLS to keep the client busy.
  func violation(_ what: String) -> HTTPError {
    HTTPError(.protocolViolation, "\(peer.description): the server \(what)", phase: .receiving)
  }

  private func handshakeFailure(_ code: Int32) -> HTTPError {
    let failure = TLSFailure.current()
    if let trustFailure, context.refusedChains == .fail || trustFailure.includesPinMismatch {
      return trustFailure.error(peer: peer, authorities: context.authorities)
    }
    if code == SSL_ERROR_WANT_READ || failure.codes.isEmpty, TLSFailure.isTLS(opening) {
      let when = opening.isEmpty ? "before it answered" : "during the handshake"
      return HTTPError(
        .tlsFailed, "\(peer.description): the server closed the connection \(when) (TLS)", phase: .securing)
    }
    return failure.error(
      ofHandshakeWith: peer, opening: opening, minimumVersion: context.minimumVersion,
      hasClientCertificate: context.hasClientCertificate)
  }

  private func connectionFailure() -> HTTPError {
    let failure = TLSFailure.current()
    if let refusal = reauthentication.refusal { return reauthenticationError(refusal) }
    var error = failure.error(afterHandshakeWith: peer, hasClientCertificate: context.hasClientCertificate)
    // The request was sent before the server asked for a certificate.
    if reauthentication.hasBegun { error.phase = .waiting }
    return error
  }
}
#endif
