import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestServers
import Testing

/// The caller's check of servers, with nginx and an authority for this run only.
@Suite(.timeLimit(.minutes(5)))
struct ServerTrustTests {
  let nginx: Nginx

  private struct Refused: Error {}

  init() throws { nginx = try Nginx.shared.get() }

  private func session(
    _ change: (inout ConnectionConfiguration) -> Void = { _ in }, check: @escaping ServerTrust.Check
  ) -> HTTPSession {
    var connection = ConnectionConfiguration()
    connection.tls.authorities = nginx.authority.certificate
    connection.tls.serverTrustCheck = check
    change(&connection)
    return HTTPSession.uncached(connection)
  }

  private func text(_ request: HTTPRequest, _ session: HTTPSession) async throws(HTTPError) -> String {
    String(decoding: try await session.data(for: request).0, as: UTF8.self)
  }

  @Test(arguments: [ConnectionConfiguration.Versions.automatic, .http1])
  func aServerIsCheckedBeforeTheFirstRequest(versions: ConnectionConfiguration.Versions) async throws {
    let seen = Mutex<[ServerTrust]>([])
    let session = session {
      $0.versions = versions
    } check: { trust, _ in
      seen.withLock { $0.append(trust) }
    }

    for _ in 0..<3 { #expect(try await text(HTTPRequest(.get, nginx.tls("/hello.txt")), session) == "hello") }

    let trusts = seen.withLock { $0 }
    #expect(trusts.count == 1)
    #expect(trusts.first?.isTrusted == true)
    #expect(trusts.first?.host == "127.0.0.1")
    #expect(trusts.first?.port == nginx.tls("/").port)
    #expect(trusts.first?.publicKeyPins == [try nginx.authority.pin(of: "server")])
  }

  @Test func theSameCertificateIsNotCheckedAgainOnAnotherConnection() async throws {
    let count = Mutex(0)
    let session = session { connection in
      connection.versions = .http1
      connection.idleLifetime = .zero
    } check: { _, _ in
      count.withLock { $0 += 1 }
    }

    for _ in 0..<3 { _ = try await text(HTTPRequest(.get, nginx.tls("/hello.txt")), session) }

    #expect(count.withLock { $0 } == 1)
  }

  @Test func anotherServerIsChecked() async throws {
    let ports = Mutex<[Int]>([])
    let session = session { trust, _ in ports.withLock { $0.append(trust.port) } }

    for url in [nginx.tls("/hello.txt"), nginx.brief("/hello.txt"), nginx.tls("/hello.txt")] {
      _ = try await text(HTTPRequest(.get, url), session)
    }

    #expect(ports.withLock { $0 } == [nginx.tls("/").port, nginx.brief("/").port].compactMap { $0 })
  }

  @Test(arguments: [ConnectionConfiguration.Versions.automatic, .http1])
  func aRefusalByTheCheckIsAnError(versions: ConnectionConfiguration.Versions) async throws {
    let session = session {
      $0.versions = versions
    } check: { _, _ in
      throw Refused()
    }

    let error = await #expect(throws: HTTPError.self) { try await text(HTTPRequest(.get, nginx.tls("/")), session) }

    #expect(error?.kind == .untrustedCertificate)
    #expect(error?.underlying is Refused)
    #expect(error?.phase == .securing)
  }

  @Test func manyRequestsOverOneConnectionAreAllSent() async throws {
    let session = session { _, _ in }
    let texts = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<64 { group.addTask { try await text(HTTPRequest(.get, nginx.tls("/hello.txt")), session) } }
      return try await group.reduce(into: [String]()) { $0.append($1) }
    }
    #expect(texts == Array(repeating: "hello", count: 64))
  }

  @Test(arguments: [ConnectionConfiguration.Versions.automatic, .http1])
  func aSingleUseBodyIsSentAfterTheCheck(versions: ConnectionConfiguration.Versions) async throws {
    let session = session {
      $0.versions = versions
    } check: { _, _ in
    }
    let (chunks, continuation) = AsyncStream.makeStream(of: Data.self)
    continuation.yield(Data("once".utf8))
    continuation.finish()
    var request = HTTPRequest(.post, nginx.tls("/sink"))
    request.body = .singleUse(length: 4, chunks)

    let (_, response) = try await session.data(for: request)

    #expect(response.status == .ok)
  }

  @Test func aServerThatTheSystemRefusesFailsDespiteTheCheck() async throws {
    let stranger = try TestAuthority()
    let seen = Mutex<[ServerTrust]>([])
    let session = session {
      $0.tls.authorities = stranger.certificate
    } check: { trust, _ in
      seen.withLock { $0.append(trust) }
    }

    let error = await #expect(throws: HTTPError.self) { try await text(HTTPRequest(.get, nginx.tls("/")), session) }

    #expect(error?.kind == .untrustedCertificate)
    #expect(error?.underlying == nil)
    #expect(seen.withLock { $0 }.map(\.isTrusted) == [false])
    #expect(seen.withLock { $0 }.first?.refusal?.contains("issuer") == true)
  }

  /// A server that presents a longer chain with each connection.
  private static let changing = #"""
    import socket, ssl, sys
    leaf, key, authority = (open(name).read() for name in ("server.pem", "server.key", "ca.pem"))
    contexts = []
    for number in range(20):
      with open(f"chain{number}.pem", "w") as file: file.write(leaf + authority * number + key)
      contexts.append(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
      contexts[-1].load_cert_chain(f"chain{number}.pem")
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    while True:
      connection = listener.accept()[0]
      try:
        with contexts.pop(0).wrap_socket(connection, server_side=True) as stream:
          if stream.recv(9999): stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
      except OSError: connection.close()
    """#

  @Test func aServerWithAnotherChainForEachConnectionIsCheckedForEach() async throws {
    let port = try LocalPort.free()
    let folder = nginx.authority.folder.url.path
    let server = try RealProcess(
      "python3", ["-c", "import os; os.chdir('\(folder)')\n" + Self.changing, "\(port)"], port: port)
    let seen = Mutex<[Int]>([])
    let session = session { trust, _ in seen.withLock { $0.append(trust.certificates.count) } }
    let request = HTTPRequest(.get, try #require(URL(string: "https://127.0.0.1:\(port)/")))

    for number in 1...5 {
      #expect(try await text(request, session) == "hello")
      #expect(seen.withLock { $0.count } == number)
    }
    #expect(Set(seen.withLock { $0 }).count == 5)
    withExtendedLifetime(server) {}
  }

  @Test func aCancelledCheckCancelsTheRequest() async throws {
    let session = session { _, _ in throw CancellationError() }
    let error = await #expect(throws: HTTPError.self) { try await text(HTTPRequest(.get, nginx.tls("/")), session) }
    #expect(error?.isCancelled == true)
  }

  @Test func withoutTLSTheCheckIsNotCalled() async throws {
    let session = session { _, _ in throw Refused() }
    #expect(try await text(HTTPRequest(.get, nginx.plain("/hello.txt")), session) == "hello")
  }
}
