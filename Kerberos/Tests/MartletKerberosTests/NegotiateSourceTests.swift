import MartletEngine
import MartletKerberos
import MartletSemantics
import MartletSockets
import MartletTesting
import TestSupport
import Testing

/// A source without a ticket. `Interop` tests one with a ticket, with a key distribution centre.
@Suite(.timeLimit(.minutes(5)))
struct NegotiateSourceTests {
  private let folder: TemporaryFolder
  private let tickets: KerberosTickets

  init() throws {
    folder = try TemporaryFolder()
    tickets = KerberosTickets(cache: "FILE:\(folder.file("none").path)")
  }

  private func session(_ scope: CredentialScope, _ change: (inout SessionConfiguration) -> Void = { _ in })
    -> HTTPSession
  {
    var connection = ConnectionConfiguration(), configuration = SessionConfiguration()
    connection.proxy = .direct
    configuration.credentials = [NegotiateSource(for: scope, with: tickets)]
    configuration.cache = nil
    change(&configuration)
    return HTTPSession(transport: SocketTransport(connection), configuration: configuration)
  }

  private func server(asking challenge: String) throws -> LoopbackServer {
    try LoopbackServer { _ in .text("who?", status: .unauthorized).with(.wwwAuthenticate, challenge) }
  }

  @Test(arguments: ["Negotiate", "negotiate", "Basic realm=\"x\", NEGOTIATE"])
  func withoutATicketTheErrorSaysWhatToDo(challenge: String) async throws {
    let server = try server(asking: challenge)

    let error = try #require(
      await #expect(throws: HTTPError.self) {
        try await session(.origin(of: server.url)).data(for: HTTPRequest(.get, server.url))
      })

    #expect(error.kind == .authenticationFailed)
    #expect(error.message.hasPrefix("no Kerberos token for HTTP@127.0.0.1: there is no Kerberos ticket: run kinit"))
    #expect(error.message.contains(folder.file("none").path), "\(error.message)")
    #expect(server.requests.map { $0.fields[.authorization] } == [nil])
  }

  @Test(arguments: ["Basic realm=\"x\"", "Kerberos", "Digest realm=\"Negotiate\", nonce=\"n\""])
  func anotherChallengeIsTheCallersAffair(challenge: String) async throws {
    let server = try server(asking: challenge)

    let (_, response) = try await session(.origin(of: server.url)).data(for: HTTPRequest(.get, server.url))

    #expect(response.status == .unauthorized)
    #expect(server.requests.count == 1)
  }

  @Test func anOriginThatWasNotNamedGetsNothing() async throws {
    let named = try server(asking: "Negotiate"), other = try server(asking: "Negotiate")
    let redirecting = try LoopbackServer { _ in .redirect(to: other.url.absoluteString) }
    let session = session(.origins(Set([named, redirecting].compactMap { Origin($0.url) })))

    for url in [other.url, redirecting.url] {
      #expect(try await session.data(for: HTTPRequest(.get, url)).1.status == .unauthorized)
    }

    #expect(other.requests.map { $0.fields[.authorization] } == [nil, nil])
  }

  @Test func aRequestWithItsOwnAuthorizationIsLeftAlone() async throws {
    let server = try server(asking: "Negotiate")

    let (_, response) = try await session(.origin(of: server.url))
      .data(for: HTTPRequest(.get, server.url, fields: [.authorization: "Bearer abc"]))

    #expect(response.status == .unauthorized)
    #expect(server.requests.map { $0.fields[.authorization] } == ["Bearer abc"])
  }

  @Test func aProxysTokenNeedsATicketToo() async throws {
    let proxy = try LoopbackServer { _ in
      .text("who?", status: .proxyAuthenticationRequired).with(.proxyAuthenticate, "Negotiate")
    }
    var connection = ConnectionConfiguration()
    connection.proxy = .http("127.0.0.1", port: proxy.port).authenticated(by: tickets)
    let session = HTTPSession(transport: SocketTransport(connection))

    for target in ["http://a.example/", "https://a.example/"] {
      let error = try #require(
        await #expect(throws: HTTPError.self) { try await session.data(for: HTTPRequest(.get, url(target))) })
      #expect(error.kind == .authenticationFailed)
      #expect(error.message.contains("the proxy 127.0.0.1 port \(proxy.port)"), "\(error.message)")
      #expect(error.message.contains("run kinit"), "\(error.message)")
    }
  }

  @Test func aKeytabThatIsMissingIsNamed() async throws {
    let keytab = folder.file("none.keytab").path
    let error = try #require(
      await #expect(throws: HTTPError.self) { try await KerberosTickets(keytab: keytab).token(for: "a.example") })

    #expect(error.kind == .authenticationFailed)
    #expect(error.message.contains("give the program a keytab"), "\(error.message)")
    #expect(error.message.hasSuffix("; the tickets are those of \(keytab))"), "\(error.message)")
  }

  @Test func aCancelledTaskGetsNoToken() async throws {
    let task = Task { [tickets] in
      withUnsafeCurrentTask { $0?.cancel() }
      return try await tickets.token(for: "a.example")
    }

    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func noDescriptionShowsMoreThanTheType() {
    let values: [(any Sendable, String)] = [
      (NegotiateSource(for: .any, with: tickets), "MartletKerberos.NegotiateSource"),
      (tickets, "MartletKerberos.KerberosTickets"),
    ]
    for (value, type) in values {
      #expect(String(describing: value) == type)
      #expect(String(reflecting: value) == type)
    }
  }
}
