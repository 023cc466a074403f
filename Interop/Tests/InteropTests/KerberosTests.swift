import Foundation
import Martlet
import MartletKerberos
import MartletTesting
import Testing

/// Negotiate with Kerberos' own programs: krb5kdc, Apache with mod_auth_gssapi, squid with negotiate_kerberos_auth.
@Suite(
  "Kerberos", .timeLimit(.minutes(3)), .serialized,
  .enabled(
    if: KerberosRealm.missing.isEmpty,
    "\(KerberosRealm.missing) are missing: scripts/install-system-libraries interop"))
struct KerberosTests {
  private let realm: KerberosRealm
  private let alice: KerberosTickets

  init() throws {
    realm = try KerberosRealm.shared.get()
    alice = KerberosTickets(cache: try realm.ticket())
  }

  private func session(
    _ tickets: KerberosTickets, for scope: CredentialScope, log: Statuses = Statuses(), through proxy: Proxy = .direct,
    trusting authority: URL? = nil
  ) -> HTTPSession {
    var connection = ConnectionConfiguration(), options = SocketTransport.Options()
    connection.proxy = proxy
    connection.tls.authorities = authority
    for host in ["unknown.loop.example", "a.other.example"] { options.addresses[host] = ["127.0.0.1"] }
    var configuration = SessionConfiguration()
    configuration.options.deadline = .seconds(30)
    configuration.credentials = [NegotiateSource(for: scope, with: tickets)]
    configuration.cache = nil
    configuration.listeners = [log]
    return HTTPSession(transport: SocketTransport(connection, options: options), configuration: configuration)
  }

  private func failure(_ session: HTTPSession, _ request: HTTPRequest) async throws -> HTTPError {
    try #require(await #expect(throws: HTTPError.self) { try await session.data(for: request) })
  }

  // MARK: - Servers

  @Test func afterTheFirstChallengeATokenGoesAlong() async throws {
    let apache = try KerberosApache(realm), log = Statuses()
    let session = session(alice, for: .origin(of: apache.url("/")), log: log)

    for _ in 0..<3 {
      let (data, response) = try await session.data(for: HTTPRequest(.get, apache.url("/hello.txt")))
      #expect(String(decoding: data, as: UTF8.self) == "hello")
      #expect(response.fields["X-User"] == "alice@LOOP.EXAMPLE")
    }

    #expect(log.codes == [401, 200, 200, 200])
  }

