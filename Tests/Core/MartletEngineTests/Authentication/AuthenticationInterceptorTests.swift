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
