import Foundation
import Martlet
import Testing

@Suite("squid as a proxy", .timeLimit(.minutes(2)), .serialized)
struct SquidTests {
  let nginx: Nginx

  init() throws { nginx = try Nginx.shared.get() }

  private func session(_ proxy: Proxy) -> HTTPSession {
    makeSession(trusting: nginx.authority.certificate, through: proxy)
  }

  @Test(arguments: Squid.Scheme.allCases)
  func plainAndTunnelledRequestsPass(scheme: Squid.Scheme) async throws {
    let squid = try Squid(scheme)
    let proxy = Proxy.http("127.0.0.1", port: squid.port)
    let session = session(
      scheme == .none ? proxy : proxy.authenticated(user: Squid.user, password: Squid.password))
    let (data, response) = try await session.data(for: HTTPRequest(.get, nginx.plain("/hello.txt")))
    let upload = HTTPRequest(.put, nginx.tls("/put"), body: .stream { pieces(of: pattern(1 << 20)) })

    #expect(String(decoding: data, as: UTF8.self) == "hello" && response.fields[.via]?.contains("squid") == true)
    #expect(try await session.text(nginx.tls("/protocol")) == "HTTP/2.0 TLSv1.3")
    #expect(try await session.status(upload) == .ok)
  }

  @Test(arguments: [Squid.Scheme.basic, .digest])
  func whoIsNotKnownDoesNotPass(scheme: Squid.Scheme) async throws {
    let squid = try Squid(scheme)
    let stranger = Proxy.http("127.0.0.1", port: squid.port)
    let mistaken = stranger.authenticated(user: Squid.user, password: "mistaken")
    for proxy in [stranger, mistaken] {
      let session = session(proxy)
      let status = try await session.status(HTTPRequest(.get, nginx.plain("/hello.txt")))
      let error = await #expect(throws: HTTPError.self) { try await session.text(nginx.tls("/hello.txt")) }

      #expect(status == .proxyAuthenticationRequired)
      #expect(error?.kind == .proxyFailed && error?.description.contains("mistaken") == false)
    }
  }

  @Test func aHostThatIsNotThereIsTheProxysAnswer() async throws {
    let squid = try Squid(.none)
    let session = session(.http("127.0.0.1", port: squid.port))
    let nowhere = try #require(URL(string: "http://127.0.0.1:\(try LocalPort.free())/"))

    #expect(try await session.status(HTTPRequest(.get, nowhere)) == .serviceUnavailable)
  }
}