  @Test func sixtyFourRequestsAtOnceHaveTheirOwnTokens() async throws {
    let apache = try KerberosApache(realm)
    let session = session(alice, for: .origin(of: apache.url("/")))

    let statuses = try await withThrowingTaskGroup(of: HTTPStatus.self) { group in
      for _ in 0..<64 { group.addTask { try await session.status(HTTPRequest(.get, apache.url("/hello.txt"))) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }

    #expect(statuses == Array(repeating: .ok, count: 64))
  }

  @Test func aKeytabGetsItsOwnTicket() async throws {
    let apache = try KerberosApache(realm)
    let robot = KerberosTickets(keytab: realm.keytab(of: "robot"))
    let session = session(robot, for: .origin(of: apache.url("/")))

    let (_, response) = try await session.data(for: HTTPRequest(.get, apache.url("/hello.txt")))

    #expect(response.fields["X-User"] == "robot@LOOP.EXAMPLE")
  }

  @Test func aTicketIsNotSentToAHostThatWasNotNamed() async throws {
    let apache = try KerberosApache(realm), log = Statuses()
    let session = session(alice, for: .origin(of: apache.url("/")), log: log)

    #expect(try await session.status(HTTPRequest(.get, apache.url("/away"))) == .unauthorized)
    #expect(try await session.status(HTTPRequest(.get, apache.url("/hello.txt", host: "127.0.0.1"))) == .unauthorized)
    #expect(log.codes == [302, 401, 401])
  }

  @Test(arguments: ["AAAA", "YIIBOgYGKwYBBQUCoIIBLjCCASo=", "token"])
  func aWrongProofOfTheServerIsAnError(proof: String) async throws {
    let server = try LoopbackServer { request in
      let field = request.fields[.authorization]
      let answer = proof == "token" ? field?.dropFirst(10).description ?? "" : proof
      return field == nil
        ? .text("who?", status: .unauthorized).with(.wwwAuthenticate, "Negotiate")
        : .text("welcome").with(.wwwAuthenticate, "Negotiate \(answer)")
    }
    let url = try #require(URL(string: "http://localhost:\(server.port)/"))

    let error = try await failure(session(alice, for: .origin(of: url)), HTTPRequest(.get, url))

    #expect(error.kind == .authenticationFailed)
    #expect(error.message.contains("the server's proof of its identity is wrong"), "\(error.message)")
  }

  // MARK: - Failures

  @Test(arguments: ["unknown.loop.example", "a.other.example"])
  func aServiceThatTheCentreDoesNotKnowIsNamed(host: String) async throws {
    let apache = try KerberosApache(realm), target = apache.url("/hello.txt", host: host)

    let error = try await failure(session(alice, for: .origin(of: target)), HTTPRequest(.get, target))

    #expect(error.kind == .authenticationFailed)
    #expect(error.message.hasPrefix("no Kerberos token for HTTP@\(host): "), "\(error.message)")
    #expect(error.message.contains("the key distribution centre does not know the service"), "\(error.message)")
  }

  @Test func withoutATicketTheErrorSaysWhatToDo() async throws {
    let apache = try KerberosApache(realm)
    let none = KerberosTickets(cache: "FILE:\(realm.folder.file("none").path)")

    let error = try await failure(
      session(none, for: .origin(of: apache.url("/"))), HTTPRequest(.get, apache.url("/hello.txt")))

    #expect(error.message.contains("there is no Kerberos ticket: run kinit"), "\(error.message)")
  }

  @Test func anExpiredTicketIsAnError() async throws {
    let apache = try KerberosApache(realm)
    let tickets = KerberosTickets(cache: try realm.ticket(for: "1s"))
    while (try? await tickets.token(for: "localhost")) != nil {}

    let error = try await failure(
      session(tickets, for: .origin(of: apache.url("/"))), HTTPRequest(.get, apache.url("/hello.txt")))

    #expect(error.kind == .authenticationFailed)
    #expect(error.message.contains("the Kerberos ticket has expired: run kinit again"), "\(error.message)")
  }

  @Test func aCentreThatDoesNotAnswerHoldsNoCallAfterItsDeadline() async throws {
    let apache = try KerberosApache(realm)
    let silent = KerberosTickets(keytab: realm.keytab(of: "silent"))
    var request = HTTPRequest(.get, apache.url("/hello.txt"))
    request.options.deadline = .milliseconds(500)

    let error = try await failure(session(silent, for: .origin(of: apache.url("/"))), request)

    #expect(error.kind == .deadlineExceeded)
  }

  @Test func aCancelledCallDoesNotWaitForTheCentre() async throws {
    let apache = try KerberosApache(realm), log = Statuses()
    let silent = KerberosTickets(keytab: realm.keytab(of: "silent"))
    let session = session(silent, for: .origin(of: apache.url("/")), log: log)

    let task = Task { try await session.status(HTTPRequest(.get, apache.url("/hello.txt"))) }
    while log.codes.isEmpty { await Task.yield() }
    task.cancel()
    let error = await #expect(throws: HTTPError.self) { try await task.value }

    #expect(error?.kind == .cancelled)
  }

  // MARK: - Proxies

  @Test func squidLetsTheUserThrough() async throws {
    let nginx = try Nginx.shared.get(), squid = try Squid(realm), log = Statuses()
    let server = try LoopbackServer { .text($0.fields["X-User"] ?? "nobody") }
    let proxy = Proxy.http("localhost", port: squid.port).authenticated(by: alice)
    func makeRequests() async throws {
      let session = session(
        alice, for: .origins([]), log: log, through: proxy, trusting: nginx.authority.certificate)
      for _ in 0..<2 {
        #expect(try await session.text(server.url("/")) == "alice@LOOP.EXAMPLE")
        #expect(try await session.text(nginx.tls("/hello.txt")) == "hello")
      }
    }

    try await makeRequests()

    #expect(log.codes == [200, 200, 200, 200])
    // squid logs a tunnel when it ends, with the session
    while try !squid.log().contains("CONNECT") { await Task.yield() }
    let lines = try squid.log().split(separator: "\n")
    #expect(lines.filter { $0.contains("TCP_DENIED/407") }.count == 1, "\(lines)")
    #expect(lines.contains { $0.contains("CONNECT 127.0.0.1") && $0.contains("alice@LOOP.EXAMPLE") }, "\(lines)")
  }

  @Test func aTunnelIsTheFirstToBeChallenged() async throws {
    let nginx = try Nginx.shared.get(), squid = try Squid(realm)
    let proxy = Proxy.http("localhost", port: squid.port).authenticated(by: alice)
    let session = session(alice, for: .origins([]), through: proxy, trusting: nginx.authority.certificate)

    #expect(try await session.text(nginx.tls("/hello.txt")) == "hello")
    #expect(try squid.log().contains("TCP_DENIED/407"))
  }

  @Test func aStrangerDoesNotPassSquid() async throws {
    let nginx = try Nginx.shared.get(), squid = try Squid(realm)
    let stranger = KerberosTickets(cache: "FILE:\(realm.folder.file("none").path)")
    let proxy = Proxy.http("localhost", port: squid.port)

    let error = try await failure(
      session(alice, for: .origins([]), through: proxy.authenticated(by: stranger)),
      HTTPRequest(.get, nginx.tls("/hello.txt")))
    #expect(error.kind == .authenticationFailed)
    #expect(error.message.contains("the proxy localhost port \(squid.port)"), "\(error.message)")
    #expect(error.message.contains("run kinit"), "\(error.message)")
    #expect(
      try await session(alice, for: .origins([]), through: proxy).status(HTTPRequest(.get, nginx.plain("/hello.txt")))
        == .proxyAuthenticationRequired)
  }
}
