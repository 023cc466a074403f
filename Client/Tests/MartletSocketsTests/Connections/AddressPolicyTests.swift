#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@testable import MartletSockets

/// The servers to which the transport connects under an ``AddressPolicy``. The servers of the tests are on 127.0.0.1.
@Suite(.timeLimit(.minutes(5)))
struct AddressPolicyTests {
  private func session(
    _ change: (inout ConnectionConfiguration) -> Void = { _ in },
    options: SocketTransport.Options = .init()
  ) -> HTTPSession {
    var connection = ConnectionConfiguration()
    connection.proxy = .direct
    connection.addressPolicy = .publicAddresses
    change(&connection)
    return HTTPSession(transport: SocketTransport(connection, options: options))
  }

  private func refusal(_ session: HTTPSession, _ url: URL) async -> String? {
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: HTTPRequest(.get, url)) }
    #expect(error?.kind == .addressRefused, "\(error.map(String.init(describing:)) ?? "")")
    #expect(error?.isUnsent == true)
    return error?.message
  }

  @Test(arguments: ["127.0.0.1", "localhost", "0x7f.1", "2130706433", "0177.0.0.1", "[::1]", "[::ffff:7f00:1]"])
  func aServersOwnMachineIsRefusedHoweverItIsWritten(_ host: String) async throws {
    let server = try LoopbackServer { _ in .text("secret") }
    let message = await refusal(session(), url("http://\(host):\(server.port)/"))
    #expect(message?.contains("it is a loopback address") == true, "\(message ?? "")")
    #expect(server.requests.isEmpty)
  }

  @Test func anAddressThatIsAllowedIsConnectedTo() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let session = session { $0.addressPolicy.allowed = ["127.0.0.0/8"] }
    #expect(try await session.data(for: HTTPRequest(.get, server.url)).0 == Data("hello".utf8))
  }

  @Test func theTargetOfARedirectIsJudged() async throws {
    let inner = try LoopbackServer { _ in .text("secret") }
    let target = "http://127.0.0.2:\(inner.port)/"
    let outer = try LoopbackServer { _ in .redirect(to: target) }
    let session = session { $0.addressPolicy.allowed = ["127.0.0.1"] }
    let message = await refusal(session, outer.url)
    #expect(message?.hasPrefix("127.0.0.2: ") == true)
    #expect(outer.requests.count == 1 && inner.requests.isEmpty)
  }

  @Test func theAddressThatIsConnectedToIsTheOneThatWasJudged() async throws {
    let server = try LoopbackServer { _ in .text("hello").closing() }
    let asked = Mutex(0)
    var options = SocketTransport.Options()
    options.resolver = { _ in
      asked.withLock { $0 += 1 }
      return ["10.0.0.1", "127.0.0.1", "169.254.169.254"]
    }
    let session = session({ $0.addressPolicy.allowed = ["127.0.0.1"] }, options: options)
    let name = url("http://rebinding.example:\(server.port)/")
    // of several addresses, only the allowed ones are tried
    #expect(try await session.data(for: HTTPRequest(.get, name)).0 == Data("hello".utf8))
    #expect(try await session.data(for: HTTPRequest(.get, name)).0 == Data("hello".utf8))
    #expect(asked.withLock { $0 } == 1)
    #expect(server.requests.count == 2)
  }

  @Test func aNameWhoseAddressesAreAllRefusedIsNotConnectedTo() async throws {
    var options = SocketTransport.Options()
    options.resolver = { _ in ["10.0.0.1", "fd00:ec2::254"] }
    let message = await refusal(session(options: options), url("http://inner.example/"))
    let expected =
      "inner.example: the address policy allows none of its addresses: 10.0.0.1:80: it is a private use address; "
      + "[fd00:ec2::254]:80: it is a cloud's metadata service"
    #expect(message == expected)
  }

  @Test func overridesAndUnixSocketsAreJudgedToo() async throws {
    var options = SocketTransport.Options()
    options.addresses = ["a.example": ["192.168.1.1"]]
    #expect(
      await refusal(session(options: options), url("http://a.example/"))?.contains("a private use address") == true)
    options = SocketTransport.Options()
    options.unixSocket = "/run/none"
    #expect(
      await refusal(session(options: options), url("http://a.example/"))?.contains("a unix socket has no IP address")
        == true)
  }

  @Test func portAndSchemeAreJudgedBeforeAnythingIsOpened() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let session = session {
      $0.addressPolicy = .any
      $0.addressPolicy.ports = [443]
    }
    #expect(await refusal(session, server.url)?.contains("the port \(server.port) is not allowed") == true)
    let secure = self.session { $0.addressPolicy.schemes = ["https"] }
    #expect(await refusal(secure, server.url)?.contains("the scheme http is not allowed") == true)
    #expect(server.requests.isEmpty)
  }

  @Test func aProxyIsUsedOnlyIfItIsTrusted() async throws {
    let proxy = try LoopbackServer { request in .text("by proxy") }
    let target = url("http://a.example/")
    let strict = session { $0.proxy = .http("127.0.0.1", port: proxy.port) }
    #expect(await refusal(strict, target)?.contains("set trustsProxies") == true)
    #expect(proxy.requests.isEmpty)
    let trusting = session {
      $0.proxy = .http("127.0.0.1", port: proxy.port)
      $0.addressPolicy.trustsProxies = true
    }
    #expect(try await trusting.data(for: HTTPRequest(.get, target)).0 == Data("by proxy".utf8))
    #expect(await refusal(trusting, url("http://169.254.169.254/"))?.contains("metadata") == true)
    #expect(proxy.requests.count == 1)
  }

  @Test func aConnectionIsNotOpenedAheadToARefusedServer() async throws {
    var connection = ConnectionConfiguration()
    connection.addressPolicy = .publicAddresses
    connection.proxy = .direct
    let error = await #expect(throws: HTTPError.self) {
      try await SocketTransport(connection).preconnect(to: url("http://127.0.0.1/"))
    }
    #expect(error?.kind == .addressRefused)
  }

  @Test func aPolicyThatIsNotValidIsNamed() async throws {
    let session = session { $0.addressPolicy.refused = ["10/8"] }
    let error = await #expect(throws: HTTPError.self) {
      try await session.data(for: HTTPRequest(.get, url("http://a.example/")))
    }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains("addressPolicy.refused has '10/8'") == true)
  }
}
#endif
