import Glibc
import MartletEngine
import MartletSemantics
import MartletTesting
import TestServers
import Testing

@testable import MartletSockets

/// Sessions over a socket with nginx. The program `openssl` made its certificates.
@Suite(.timeLimit(.minutes(5)))
struct TLSServerTests {
  private let nginx: Nginx

  init() throws { nginx = try Nginx.shared.get() }

  private func context(_ change: (inout TLSSettings) -> Void = { _ in }) throws -> TLSContext {
    var settings = TLSSettings()
    settings.authorities = nginx.authority.certificate
    change(&settings)
    return try TLSContext(settings)
  }

  /// The body of a response to a GET over HTTP/1.1.
  private func body(_ url: URL, _ context: TLSContext, protocols: [String] = ["http/1.1"]) throws -> [UInt8] {
    let port = try #require(url.port)
    let session = try TLSSession(context, peer: TLSPeer(host: "127.0.0.1", port: port), protocols: protocols)
    let socket = try BlockingSocket(port: port)
    while try !session.handshake() { try socket.exchange(session) }
    let head = "GET \(url.path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    try session.write(Array(head.utf8))
    var response: [UInt8] = []
    while true {
      let (bytes, result) = try session.readAll()
      response += bytes
      if result == .end(isClean: true) { break }
      try #require(result == .needsMore)
      try socket.exchange(session)
    }
    let text = String(decoding: response.prefix(1000), as: UTF8.self)
    let end = try #require(text.utf8.indices.first { text.utf8[$0...].starts(with: "\r\n\r\n".utf8) })
    return Array(response.dropFirst(text.utf8.distance(from: text.startIndex, to: end) + 4))
  }

  @Test func aPageIsRead() throws {
    let context = try context()
    #expect(try body(nginx.tls("/protocol"), context) == Array("HTTP/1.1 TLSv1.3".utf8))
    #expect(try body(nginx.old("/protocol"), context) == Array("HTTP/1.1 TLSv1.2".utf8))
    #expect(try body(nginx.tls("/zeros.bin"), context) == [UInt8](repeating: 0, count: 1_000_000))
  }

  @Test func aClientCertificateIsSent() throws {
    let folder = nginx.authority.folder
    for certificate in [
      ClientCertificate.pkcs12(file: folder.file("client.p12"), password: TestAuthority.password),
      .pem(
        certificate: folder.file("client.pem"), key: folder.file("client.locked.key"), password: TestAuthority.password),
    ] {
      let context = try context { $0.clientCertificate = certificate }
      #expect(try body(nginx.client("/certificate"), context) == Array("CN=client".utf8))
    }
  }

  @Test func aServerWithAnotherNameIsRefused() throws {
    let error = #expect(throws: HTTPError.self) { try body(nginx.stranger("/hello.txt"), context()) }
    #expect(error?.kind == .untrustedCertificate)
    #expect(error?.message.contains("is for stranger.invalid and not for 127.0.0.1") == true)
  }

  @Test func aPortForHTTPIsNamed() throws {
    let error = #expect(throws: HTTPError.self) { try body(nginx.plain("/hello.txt"), context()) }
    #expect(error?.kind == .tlsFailed)
    #expect(error?.message.contains("does not use TLS on this port") == true)
  }

  @Test func thePinOfTheProgramIsThatOfTheSession() throws {
    let pin = try nginx.authority.pin(of: "server")
    let right = try context { $0.pinnedPublicKeys = [pin] }
    #expect(try body(nginx.tls("/hello.txt"), right) == Array("hello".utf8))
    let wrong = try context { $0.pinnedPublicKeys = [String(pin.reversed())] }
    #expect(throws: HTTPError.self) { try body(nginx.tls("/hello.txt"), wrong) }
  }
}

/// A connection to 127.0.0.1 that waits for bytes.
private final class BlockingSocket {
  private let descriptor: Int32

  init(port: Int) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let isConnected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard isConnected else { throw RealServerError("port \(port) does not answer") }
  }

  deinit { close(descriptor) }

  /// Sends a session's output to the server, and receives once.
  func exchange(_ session: TLSSession) throws {
    while !session.outgoing.isEmpty {
      let count = session.outgoing.withUnsafeBytes {
        send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw RealServerError("not sent: \(errno)") }
      session.outgoing.consume(count)
    }
    var buffer = [UInt8](repeating: 0, count: 20_000)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    if count > 0 { session.receive(Array(buffer.prefix(count))) } else { session.receiveEnd() }
  }
}
