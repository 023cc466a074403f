import COpenSSL
import MartletEngine
import MartletSemantics
import TestServers

@testable import MartletSockets

/// The server's end of TLS in memory, with OpenSSL's own buffers.
final class MemoryServer {
  /// The setup of the server.
  struct Options {
    var versions: ClosedRange<Int32> = TLS1_2_VERSION...TLS1_3_VERSION
    /// The certificates between the server's own and its authority.
    var chain: [MemoryIdentity] = []
    /// The protocols that it supports (ALPN).
    var protocols: [String] = []
    /// Whether it chooses its first protocol, even if the client has not offered it.
    var choosesUnoffered = false
    /// The authority of client certificates, if it requires one.
    var clients: MemoryIdentity?
    /// The authority of client certificates, if it asks for one after the handshake.
    var laterClients: MemoryIdentity?
    var ciphers: String?
  }

  /// The shared state of one server's connections: it knows the tickets of all of them.
  // SAFETY: OpenSSL allows several threads to use a context that does not change.
  final class Context: @unchecked Sendable {
    let raw: OpaquePointer
    init(raw: OpaquePointer) { self.raw = raw }
    deinit { SSL_CTX_free(raw) }
  }

  let context: Context
  let ssl: OpaquePointer
  private let input: OpaquePointer
  private let output: OpaquePointer
  private let protocols: ProtocolList

  private final class ProtocolList {
    let wire: UnsafeMutableBufferPointer<UInt8>
    let isForced: Bool

    init(_ names: [String], isForced: Bool) {
      let bytes = names.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
      wire = .allocate(capacity: bytes.count)
      _ = wire.initialize(from: bytes)
      self.isForced = isForced
    }

    deinit { wire.deallocate() }
  }

  /// A server, or another connection of one whose tickets it accepts.
  init(_ identity: MemoryIdentity, _ options: Options = Options(), like other: Context? = nil) throws {
    protocols = ProtocolList(options.protocols, isForced: options.choosesUnoffered)
    if let other {
      context = other
    } else {
      context = Context(raw: try Self.makeContext(identity, options))
    }
    guard let ssl = SSL_new(context.raw), let input = BIO_new(BIO_s_mem()), let output = BIO_new(BIO_s_mem()) else {
      throw RealServerError("no session")
    }
    (self.ssl, self.input, self.output) = (ssl, input, output)
    SSL_set_bio(ssl, input, output)
    SSL_set_accept_state(ssl)
    if !protocols.wire.isEmpty {
      SSL_CTX_set_alpn_select_cb(context.raw, Self.choose, Unmanaged.passUnretained(protocols).toOpaque())
    }
  }

  private static let choose: SSL_CTX_alpn_select_cb_func = { _, chosen, count, offered, offeredCount, list in
    guard let list else { return SSL_TLSEXT_ERR_NOACK }
    let own = Unmanaged<ProtocolList>.fromOpaque(list).takeUnretainedValue()
    var name: UnsafeMutablePointer<UInt8>?
    let result = SSL_select_next_proto(
      &name, count, own.wire.baseAddress, UInt32(own.wire.count), offered, offeredCount)
    if own.isForced, let start = own.wire.baseAddress {
      chosen?.pointee = UnsafePointer(start + 1)
      count?.pointee = start[0]
      return SSL_TLSEXT_ERR_OK
    }
    chosen?.pointee = UnsafePointer(name)
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL
  }

  deinit {
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
    SSL_free(ssl)
  }

