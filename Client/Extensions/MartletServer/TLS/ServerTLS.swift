#if os(Linux)
import COpenSSL
import MartletEngine
import MartletSemantics

/// What the TLS connections of a server share: certificate, versions, protocols.
///
/// SAFETY: `raw` does not change after `init`, and OpenSSL counts its uses atomically; the other values are constants.
final class ServerTLSContext: @unchecked Sendable {
  let raw: OpaquePointer
  fileprivate let protocols: [[UInt8]]

  init(_ tls: LoopbackTLS, authority: LoopbackAuthority) throws(LoopbackServerError) {
    let identity = try authority.issuer.identity(.server(tls.hosts), validity: tls.validity)
    guard let raw = SSL_CTX_new(TLS_server_method()) else {
      throw OpenSSLFailure.error("TLS cannot be prepared")
    }
    self.raw = raw
    protocols = tls.protocols.compactMap { $0 == .http2 ? "h2" : $0 == .http1_1 ? "http/1.1" : nil }.map {
      Array($0.utf8)
    }
    // The object is complete, so that its end frees the context.
    guard Self.prepare(raw, tls, identity, authority.issuer.certificate) else {
      throw OpenSSLFailure.error("TLS cannot be prepared")
    }
    if !protocols.isEmpty { chooseProtocol() }
  }

  private static func prepare(
    _ raw: OpaquePointer, _ tls: LoopbackTLS, _ identity: CertificateIssuer.Identity, _ authority: OwnedCertificate
  ) -> Bool {
    let lowest = tls.version == .v1_3 ? TLS1_3_VERSION : TLS1_2_VERSION
    let highest = tls.version == .v1_2 ? TLS1_2_VERSION : TLS1_3_VERSION
    let mode =
      switch tls.clientCertificates {
      case .notRequested: SSL_VERIFY_NONE
      case .requested: SSL_VERIFY_PEER
      case .required: SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
      }
    SSL_CTX_set_verify(raw, mode, nil)
    // Sessions with a client certificate are resumed only in their own context (RFC 8446 §4.6.1).
    let name = Array("martlet".utf8)
    return SSL_CTX_ctrl(raw, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(lowest), nil) == 1
      && SSL_CTX_ctrl(raw, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(highest), nil) == 1
      && SSL_CTX_use_certificate(raw, identity.certificate.raw) == 1
      && SSL_CTX_use_PrivateKey(raw, identity.key.raw) == 1
      && X509_STORE_add_cert(SSL_CTX_get_cert_store(raw), authority.raw) == 1
      && SSL_CTX_add_client_CA(raw, authority.raw) == 1
      && SSL_CTX_set_session_id_context(raw, name, UInt32(name.count)) == 1
  }

