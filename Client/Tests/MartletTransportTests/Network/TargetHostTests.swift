import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import TestSupport
import Testing

/// The host of a request, as the server receives it.
@Suite(.timeLimit(.minutes(5)))
struct TargetHostTests {
  /// Returns a session that uses the server as the proxy of its plain requests.
  private func session(through server: LoopbackServer) -> HTTPSession {
    var connection = ConnectionConfiguration()
    connection.proxy = .http("127.0.0.1", port: server.port)
    return HTTPSession.uncached(connection)
  }

  @Test func aHostNameAfterAnAddressIsSentAsAName() async throws {
    let proxy = try LoopbackServer { _ in .text("hello") }
    let session = session(through: proxy)
    for text in [
      "http://[::1]/", "http://name.example/", "http://[::1]:81/", "http://name.example:82/", "http://Name.example/",
    ] {
      _ = try await session.data(for: HTTPRequest(.get, try #require(URL(string: text))))
    }

    #expect(
      proxy.requests.map { $0.fields[.host] } == [
        "[::1]", "name.example", "[::1]:81", "name.example:82", "name.example",
      ])
    #expect(proxy.connectionCount == 1)
  }

  @Test func aHostFieldOfTheCallerIsSent() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    _ = try await HTTPSession.uncached().data(for: HTTPRequest(.get, server.url, fields: [.host: "other.example"]))
    #expect(server.requests[0].fields[values: .host] == ["other.example"])
  }

  @Test(arguments: [
    "http://bücher.example/there", "http://b%C3%BCcher.example/there", "http://xn--bcher-kva.example/there",
  ])
  func aRedirectToANonASCIIHostIsFollowed(_ location: String) async throws {
    let proxy = try LoopbackServer { request in
      guard request.fields[.host] == "start.example" else { return .text("\(request.target)") }
      return .raw("HTTP/1.1 302 Found\r\nLocation: \(location)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    }

    let (data, response) = try await session(through: proxy).data(
      for: HTTPRequest(.get, url("http://start.example/")))

    #expect(String(decoding: data, as: UTF8.self) == "http://xn--bcher-kva.example/there")
    #expect(proxy.requests.map { $0.fields[.host] } == ["start.example", "xn--bcher-kva.example"])
    #expect(response.url.absoluteString == "http://xn--bcher-kva.example/there")
  }

  @Test(arguments: ["http://a%7Fb/", "http://a:0/", "http://a%0Ab/", "http://a:65536/", "http://a%20b/"])
  func aURLWithoutAnOriginIsNotSent(_ text: String) async throws {
    let proxy = try LoopbackServer { _ in .text("hello") }
    let url = try #require(URL(string: text))
    var connection = ConnectionConfiguration()
    connection.proxy = .http("127.0.0.1", port: proxy.port)

    for send in [
      { _ = try await session(through: proxy).data(for: HTTPRequest(.get, url)) },
      { _ = try await SocketTransport(connection).send(HTTPRequest(.get, url), in: Call()) },
    ] as [() async throws -> Void] {
      let error = await #expect(throws: HTTPError.self) { try await send() }
      #expect(error?.kind == .invalidRequest)
    }
    #expect(proxy.requests.isEmpty)
  }
}