  private static func makeContext(_ identity: MemoryIdentity, _ options: Options) throws -> OpaquePointer {
    guard let context = SSL_CTX_new(TLS_server_method()), SSL_CTX_use_certificate(context, identity.certificate) == 1,
      SSL_CTX_use_PrivateKey(context, identity.key) == 1
    else { throw RealServerError("no context") }
    for certificate in options.chain { martlet_add_chain_certificate(context, certificate.certificate) }
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(options.versions.lowerBound), nil)
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(options.versions.upperBound), nil)
    SSL_CTX_set_session_id_context(context, [1], 1)
    if let clients = options.clients {
      X509_STORE_add_cert(SSL_CTX_get_cert_store(context), clients.certificate)
      SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
    }
    if let clients = options.laterClients {
      X509_STORE_add_cert(SSL_CTX_get_cert_store(context), clients.certificate)
    }
    if let ciphers = options.ciphers { SSL_CTX_set_cipher_list(context, ciphers) }
    return context
  }

  /// The name that the client sent (SNI).
  var requestedName: String? { SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name).map { String(cString: $0) } }

  /// The subject of the client's certificate.
  var clientName: String? { SSL_get0_peer_certificate(ssl).map { Certificate(raw: $0).subject } }

  var isHandshakeComplete: Bool { SSL_is_init_finished(ssl) == 1 }
  var isResumed: Bool { SSL_session_reused(ssl) == 1 }

  func receive(_ bytes: some Collection<UInt8>) {
    let bytes = Array(bytes)
    if !bytes.isEmpty { BIO_write(input, bytes, Int32(bytes.count)) }
  }

  /// Continues the handshake; returns the reason if it has failed.
  @discardableResult
  func handshake() -> String? {
    ERR_clear_error()
    let result = SSL_do_handshake(ssl)
    if result == 1 { return nil }
    return SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ ? nil : TLSFailure.takeReasons()
  }

  /// Asks for the client's certificate after the handshake: with TLS 1.2 by a renegotiation.
  func askForCertificate(isRequired: Bool = true) {
    ERR_clear_error()
    SSL_set_verify(ssl, SSL_VERIFY_PEER | (isRequired ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nil)
    // SSL_OP_NO_SESSION_RESUMPTION_ON_RENEGOTIATION: a session that is resumed has no certificates.
    SSL_set_options(ssl, 1 << 16)
    if SSL_version(ssl) == TLS1_3_VERSION { SSL_verify_client_post_handshake(ssl) } else { SSL_renegotiate(ssl) }
    SSL_do_handshake(ssl)
  }

  /// Has another certificate in the next handshake.
  func present(_ identity: MemoryIdentity) {
    SSL_use_certificate(ssl, identity.certificate)
    SSL_use_PrivateKey(ssl, identity.key)
  }

  func write(_ bytes: [UInt8]) {
    ERR_clear_error()
    if !bytes.isEmpty { SSL_write(ssl, bytes, Int32(bytes.count)) }
  }

  /// Decrypts the available bytes.
  func read() -> [UInt8] {
    ERR_clear_error()
    var all: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = SSL_read(ssl, &buffer, Int32(buffer.count))
      guard count > 0 else { return all }
      all += buffer.prefix(Int(count))
    }
  }

  /// Whether the client has sent close_notify.
  var sawClose: Bool { SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN != 0 }

  func close() { SSL_shutdown(ssl) }

  /// Takes the bytes to send.
  func takeOutgoing() -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(output))
    if !bytes.isEmpty { BIO_read(output, &bytes, Int32(bytes.count)) }
    return bytes
  }
}

// MARK: - A client and a server

/// One of our sessions, with a server in memory.
struct MemoryConnection {
  let client: TLSSession
  let server: MemoryServer

  /// Completes the handshake.
  ///
  /// - Parameter step: the number of bytes that the client receives at once.
  func shakeHands(step: Int = .max) throws(HTTPError) {
    for _ in 0..<20 {
      let isComplete = try client.handshake()
      server.receive(client.takeOutgoing())
      server.handshake()
      let bytes = server.takeOutgoing()
      if bytes.isEmpty {
        guard !isComplete else { return }
        continue
      }
      for start in stride(from: 0, to: bytes.count, by: min(step, bytes.count)) {
        client.receive(Array(bytes[start..<min(bytes.count, start + min(step, bytes.count))]))
        if start + step < bytes.count { _ = try client.handshake() }
      }
    }
    throw HTTPError(.other, "the handshake does not end")
  }

  /// Moves the server's output to the client, and reads it.
  func readAtClient() throws(HTTPError) -> [UInt8] {
    client.receive(server.takeOutgoing())
    return try client.readAll().bytes
  }

  /// Moves the client's output to the server, and reads it.
  func readAtServer() -> [UInt8] {
    server.receive(client.takeOutgoing())
    return server.read()
  }
}

extension TLSSession {
  func receive(_ bytes: [UInt8]) { bytes.withUnsafeBytes { receive($0) } }

  func write(_ bytes: [UInt8]) throws(HTTPError) {
    var result: Result<Void, HTTPError> = .success(())
    bytes.withUnsafeBytes { bytes in
      do throws(HTTPError) { try write(bytes) } catch { result = .failure(error) }
    }
    try result.get()
  }

  func takeOutgoing() -> [UInt8] {
    let bytes = outgoing.withUnsafeBytes { Array($0) }
    outgoing.consume(bytes.count)
    return bytes
  }

  /// Reads until it needs more or is at the end.
  func readAll(_ size: Int = 4096) throws(HTTPError) -> (bytes: [UInt8], result: ReadResult) {
    var all: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: size)
    while true {
      var outcome: Result<ReadResult, HTTPError> = .success(.needsMore)
      buffer.withUnsafeMutableBytes { bytes in
        do throws(HTTPError) { outcome = .success(try read(into: bytes)) } catch { outcome = .failure(error) }
      }
      guard case .bytes(let count) = try outcome.get() else { return (all, try outcome.get()) }
      all += buffer.prefix(count)
    }
  }
}
