import Foundation
import Martlet
import Synchronization
import Testing

@Suite("Credentials", .timeLimit(.minutes(2)), .serialized)
struct AuthenticationTests {
  let server: Httpbin

  init() throws { server = try Httpbin.shared.get() }

  private func session(_ sources: any CredentialSource..., log: Statuses = Statuses()) -> HTTPSession {
    makeSession {
      $0.credentials = sources
      $0.listeners = [log]
    }
  }

  private var password: PasswordSource { PasswordSource(Credential(user: "anna", password: "s&c ret"), for: .any) }

  @Test func basicIsAnsweredOnceAndThenGivenUnasked() async throws {
    let log = Statuses()
    let session = session(password, log: log)
    let request = HTTPRequest(.get, server("/basic-auth/anna/s&c%20ret"))
    #expect(try await session.echo(request).authenticated == true)
    #expect(try await session.echo(request).user == "anna")

    #expect(log.codes == [401, 200, 200])
  }

  @Test func aWrongPasswordIsTheCallersAffair() async throws {
    let log = Statuses()

    #expect(
      try await session(password, log: log).status(HTTPRequest(.get, server("/basic-auth/anna/other")))
        == .unauthorized)
    #expect(log.codes == [401, 401])
  }

  @Test func whoDoesNotAskIsToldFromTheStart() async throws {
    let source = PasswordSource(Credential(user: "anna", password: "secret"), for: .any, offer: .preemptive)

    #expect(
      try await session(source).status(HTTPRequest(.get, server("/hidden-basic-auth/anna/secret"))) == .ok)
  }

  @Test func digestWithProtectionOfTheBodyIsAnswered() async throws {
    let source = PasswordSource(Credential(user: "anna", password: "secret"), for: .any)
    let target = server("/digest-auth/auth-int/anna/secret/MD5")

    #expect(try await session(source).echo(HTTPRequest(.get, target)).authenticated == true)
  }

  @Test(arguments: ["MD5", "SHA-256"])
  func digestIsAnswered(algorithm: String) async throws {
    let target = server("/digest-auth/auth/anna/secret/\(algorithm)")
    let source = PasswordSource(Credential(user: "anna", password: "secret"), for: .any)

    #expect(try await session(source).echo(HTTPRequest(.get, target)).authenticated == true)
  }

  @Test func aStaleNonceIsRenewed() async throws {
    let log = Statuses()
    let source = PasswordSource(Credential(user: "anna", password: "secret"), for: .any)
    let session = session(source, log: log)
    let request = HTTPRequest(.get, server("/digest-auth/auth/anna/secret/SHA-256/2"))
    for _ in 0..<4 { #expect(try await session.status(request) == .ok) }

    #expect(log.codes.filter { $0 == 200 }.count == 4 && log.codes.filter { $0 == 401 }.count > 1)
  }

  @Test func theUserOfTheURLIsKnown() async throws {
    let url = try #require(URL(string: "http://anna:secret@127.0.0.1:\(server.port)/basic-auth/anna/secret"))

    #expect(try await session().status(HTTPRequest(.get, url)) == .ok)
  }

  @Test func aTokenGoesAlong() async throws {
    let tokens = TokenSource(AccessToken("abc.def"), for: .any)

    #expect(try await session(tokens).echo(HTTPRequest(.get, server("/bearer"))).token == "abc.def")
    #expect(try await session().status(HTTPRequest(.get, server("/bearer"))) == .unauthorized)
  }

  @Test(arguments: ["/basic/secret.txt", "/digest/secret.txt"])
  func apacheLetsWhoIsKnownIn(path: String) async throws {
    let apache = try Apache.shared.get()
    let log = Statuses()
    let known = PasswordSource(Credential(user: Apache.user, password: Apache.password), for: .any)
    let session = session(known, log: log)

    #expect(try await session.text(apache.plain(path)) == "secret")
    #expect(try await session.text(apache.plain(path + "?again")) == "secret")
    #expect(log.codes == [401, 200, 200])
    let stranger = PasswordSource(Credential(user: Apache.user, password: "mistaken"), for: .any)
    #expect(try await self.session(stranger).status(HTTPRequest(.get, apache.plain(path))) == .unauthorized)
  }

  @Test func aBodyIsSentAgainAfterTheQuestion() async throws {
    let apache = try Apache.shared.get()
    let known = PasswordSource(Credential(user: Apache.user, password: Apache.password), for: .any)
    let request = HTTPRequest(
      .post, apache.plain("/digest/secret.txt"), body: .stream { pieces(of: pattern(300_000)) })

    #expect(try await session(known).status(request) == .ok)
  }
}

/// The statuses of all attempts.
final class Statuses: EventListener {
  private let seen = Mutex<[Int]>([])
  var codes: [Int] { seen.withLock { $0 } }

  func receive(_ event: Event, in call: Call) {
    if case .response(let head, _) = event { seen.withLock { $0.append(head.status.code) } }
  }
}
