import CallDoubles
import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@Suite("User information in URLs", .timeLimit(.minutes(5)))
struct AuthenticationInterceptorTests {
  private func session(_ transport: any Transport, _ sources: any CredentialSource...) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.credentials = sources
    return HTTPSession(transport: transport, configuration: configuration)
  }

  @Test func itAnswersAChallengeAndIsNotPartOfTheURL() async throws {
    let server = PasswordServer(.basic, Credential(user: "a@b", password: "s:t/"))
    let request = HTTPRequest(.get, url("http://a%40b:s%3At%2F@a.example/x?y"))

    let (_, response) = try await server.session().data(for: request)

    #expect(response.status == .ok)
    #expect(server.schemes == ["-", "Basic"])
    #expect(server.requests.map(\.url.absoluteString) == ["http://a.example/x?y", "http://a.example/x?y"])
    #expect(response.url.absoluteString == "http://a.example/x?y")
    #expect(response.history.map(\.request.url.absoluteString) == ["http://a.example/x?y"])
  }

  @Test func itIsNotUsedForRequestsWithoutIt() async throws {
    let server = PasswordServer(.basic)
    let session = server.session()

    let first = try await session.data(for: HTTPRequest(.get, url("http://anna:secret@a.example/"))).1
    let second = try await session.data(for: HTTPRequest(.get, url("http://a.example/"))).1

    #expect([first.status, second.status] == [.ok, .unauthorized])
  }

  @Test func itIsUsedBeforeTheSessionsSources() async throws {
    let server = PasswordServer(.basic)
    let other = PasswordSource(Credential(user: "other", password: "x"), for: .any)

    let (_, response) = try await server.session(other).data(
      for: HTTPRequest(.get, url("http://anna:secret@a.example/")))

    #expect(response.status == .ok)
    #expect(server.requests.count == 2)
  }

  @Test func itIsUsedBeforeSourcesThatDoNotWaitForAChallenge() async throws {
    let other = Credential(user: "other", password: "x")
    let netrc = try Netrc(parsing: "machine a.example login other password x")
    let sources: [any CredentialSource] = [
      PasswordSource(other, for: .any, offer: .preemptive), PasswordSource(netrc, offer: .preemptive),
      TokenSource(AccessToken("t"), for: .any), TokenSource(for: .any) { _ in AccessToken("t") },
    ]
    for source in sources {
      let server = PasswordServer(.basic)
      let (_, response) = try await server.session(source).data(
        for: HTTPRequest(.get, url("http://anna:secret@a.example/")))

      #expect(response.status == .ok)
      #expect(server.schemes == ["-", "Basic"])
    }
  }

  /// What is sent to `http://user@a.example/` and refused each time, by an entry for each of two logins.
  @Test(arguments: [
    ("bob", PasswordSource.Offer.preemptive, ["bob:b"]), ("bob", .onChallenge, ["-", "bob:b"]),
    ("carol", .preemptive, ["-", "carol:"]), ("carol", .onChallenge, ["-", "carol:"]),
    ("bob:x", .preemptive, ["-", "bob:x", "bob:b"]), ("bob:", .preemptive, ["-", "bob:", "bob:b"]),
    ("bob:b", .preemptive, ["bob:b"]), ("alice:x", .onChallenge, ["-", "alice:x", "alice:a"]),
  ])
  func anotherUsersPasswordIsNeverSent(_ user: String, offer: PasswordSource.Offer, sent: [String]) async throws {
    let server = PasswordServer(.basic, Credential(user: "none", password: "fits"))
    let netrc = try Netrc(
      parsing: "machine a.example login alice password a machine a.example login bob password b")
    let session = server.session(PasswordSource(netrc, offer: offer))

    let (_, response) = try await session.data(for: HTTPRequest(.get, url("http://\(user)@a.example/")))

    #expect(response.status == .unauthorized)
    let texts = server.requests.map { request in
      let value = request.fields[.authorization]?.split(separator: " ").last
      return value.flatMap { Data(base64Encoded: String($0)) }.map { String(decoding: $0, as: UTF8.self) } ?? "-"
    }
    #expect(texts == sent)
  }

  @Test func aFixedPasswordOfAnotherUserIsNotSentAfterARefusal() async throws {
    let server = PasswordServer(.basic)
    let session = server.session(PasswordSource(server.credential, for: .any))

    let refused = try await session.data(for: HTTPRequest(.get, url("http://bob:wrong@a.example/"))).1
    #expect(refused.status == .unauthorized)
    #expect(server.requests.count == 2)

    _ = try await session.data(for: HTTPRequest(.get, url("http://a.example/")))
    _ = try await session.data(for: HTTPRequest(.get, url("http://bob@a.example/")))
    // The password that was accepted in the meantime is that of another user, too.
    #expect(server.schemes == ["-", "Basic", "-", "Basic", "-", "Basic"])
  }

  @Test func aServerThatWantsAnotherSchemeGetsIt() async throws {
    let transport = RecordingTransport(
      around: MockTransport { request in
        request.fields[.authorization] == "Bearer t"
          ? .text("in") : .status(.unauthorized, fields: [.wwwAuthenticate: "Bearer"])
      })
    let session = session(transport, TokenSource(AccessToken("t"), for: .any) { $0 })

    let (_, response) = try await session.data(for: HTTPRequest(.get, url("http://bob:x@a.example/")))

    #expect(response.status == .ok)
    #expect(transport.records.map { $0.request.fields[.authorization] } == [nil, "Bearer t"])
  }

  @Test func itIsUsedAfterRedirectsWithinTheOriginOnly() async throws {
    let transport = RecordingTransport(
      around: MockTransport { request in
        switch (request.url.host(), request.url.path, request.fields.contains(.authorization)) {
        case ("a.example", "/start", _): .redirect(to: "/in")
        case ("a.example", "/in", true): .redirect(to: "http://b.example/out")
        default: .status(.unauthorized, fields: [.wwwAuthenticate: "Basic realm=r"])
        }
      })

    let (_, response) = try await session(transport).data(
      for: HTTPRequest(.get, url("http://anna:secret@a.example/start")))

    #expect(response.status == .unauthorized)
    let sent = transport.records.map {
      "\($0.request.url.absoluteString) \($0.request.fields.contains(.authorization))"
    }
    #expect(
      sent == [
        "http://a.example/start false", "http://a.example/in false", "http://a.example/in true",
        "http://b.example/out false",
      ])
  }

  @Test func itIsRemovedIfTheRequestHasAuthorization() async throws {
    let server = PasswordServer(.basic)
    var request = HTTPRequest(.get, url("http://anna:secret@a.example/"))
    request.fields[.authorization] = "Custom x"

    #expect(try await server.session().data(for: request).1.status == .unauthorized)
    #expect(server.requests.map(\.url.absoluteString) == ["http://a.example/"])
    #expect(server.schemes == ["Custom"])
  }

  @Test func aUserNameWithoutAPasswordIsACredential() async throws {
    let server = PasswordServer(.basic, Credential(user: "key", password: ""))
    #expect(try await server.session().data(for: HTTPRequest(.get, url("http://key@a.example/"))).1.status == .ok)
  }

  @Test(arguments: ["Basic realm=r", "Digest realm=r, nonce=n, qop=auth"])
  func concurrentUsersOfOneRealmDoNotReplaceEachOther(_ challenge: String) async throws {
    let transport = MockTransport { request in
      for _ in 0..<Int.random(in: 0...20) { await Task.yield() }  // another order in each run; any must do
      let answer = request.fields[.authorization] ?? ""
      return answer.isEmpty ? .status(.unauthorized, fields: [.wwwAuthenticate: challenge]) : .text("welcome")
    }
    let session = HTTPSession(transport: transport)
    let attempts = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<200 {
        group.addTask {
          let request = HTTPRequest(.get, url("http://user\(number % 4):p@a.example/\(number)"))
          let (_, response) = try await session.data(for: request)
          #expect(response.status == .ok)
          return response.history.count + 1
        }
      }
      return try await group.reduce(0) { max($0, $1) }
    }
    #expect(attempts <= 2)
  }
}
