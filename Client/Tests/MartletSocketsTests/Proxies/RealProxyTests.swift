#if os(Linux)
import Glibc
import MartletEngine
@_spi(Toolkit) import MartletSemantics
import MartletTesting
import TestServers
import TestSupport
import Testing

@_spi(Toolkit) @testable import MartletSockets

/// The handshakes with real proxies, over a blocking socket: tinyproxy for HTTP, microsocks for SOCKS5.
@Suite(.timeLimit(.minutes(5)))
struct RealProxyTests {
  /// A socket whose reads give up after 20 seconds.
  private final class BlockingSocket {
    private let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)

    init(port: Int) throws {
      // seconds and microseconds; a `timeval` does not compile here in release (its module is not seen)
      var limit = [20, 0]
      setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
      let address = SocketAddress(.loopback4, port: try #require(UInt16(exactly: port)))
      try #require(address.withSockaddr { Glibc.connect(descriptor, $0, $1) } == 0)
    }

    deinit { close(descriptor) }

    func send(_ bytes: [UInt8]) {
      #expect(Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
    }

    /// Returns the available bytes; empty at the end.
    func receive() -> [UInt8] {
      var bytes = [UInt8](repeating: 0, count: 4096)
      return Array(bytes[..<max(0, recv(descriptor, &bytes, bytes.count, 0))])
    }

    /// Sends a request and returns the response up to the end of the connection.
    func response(to request: String) -> String {
      send(Array(request.utf8))
      var response: [UInt8] = []
      while case let piece = receive(), !piece.isEmpty { response += piece }
      return String(decoding: response, as: UTF8.self)
    }
  }

  /// Performs a handshake and returns the response to a request through the tunnel.
  private func response(
    from server: LoopbackServer, through proxy: RealProcess, begin: () throws(HTTPError) -> [UInt8],
    receive: (RawSpan, inout Int) throws(HTTPError) -> ProxyStep, end: () throws(HTTPError) -> ProxyStep
  ) throws -> String {
    var socket = try BlockingSocket(port: proxy.port)
    socket.send(try begin())
    while true {
      let input = socket.receive()
      var position = 0
      switch input.isEmpty ? try end() : try receive(input.span.bytes, &position) {
      case .needsMore: break
      case .send(let bytes): socket.send(bytes)
      case .beginAgain: socket.send(try begin())
      case .reconnect:
        socket = try BlockingSocket(port: proxy.port)
        socket.send(try begin())
      case .open:
        return socket.response(to: "GET / HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\nConnection: close\r\n\r\n")
      }
    }
  }

  private func connect(
    to server: LoopbackServer, through proxy: RealProcess, _ credentials: ProxyCredentials?
  ) throws -> String {
    var authentication = ProxyAuthentication(credentials)
    let target = try #require(Origin(server.url("/")))
    var handshake = ConnectHandshake(to: target, through: testProxy(credentials))
    return try response(
      from: server, through: proxy, begin: { () throws(HTTPError) in try handshake.request(&authentication) },
      receive: { input, position throws(HTTPError) in try handshake.receive(input, from: &position, &authentication) },
      end: { () throws(HTTPError) in try handshake.receiveEnd() })
  }

  private func socks(
    to server: LoopbackServer, through proxy: RealProcess, _ credentials: ProxyCredentials?
  ) throws -> String {
    var handshake = try SOCKS5Handshake(
      to: try #require(Origin(server.url("/"))), through: testProxy(credentials))
    return try response(
      from: server, through: proxy, begin: { handshake.greeting },
      receive: { input, position throws(HTTPError) in try handshake.receive(input, from: &position) },
      end: { () throws(HTTPError) in throw handshake.cutOff })
  }

  private let wrong = ProxyCredentials.password(
    Credential(user: "anna", password: "mistaken"), schemes: [.basic, .digest])

  @Test func tinyproxyOpensATunnel() throws {
    let folder = try TemporaryFolder(), port = try LocalPort.free()
    try folder.write(
      Data("Port \(port)\nListen 127.0.0.1\nTimeout 60\nMaxClients 20\nBasicAuth anna secret\n".utf8),
      to: "tinyproxy.conf")
    let proxy = try RealProcess("tinyproxy", ["-d", "-c", folder.file("tinyproxy.conf").path], port: port)
    defer { withExtendedLifetime((proxy, folder)) {} }
    let server = try LoopbackServer { _ in .text("hello") }

    #expect(try connect(to: server, through: proxy, anna()).hasSuffix("hello"))  // after a 407
    #expect(try connect(to: server, through: proxy, anna([.basic])).hasSuffix("hello"))
    // tinyproxy answers 407 if credentials are missing, and 401 if they are wrong
    for (credentials, status) in [(nil, "407"), (wrong, "401")] as [(ProxyCredentials?, String)] {
      let error = #expect(throws: HTTPError.self) { try connect(to: server, through: proxy, credentials) }
      #expect(error?.kind == .proxyFailed)
      #expect(error?.message.contains("status \(status)") == true)
      #expect(error?.body?.isEmpty == false)
    }
  }

  @Test func microsocksOpensATunnel() throws {
    let port = try LocalPort.free()
    let proxy = try RealProcess(
      "microsocks", ["-i", "127.0.0.1", "-p", "\(port)", "-u", "anna", "-P", "secret"], port: port)
    defer { withExtendedLifetime(proxy) {} }
    let server = try LoopbackServer { _ in .text("hello") }

    #expect(try socks(to: server, through: proxy, anna()).hasSuffix("hello"))
    for credentials in [nil, wrong] {
      let error = #expect(throws: HTTPError.self) { try socks(to: server, through: proxy, credentials) }
      #expect(error?.kind == .proxyFailed)
    }
    server.stop()
    let error = #expect(throws: HTTPError.self) { try socks(to: server, through: proxy, anna()) }
    #expect(error?.message.contains("the host refused the connection (code 5)") == true)
  }
}
#endif
