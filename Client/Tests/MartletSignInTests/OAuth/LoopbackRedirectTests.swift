import Glibc
import MartletEngine
import MartletSemantics
import MartletSignIn
import MartletSockets
@_spi(Toolkit) import MartletTesting
import Testing

/// The port of a login in a browser, with malicious programs on the same machine.
@Suite(.timeLimit(.minutes(5)))
struct LoopbackRedirectTests {
  /// Connections on which half of a request was sent.
  private final class HalfRequests {
    private let descriptors: [Int32]

    init(_ count: Int, to redirect: URL?) throws {
      let port = try #require(redirect?.port)
      descriptors = try (0..<count).map { _ in try Self.connected(to: port) }
    }

    deinit { for descriptor in descriptors { close(descriptor) } }

    /// The number of connections that the other side has not closed.
    var open: Int {
      descriptors.count { descriptor in
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT)) < 0 && errno == EAGAIN
      }
    }

    private static func connected(to port: Int) throws -> Int32 {
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = UInt16(port).bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let isConnected = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) == 0 }
      }
      let half = Array("GET /callback?code=".utf8)
      try #require(isConnected && send(descriptor, half, half.count, Int32(MSG_NOSIGNAL)) == half.count)
      return descriptor
    }
  }

  /// Logs in, after this number of half requests. Returns how many of them were open after the redirect's answer.
  private func logIn(beside count: Int) async throws -> Int {
    let server = try TokenServer { _, _ in TokenServer.token("a") }
    let open = Awaitable<Int?>(nil)
    let login = OAuthLogin.browser(server.server.url("/authorize")) { page in
      let pairs = PercentEncoding.form.pairs(in: page.query(percentEncoded: true) ?? "")
      let query = Dictionary(pairs.map { ($0.name, $0.value) }) { first, _ in first }
      let redirect = query["redirect_uri"].flatMap { URL(string: $0) }
      let others = try HalfRequests(count, to: redirect)
      let url = try #require(URL(string: "\(redirect?.absoluteString ?? "")?code=c&state=\(query["state"] ?? "")"))
      let (text, _) = try await HTTPSession(transport: SocketTransport()).text(for: HTTPRequest(.get, url))
      #expect(text.contains("You are logged in"))
      open.update { $0 = others.open }
    }
    let token = try await server.client().token(by: login)
    #expect(token.value == "a")
    return try #require(open.value)
  }

  @Test func redirectIsAnsweredWhileOtherConnectionsWait() async throws {
    #expect(try await logIn(beside: 60) == 60)
  }

  @Test func connectionsAboveTheLimitEndTheOldest() async throws {
    #expect(try await logIn(beside: 200) == 63, "the redirect itself ends the oldest of 64")
  }
}
