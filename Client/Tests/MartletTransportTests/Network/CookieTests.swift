import MartletEngine
@_spi(Toolkit) import MartletSemantics
import MartletSockets
import MartletTesting
import Testing

/// Cookies over sockets. The server stands in as a proxy, so that it can be any host.
@Suite(.timeLimit(.minutes(5)))
struct CookieTests {
  private let configuration = SessionConfiguration()

  private func session(through server: LoopbackServer) -> HTTPSession {
    var connection = ConnectionConfiguration()
    connection.proxy = .http("127.0.0.1", port: server.port)
    return HTTPSession(transport: SocketTransport(connection), configuration: configuration)
  }

  private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

  @Test func cookiesAreSentToTheirHostsOnly() async throws {
    let server = try LoopbackServer { request in
      guard request.path == "/set" else { return .text(request.fields[values: .cookie].joined(separator: "|")) }
      return .text("").with(.setCookie, "host=1").with(.setCookie, "site=\"é\"; Domain=example.com; Path=/")
        .with(.setCookie, "deep=3; Path=/a/b").with(.setCookie, "far=4; Domain=example.org")
        .with(.setCookie, "secure=5; Secure")
    }
    let session = session(through: server)
    func sent(_ text: String) async throws -> String {
      String(decoding: try await session.data(for: HTTPRequest(.get, try url(text))).0, as: UTF8.self)
    }

    _ = try await sent("http://www.example.com/set")

    #expect(try await sent("http://www.example.com/") == "host=1; site=\"é\"")
    #expect(try await sent("http://www.example.com/a/b/c?d") == "deep=3; host=1; site=\"é\"")
    #expect(try await sent("http://other.example.com/a/b") == "site=\"é\"")
    #expect(try await sent("http://example.org/") == "")
  }

  @Test func redirectsCarryTheCookiesSetOnTheWay() async throws {
    let server = try LoopbackServer { request in
      switch request.path {
      case "/1": .redirect(to: "/2").with(.setCookie, "a=1")
      case "/2": .redirect(to: "http://b.example.com/3").with(.setCookie, "b=2; Domain=example.com")
      case "/3": .redirect(to: "http://example.org/4").with(.setCookie, "c=3")
      default: .text("")
      }
    }
    _ = try await session(through: server).data(for: HTTPRequest(.get, try url("http://a.example.com/1")))
    #expect(server.requests.map { $0.fields[values: .cookie] } == [[], ["a=1"], ["b=2"], []])
  }

  // RFC 6265bis §5.6: the first step.
  @Test(arguments: [UInt8](1...31).filter { ![9, 10, 13].contains($0) } + [127])
  func aCookieWithAControlCharacterIsRefused(_ code: UInt8) async throws {
    let server = try LoopbackServer { _ in
      .raw(
        Data("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: a=1\r\nSet-Cookie: b=x".utf8) + [code]
          + Data("y\r\nSet-Cookie: c=3; Path=/".utf8) + [code] + Data("\r\nSet-Cookie: d=4\r\n\r\n".utf8))
    }
    let transport = SocketTransport()
    let (_, response) = try await HTTPSession(transport: transport, configuration: configuration)
      .data(for: HTTPRequest(.get, server.url("/")))
    #expect(response.status == .ok)
    #expect(try await configuration.cookies?.cookieHeader(for: server.url("/")) == "a=1; d=4")
  }

  @Test func earlyHintsAndTrailersSetNoCookies() async throws {
    let server = try LoopbackServer { _ in
      .raw(
        "HTTP/1.1 103 Early Hints\r\nSet-Cookie: a=1\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
          + "Set-Cookie: b=2\r\n\r\n1\r\nx\r\n0\r\nSet-Cookie: c=3\r\n\r\n")
    }
    _ = try await HTTPSession(transport: SocketTransport(), configuration: configuration)
      .data(for: HTTPRequest(.get, server.url("/")))
    #expect(try await configuration.cookies?.allCookies().map(\.name) == ["b"])
  }

  @Test func bytesThatAreNotUTF8AreSentUnchanged() async throws {
    let server = try LoopbackServer { request in
      guard request.path == "/set" else { return .text("") }
      return .raw(
        Data("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: a=".utf8) + [0xE9]
          + Data("\r\nSet-Cookie: b=é\r\n\r\n".utf8))
    }
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)
    _ = try await session.data(for: HTTPRequest(.get, server.url("/set")))
    _ = try await session.data(for: HTTPRequest(.get, server.url("/")))
    // the server keeps the bytes of a cookie, as the session does
    let bytes = Data("a=".utf8) + [0xE9] + Data("; b=é".utf8)
    #expect(server.requests.last?.fields[values: .cookie] == [FieldOctets.text(bytes)])
  }
}