  private func chooseProtocol() {
    SSL_CTX_set_alpn_select_cb(
      raw,
      { _, chosen, chosenCount, offered, count, context in
        guard let context, let chosen, let chosenCount, let offered else { return SSL_TLSEXT_ERR_ALERT_FATAL }
        // SAFETY: sessions keep the context, and only they call this.
        return Unmanaged<ServerTLSContext>.fromOpaque(context)._withUnsafeGuaranteedRef { context in
          let list = UnsafeBufferPointer(start: offered, count: Int(count))
          guard let choice = context.choice(among: list) else { return SSL_TLSEXT_ERR_ALERT_FATAL }
          chosen.pointee = offered + choice.lowerBound
          chosenCount.pointee = UInt8(choice.count)
          return SSL_TLSEXT_ERR_OK
        }
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  deinit { SSL_CTX_free(raw) }

  /// Returns the position of the chosen protocol in the client's list (RFC 7301 §3.1), the first of the server's that
  /// it has.
  private func choice(among list: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
    var offers: [Range<Int>] = []
    var position = 0
    while position < list.count {
      let end = position + 1 + Int(list[position])
      guard end <= list.count else { return nil }
      offers.append(position + 1..<end)
      position = end
    }
    return protocols.lazy.compactMap { wanted in offers.first { list[$0].elementsEqual(wanted) } }.first
  }
}

/// The server's side of one TLS connection, without I/O: received bytes go in, bytes to send come out. The thread of
/// the connection uses it.
final class ServerTLS {
  private let context: ServerTLSContext
  private let ssl: OpaquePointer
  private let incoming: OpaquePointer
  private let outgoing: OpaquePointer

  init?(_ context: ServerTLSContext) {
    guard let ssl = SSL_new(context.raw) else { return nil }
    guard let incoming = BIO_new(BIO_s_mem()), let outgoing = BIO_new(BIO_s_mem()) else {
      SSL_free(ssl)
      return nil
    }
    (self.context, self.ssl, self.incoming, self.outgoing) = (context, ssl, incoming, outgoing)
    SSL_set_bio(ssl, incoming, outgoing)
    SSL_set_accept_state(ssl)
  }

  deinit { SSL_free(ssl) }

  /// Takes bytes from the client.
  func receive(_ bytes: UnsafeRawBufferPointer) {
    if !bytes.isEmpty { BIO_write(incoming, bytes.baseAddress, Int32(clamping: bytes.count)) }
  }

  enum Progress {
    case complete
    case needsMore
    case failed(String)
  }

  /// Continues the handshake. Send ``takeOutgoing()`` afterwards, whatever it returns: it may be an alert.
  func handshake() -> Progress {
    ERR_clear_error()
    let result = SSL_do_handshake(ssl)
    if result == 1 { return .complete }
    return SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ ? .needsMore : .failed(OpenSSLFailure.takeReason())
  }

  enum Result: Equatable {
    case bytes(Int)
    case needsMore
    /// The client sends no more, or has violated the protocol.
    case end
  }

  /// Decrypts received bytes. Call it until it needs more.
  func read(into target: UnsafeMutableRawBufferPointer) -> Result {
    ERR_clear_error()
    var count = 0
    let result = SSL_read_ex(ssl, target.baseAddress, target.count, &count)
    if result == 1 { return .bytes(count) }
    return SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ ? .needsMore : .end
  }

  /// Whether the next read returns at once: with bytes, or with the end.
  var isReadable: Bool {
    ERR_clear_error()
    var (byte, count): (UInt8, Int) = (0, 0)
    let result = SSL_peek_ex(ssl, &byte, 1, &count)
    return result == 1 || SSL_get_error(ssl, result) != SSL_ERROR_WANT_READ
  }

  /// Encrypts bytes. False if the connection has failed.
  func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard !bytes.isEmpty else { return true }
    ERR_clear_error()
    var count = 0
    return SSL_write_ex(ssl, bytes.baseAddress, bytes.count, &count) == 1 && count == bytes.count
  }

  /// Announces that nothing more is sent (close_notify).
  func close() {
    ERR_clear_error()
    if SSL_is_init_finished(ssl) == 1 { SSL_shutdown(ssl) }
    ERR_clear_error()
  }

  /// Returns the bytes to send.
  func takeOutgoing() -> Data {
    let count = BIO_ctrl_pending(outgoing)
    guard count > 0 else { return Data() }
    var bytes = Data(count: count)
    let taken = bytes.withUnsafeMutableBytes { BIO_read(outgoing, $0.baseAddress, Int32(clamping: $0.count)) }
    return taken == count ? bytes : bytes.prefix(Int(max(taken, 0)))
  }

  /// Whether the client has agreed on HTTP/2.
  var isHTTP2: Bool {
    var name: UnsafePointer<UInt8>?
    var count: UInt32 = 0
    SSL_get0_alpn_selected(ssl, &name, &count)
    return UnsafeBufferPointer(start: name, count: Int(count)).elementsEqual("h2".utf8)
  }

  /// The form of RFC 4514, with the characters of other languages as they are.
  private static let nameForm = UInt(
    ASN1_STRFLGS_ESC_2253 | ASN1_STRFLGS_ESC_CTRL | ASN1_STRFLGS_UTF8_CONVERT | ASN1_STRFLGS_DUMP_UNKNOWN
      | ASN1_STRFLGS_DUMP_DER | Int32(XN_FLAG_SEP_COMMA_PLUS) | Int32(XN_FLAG_DN_REV))

  /// The facts of the complete handshake.
  var facts: LoopbackTLS.Handshake {
    let name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name).map { String(cString: $0) }
    let subject = SSL_get0_peer_certificate(ssl).flatMap { certificate in
      try? OpenSSLText.make {
        X509_NAME_print_ex($0, X509_get_subject_name(certificate), 0, Self.nameForm)
      }
    }
    return LoopbackTLS.Handshake(
      version: SSL_version(ssl) == TLS1_3_VERSION ? .v1_3 : .v1_2, serverName: name,
      clientSubject: subject.map { String(decoding: $0, as: UTF8.self) })
  }
}

/// A connection over TLS whose thread blocks, for HTTP/1.1.
final class TLSStream: ServerStream {
  let tls: ServerTLS
  private let socket: ServerSocket

  init(_ tls: ServerTLS, over socket: ServerSocket) { (self.tls, self.socket) = (tls, socket) }

  /// Blocks until the handshake is complete.
  ///
  /// - Throws: ``WireError/peerGone`` if it fails. An alert was sent then, and the reason written to standard error.
  func handshake(until deadline: ContinuousClock.Instant?) throws(WireError) {
    while true {
      let progress = tls.handshake()
      try socket.send(tls.takeOutgoing())
      switch progress {
      case .complete: return
      case .failed(let reason):
        let hint = reason.hasSuffix("http request") ? ": the client uses http, not https" : ""
        SystemCalls.report("LoopbackServer refused a TLS handshake: \(reason)\(hint)")
        throw .peerGone
      case .needsMore:
        if let deadline, !socket.waitForBytes(until: deadline) { throw .peerGone }
        guard receiveRecords() else { throw .peerGone }
      }
    }
  }

  private func receiveRecords() -> Bool {
    withUnsafeTemporaryAllocation(byteCount: 32 << 10, alignment: 1) { scratch in
      let count = socket.receive(into: scratch)
      tls.receive(UnsafeRawBufferPointer(rebasing: scratch[..<count]))
      return count > 0
    }
  }

  /// Half a record is none: a client could otherwise hold the connection beyond the deadline with it.
  func waitForBytes(until deadline: ContinuousClock.Instant) -> Bool {
    while !tls.isReadable {
      guard socket.waitForBytes(until: deadline) else { return false }
      guard receiveRecords() else { return true }
    }
    return true
  }

  func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    while true {
      switch tls.read(into: buffer) {
      case .bytes(let count): return count
      case .end: return 0
      case .needsMore: break
      }
      // Reading may have made an answer, such as one to a request for new keys.
      let answer = tls.takeOutgoing()
      if !answer.isEmpty, (try? socket.send(answer)) == nil { return 0 }
      guard receiveRecords() else { return 0 }
    }
  }

  func send(_ bytes: UnsafeRawBufferPointer) throws(WireError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(256 << 10))
      guard tls.write(piece) else { throw .peerGone }
      try socket.send(tls.takeOutgoing())
      rest = rest.dropFirst(piece.count)
    }
  }

  func wait(for gate: Gate?) throws(WireError) { try socket.wait(for: gate) }

  func pause(for duration: Duration) throws(WireError) { try socket.pause(for: duration) }

  func finish() {
    tls.close()
    try? socket.send(tls.takeOutgoing())
  }

  func closeGently() {
    finish()
    socket.closeGently()
  }
}
#endif
