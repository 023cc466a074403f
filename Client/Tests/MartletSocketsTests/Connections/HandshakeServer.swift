#if os(Linux)
import Glibc
import MartletEngine
import MartletSemantics
import MartletTesting
import TestServers

@testable import MartletSockets

/// A server with TLS for one connection, whose steps a test takes. Nothing blocks.
final class HandshakeServer {
  let url: URL
  /// The file with the authority of its certificate.
  let authority: URL
  private let trust: MemoryTrust
  private let session: MemoryServer
  private let listener: Int32
  private var connection: Int32 = -1
  /// The server's part of the handshake.
  private var answer: [UInt8] = []
  private var request: [UInt8] = []

  /// A server with this version of TLS, or one that the client prefers.
  init(_ version: Int32? = nil) throws {
    trust = try MemoryTrust()
    authority = trust.folder.file("authority.pem")
    let client = try trust.authority.server(nil, subject: "client", purpose: "clientAuth")
    try trust.folder.write(client.pem, to: "client.pem")
    try trust.folder.write(client.keyPEM(), to: "client.key")
    var options = MemoryServer.Options()
    options.laterClients = trust.authority.identity
    if let version { options.versions = version...version }
    session = try MemoryServer(trust.server, options)
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 8) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    self.listener = listener
    guard isListening, let url = URL(string: "https://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/") else {
      throw RealServerError("no port")
    }
    self.url = url
  }

  deinit {
    close(listener)
    if connection >= 0 { close(connection) }
  }

  /// A certificate that the server accepts.
  var clientCertificate: ClientCertificate {
    .pem(certificate: trust.folder.file("client.pem"), key: trust.folder.file("client.key"))
  }

  /// Accepts the connection. Returns whether there is one.
  func accept() -> Bool {
    if connection < 0 { connection = Glibc.accept(listener, nil, nil) }
    return connection >= 0
  }

  /// Receives what has arrived; nil if there is nothing.
  private func receive() -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    let count = recv(connection, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    return count < 0 ? nil : Array(buffer.prefix(count))
  }

  /// Whether the client has closed the connection.
  func hasEnded() -> Bool { receive() == [] }

  /// Receives the client's first message, and makes the answer. Returns whether it has arrived.
  func receivesHello() throws -> Bool {
    guard let bytes = receive() else { return false }
    session.receive(bytes)
    if let reason = session.handshake() { throw RealServerError(reason) }
    answer = session.takeOutgoing()
    return !answer.isEmpty
  }

  var half: ArraySlice<UInt8> { answer[..<(answer.count / 2)] }
  var rest: ArraySlice<UInt8> { answer[(answer.count / 2)...] }

  func send(_ bytes: some Collection<UInt8>) throws {
    let bytes = Array(bytes)
    guard Glibc.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
      throw RealServerError("not sent")
    }
  }

  /// Sends no more.
  func finish() { shutdown(connection, Int32(SHUT_WR)) }

  /// Resets the connection.
  func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(connection, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    close(connection)
    connection = -1
  }

  /// Completes the handshake. Returns whether the request has arrived.
  func receivesRequest() throws -> Bool {
    try receiveContent()
    return request.suffix(4) == [13, 10, 13, 10]
  }

  private func receiveContent() throws {
    guard let bytes = receive() else { return }
    session.receive(bytes)
    if let reason = session.handshake() { throw RealServerError(reason) }
    request += session.read()
    try send(session.takeOutgoing())
  }

  /// Asks for a client certificate after the handshake.
  func askForCertificate() throws {
    session.askForCertificate()
    try send(session.takeOutgoing())
  }

  /// Receives what has arrived. Returns the name in the client's certificate, once it has arrived.
  func receivedName() throws -> String? {
    try receiveContent()
    return session.clientName
  }

  /// Receives what has arrived. Returns the number of all bytes of the request.
  func receivedCount() throws -> Int {
    try receiveContent()
    return request.count
  }

  func respond(_ text: String) throws {
    session.write(Array("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)".utf8))
    try send(session.takeOutgoing())
  }
}
#endif
