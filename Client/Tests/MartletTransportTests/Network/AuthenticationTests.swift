import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Synchronization
import TestSupport
import TestServers
import Testing

/// Credentials over real sockets: with nginx, and with the loopback server where the request is inspected.
@Suite(.timeLimit(.minutes(5)))
struct AuthenticationTests {
  private func session(
    _ sources: any CredentialSource..., configure: (inout ConnectionConfiguration) -> Void = { _ in }
  ) -> HTTPSession {
    var connection = ConnectionConfiguration()
    connection.proxy = .direct
    configure(&connection)
    var configuration = SessionConfiguration()
    configuration.cache = nil
    configuration.credentials = sources
    return HTTPSession(transport: SocketTransport(connection), configuration: configuration)
  }

  private func wanting(_ challenge: String, _ isRight: @escaping @Sendable (String) -> Bool) throws -> LoopbackServer {
    try LoopbackServer { request in
      isRight(request.fields[.authorization] ?? "")
        ? .text("\(request.body.count)") : .status(.unauthorized, fields: [.wwwAuthenticate: challenge])
    }
  }

  @Test func nginxAcceptsAPassword() async throws {
    let nginx = try Nginx.shared.get()
    let right = Credential(user: "anna", password: "secret"), wrong = Credential(user: "anna", password: "mistaken")
    for (credential, status) in [(right, HTTPStatus.ok), (wrong, .unauthorized)] {
      let session = session(PasswordSource(credential, for: .origin(of: nginx.plain("/"))))
      let (data, response) = try await session.data(for: HTTPRequest(.get, nginx.plain("/private/hello.txt")))
      #expect(response.status == status)
      #expect((String(decoding: data, as: UTF8.self) == "hello") == (status == .ok))
    }
    let url = try #require(
      URL(string: nginx.plain("/private/hello.txt").absoluteString.replacing("//", with: "//anna:%73ecret@")))
    #expect(try await session().data(for: HTTPRequest(.get, url)).1.status == .ok)
  }

  @Test func theTransportItselfSendsNoUserInformation() async throws {
    let server = try LoopbackServer { _ in .text("in") }
    let transport = SocketTransport()
    let table = [
      ("anna:secret@", "/x?y=a@b"), ("anna:secret@", "/x@y#a@b"), ("anna@", "?@"), (":@", "/"), ("", "/a@b"),
      ("a%40b:p%2F@", "/"),
    ]
    for (user, target) in table {
      let url = url("http://\(user)127.0.0.1:\(server.port)\(target)")
      _ = try await transport.send(HTTPRequest(.get, url), in: Call())
    }

    #expect(server.requests.allSatisfy { !$0.fields.contains(.authorization) })
    #expect(server.requests.map(\.target) == ["/x?y=a@b", "/x@y", "/?@", "/", "/a@b", "/"])
    #expect(server.requests.allSatisfy { $0.fields[.host] == "127.0.0.1:\(server.port)" })
  }

  @Test func anUploadIsSentAgainWithTheDigest() async throws {
    let credential = Credential(user: "anna", password: "secret")
    let challenge = "Digest realm=r, nonce=n, qop=auth, algorithm=SHA-256"
    let server = try wanting(challenge) { $0.contains("response=") }
    let session = session(PasswordSource(credential, for: .origin(of: server.url)))
    let body = RequestBody.stream(length: 3_000_000) {
      AsyncStream { continuation in
        for _ in 0..<3 { continuation.yield(Data(count: 1_000_000)) }
        continuation.finish()
      }
    }

    let (data, _) = try await session.data(for: HTTPRequest(.put, server.url("/a%20b?c=d"), body: body))

    #expect(String(decoding: data, as: UTF8.self) == "3000000")
    let sent = try #require(server.requests.last?.fields[.authorization])
    #expect(sent.contains("uri=\"/a%20b?c=d\""))
    #expect(server.connectionCount == 1)
  }

  @Test func manyRequestsOverSocketsRefreshOnce() async throws {
    let refreshes = Mutex(0)
    let server = try wanting("Bearer error=invalid_token") { $0 == "Bearer new" }
    let session = session(
      TokenSource(AccessToken("old"), for: .origin(of: server.url)) { _ in
        refreshes.withLock { $0 += 1 }
        return AccessToken("new")
      })
    try await withThrowingTaskGroup(of: HTTPStatus.self) { group in
      for _ in 0..<100 {
        group.addTask { try await session.data(for: HTTPRequest(.get, server.url("/"))).1.status }
      }
      for try await status in group { #expect(status == .ok) }
    }
    #expect(refreshes.withLock { $0 } == 1)
  }

  @Test func aDigestProxyDoesNotReceiveThePassword() async throws {
    let proxy = try LoopbackServer { request in
      let sent = request.fields[.proxyAuthorization] ?? ""
      guard !sent.contains("response=") else { return .text("through") }
      return .status(
        .proxyAuthenticationRequired,
        fields: [.proxyAuthenticate: "Digest realm=p, nonce=n, qop=\"auth\", algorithm=SHA-256"])
    }
    let session = session {
      $0.proxy = .http("127.0.0.1", port: proxy.port).authenticated(
        user: "anna", password: "secret", schemes: [.digest])
    }
    let url = url("http://a.example/x")
    let (data, _) = try await session.data(for: HTTPRequest(.get, url))

    #expect(String(decoding: data, as: UTF8.self) == "through")
    #expect(proxy.requests.count == 2)
    #expect(proxy.requests.allSatisfy { !($0.fields[.proxyAuthorization] ?? "").hasPrefix("Basic") })
  }

  @Test func aBasicProxyGetsNoCredentialsIfBasicIsNotAllowed() async throws {
    let proxy = try LoopbackServer { _ in
      .status(.proxyAuthenticationRequired, fields: [.proxyAuthenticate: "Basic realm=p"])
    }
    let session = session {
      $0.proxy = .http("127.0.0.1", port: proxy.port).authenticated(
        user: "anna", password: "secret", schemes: [.digest])
    }
    let url = url("http://a.example/x")
    #expect(try await session.data(for: HTTPRequest(.get, url)).1.status == .proxyAuthenticationRequired)
    #expect(proxy.requests.count == 1)
    #expect(proxy.requests.allSatisfy { !$0.fields.contains(.proxyAuthorization) })
  }
}
