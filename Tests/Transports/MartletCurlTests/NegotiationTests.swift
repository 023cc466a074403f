import MartletCurl
import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

/// Negotiate (RFC 4559), which libcurl computes.
@Suite(.timeLimit(.minutes(5)))
struct NegotiationTests {
  private func session(_ hosts: Set<String>) -> HTTPSession {
    var curl = CurlConfiguration()
    curl.proxy = .direct
    curl.negotiatingHosts = hosts
    var configuration = SessionConfiguration()
    configuration.cache = nil
    return HTTPSession(transport: CurlTransport(curl), configuration: configuration)
  }

  private func server(_ challenge: String) throws -> LoopbackServer {
    try LoopbackServer { _ in .status(.unauthorized, fields: [.wwwAuthenticate: challenge]) }
  }

  @Test func theEngineAnswersDigestChallengesOfOrigins() async throws {
    let server = try server("Digest realm=r, nonce=n, qop=auth, Basic realm=r, Negotiate")
    let session = session(["other.example", ".127.0.0.1"])

    #expect(try await session.data(for: HTTPRequest(.get, server.url("/"))).1.status == .unauthorized)
    #expect(server.requests.map { $0.fields.contains(.authorization) } == [false])
  }

  @Test func withoutATicketTheCallerGetsThe401() async throws {
    let server = try server("Negotiate")
    let session = session(["127.0.0.1"])

    #expect(try await session.data(for: HTTPRequest(.get, server.url("/"))).1.status == .unauthorized)
  }

  @Test(arguments: [
    ("b\u{FC}cher.example", true), ("B\u{DC}CHER.example", true), (".b\u{FC}cher.example", false), (".EXAMPLE", true),
    ("xn--bcher-kva.example", true), ("bucher.example", false), (".", false), ("", false),
  ])
  func negotiatingHostsAreComparedAsALabels(_ name: String, _ expected: Bool) throws {
    var configuration = ConnectionConfiguration()
    configuration.negotiatingHosts = [name]
    let url = url("https://b%C3%BCcher.example/")
    #expect(configuration.negotiates(for: HTTPRequest(.get, url)) == expected)
    let below = TestSupport.url("https://www.b%C3%BCcher.example/")
    #expect(configuration.negotiates(for: HTTPRequest(.get, below)) == (name.hasPrefix(".") && name != "."))
  }
}
