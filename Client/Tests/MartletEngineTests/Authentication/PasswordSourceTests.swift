import CallDoubles
@_spi(Credentials) import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct PasswordSourceTests {
  private static let right = Credential(user: "anna", password: "secret")
  private static let wrong = Credential(user: "anna", password: "mistaken")
  private static let scope = CredentialScope.origin(of: origin)

  private func status(_ session: HTTPSession, _ text: String = "http://a.example/x") async throws -> HTTPStatus {
    try await session.data(for: HTTPRequest(.get, url(text))).1.status
  }

  @Test(arguments: [
    PasswordServer.Scheme.basic, .digest(", qop=auth"), .digest(", qop=auth, algorithm=SHA-256"),
    .digest(", qop=auth, algorithm=SHA-512-256-sess"), .digest(", qop=\"auth-int,auth\", userhash=true"),
  ])
  func aPasswordIsSentAfterAChallengeAndThenWithoutOne(_ scheme: PasswordServer.Scheme) async throws {
    let server = PasswordServer(scheme)
    let session = server.session(PasswordSource(Self.right, for: Self.scope))

    #expect(try await status(session) == .ok)
    #expect(try await status(session) == .ok)
    #expect(try await status(session, "http://a.example/deeper/still?q") == .ok)

    #expect(server.schemes.map { $0 == "-" } == [true, false, false, false])
  }

  /// RFC 7616 §3.4.3: `auth-int` covers the body, which must be known before it is sent.
  @Test func answerCoversBodiesThatAreInMemory() async throws {
    let server = PasswordServer(.digest(", qop=\"auth-int\""))
    let session = server.session(PasswordSource(Self.right, for: Self.scope))
    func status(_ body: RequestBody) async throws -> HTTPStatus {
      try await session.data(for: HTTPRequest(.post, origin, body: body)).1.status
    }

    #expect(try await status(.data(Data("hello".utf8))) == .ok)
    #expect(try await status(.data(Data("another".utf8))) == .ok)
    #expect(try await status(.empty) == .ok)
    #expect(try await status(.stream { AsyncStream<Data> { $0.finish() } }) == .unauthorized)
    #expect(try await status(.empty) == .ok)

    #expect(server.schemes == ["-", "Digest", "Digest", "Digest", "-", "Digest"])
  }

  /// RFC 7616 §3.4.6, RFC 9112 §3.2.4: the target of a request for the server itself is `*`.
  @Test(arguments: [
    ("OPTIONS", "http://a.example", "*"), ("OPTIONS", "http://a.example/", "/"),
    ("OPTIONS", "http://a.example?a", "/?a"),
    ("OPTIONS", "http://a.example#a", "*"), ("GET", "http://a.example", "/"), ("options", "http://a.example", "/"),
  ])
  func digestNamesTheTargetAsItIsSent(_ method: String, _ text: String, _ target: String) async throws {
    let server = PasswordServer(.digest(", qop=auth"))
    let session = server.session(PasswordSource(Self.right, for: Self.scope))
    let request = HTTPRequest(try #require(HTTPMethod(rawValue: method)), url(text))

    _ = try await session.data(for: request)

    #expect(server.requests.last?.fields[.authorization]?.contains("uri=\"\(target)\"") == true)
  }

  @Test(arguments: [PasswordServer.Scheme.basic, .digest(", qop=auth")])
  func aRefusedPasswordIsNotSentAgain(_ scheme: PasswordServer.Scheme) async throws {
    let server = PasswordServer(scheme)
    let session = server.session(PasswordSource(Self.wrong, for: Self.scope))

    #expect(try await status(session) == .unauthorized)

    #expect(server.requests.count == 2)
  }

  @Test func basicCanBeSentPreemptively() async throws {
    let server = PasswordServer(.basic)
    let session = server.session(PasswordSource(Self.right, for: Self.scope, offer: .preemptive))

    #expect(try await status(session) == .ok)
    #expect(server.requests.count == 1)
  }

  @Test func aServerThatRequiresDigestGetsItAfterPreemptiveBasic() async throws {
    let server = PasswordServer(.digest(", qop=auth"))
    let session = server.session(PasswordSource(Self.right, for: Self.scope, offer: .preemptive))

    #expect(try await status(session) == .ok)
    #expect(try await status(session) == .ok)
    #expect(server.schemes == ["Basic", "Digest", "Digest"])
  }

  @Test(arguments: [
    "Basic realm=r", "Digest realm=r, nonce=n, algorithm=X, Basic realm=r", "Digest realm=r, Basic realm=r",
    "Digest realm=r, nonce=n, qop=auth-int, Basic realm=r",
  ])
  func whereOnlyDigestIsAllowedThePasswordItselfIsNeverSent(_ challenges: String) async throws {
    let transport = RecordingTransport(
      around: MockTransport { _ in .status(.unauthorized, fields: [.wwwAuthenticate: challenges]) })
    var configuration = SessionConfiguration()
    configuration.credentials = [
      PasswordSource(Self.right, for: Self.scope, schemes: [.digest], offer: .preemptive)
    ]
    let session = HTTPSession(transport: transport, configuration: configuration)
    let body = RequestBody.stream { AsyncStream<Data> { $0.finish() } }

    #expect(try await session.data(for: HTTPRequest(.post, origin, body: body)).1.status == .unauthorized)
    #expect(transport.records.map { $0.request.fields[.authorization] } == [nil])
  }

  @Test func aRefusedPreemptivePasswordIsSentOnce() async throws {
    let server = PasswordServer(.basic)
    let session = server.session(PasswordSource(Self.wrong, for: Self.scope, offer: .preemptive))

    #expect(try await status(session) == .unauthorized)
    #expect(server.requests.count == 1)
  }

  @Test func concurrentRequestsUseDifferentCounts() async throws {
    let server = PasswordServer(.digest(", qop=auth"))
    let session = server.session(PasswordSource(Self.right, for: Self.scope))

    try await withThrowingTaskGroup(of: HTTPStatus.self) { group in
      for _ in 0..<50 { group.addTask { try await status(session) } }
      for try await status in group { #expect(status == .ok) }
    }
    #expect(server.replays == 0)
  }

  @Test(arguments: [true, false])
  func aStaleNonceIsRenewedWithoutAQuestion(saysStale: Bool) async throws {
    let server = PasswordServer(.digest(", qop=auth", usesOfNonce: 2, saysStale: saysStale))
    let questions = Mutex<[PasswordSource.Question]>([])
    let source = PasswordSource(for: Self.scope) { question in
      questions.withLock { $0.append(question) }
      return Self.right
    }
    let session = server.session(source)

    for _ in 0..<6 { #expect(try await status(session) == .ok) }

    #expect(questions.withLock { $0.count } == 1)
    #expect(server.challenges == 3)  // the first, and two stale ones
  }

  @Test func aNonceThatIsAlwaysStaleEndsWithA401() async throws {
    let server = PasswordServer(.digest(", qop=auth", usesOfNonce: 0))
    let session = server.session(PasswordSource(Self.right, for: Self.scope))

    #expect(try await status(session) == .unauthorized)
    #expect(server.requests.count == 5)  // without a password, with it, and after three new nonces
  }

  @Test func theClosureIsCalledUntilItReturnsNil() async throws {
    let server = PasswordServer(.basic)
    let failures = Mutex<[Int]>([])
    let source = PasswordSource(for: Self.scope) { question in
      failures.withLock { $0.append(question.failureCount) }
      #expect(question.space.description == "http://a.example (r)")
      #expect(question.sendsPassword)
      return question.failureCount < 3
        ? Credential(user: "anna", password: "mistaken \(question.failureCount)") : nil
    }

    #expect(try await status(server.session(source)) == .unauthorized)
    #expect(failures.withLock { $0 } == [0, 1, 2, 3])
  }

  @Test func manyRequestsCallTheClosureOnce() async throws {
    let server = PasswordServer(.basic)
    let questions = Mutex(0)
    let source = PasswordSource(for: Self.scope) { _ in
      questions.withLock { $0 += 1 }
      return Self.right
    }
    let session = server.session(source)

    try await withThrowingTaskGroup(of: HTTPStatus.self) { group in
      for _ in 0..<50 { group.addTask { try await status(session) } }
      for try await status in group { #expect(status == .ok) }
    }
    #expect(questions.withLock { $0 } == 1)
  }

  @Test func anErrorOfTheClosureFailsTheRequest() async throws {
    struct Locked: Error {}
    let source = PasswordSource(for: Self.scope) { _ in throw Locked() }
    let error = await #expect(throws: HTTPError.self) {
      try await status(PasswordServer(.basic).session(source))
    }
    #expect(error?.kind == .authenticationFailed)
    #expect(error?.underlying is Locked)
    #expect(error?.response?.status == .unauthorized)
  }

  @Test func theClosureMayUseTheSameSession() async throws {
    let server = PasswordServer(.basic)
    let found = Mutex<HTTPSession?>(nil)
    let source = PasswordSource(for: Self.scope) { _ in
      let session = try #require(found.withLock { $0 })
      let (_, response) = try await session.data(for: HTTPRequest(.get, url("http://a.example/vault")))
      #expect(response.status == .unauthorized)  // sent without a password of the source
      return Self.right
    }
    let session = server.session(source)
    found.withLock { $0 = session }

    #expect(try await status(session) == .ok)
    found.withLock { $0 = nil }
  }

  @Test(arguments: ["http://b.example/", "https://a.example/", "http://a.example:81/"])
  func anotherOriginNeverGetsThePassword(_ other: String) async throws {
    let transport = RecordingTransport(
      around: MockTransport { request in
        if request.url.path == "/go" { return .redirect(to: other) }
        return .status(.unauthorized, fields: [.wwwAuthenticate: "Basic realm=r"])
      })
    var configuration = SessionConfiguration()
    configuration.credentials = [PasswordSource(Self.right, for: Self.scope, offer: .preemptive)]
    let session = HTTPSession(transport: transport, configuration: configuration)

    #expect(try await status(session, "http://a.example/go") == .unauthorized)
    #expect(transport.records.map { $0.request.fields.contains(.authorization) } == [true, false])
  }

  @Test func aRedirectToAnotherRealmIsAnotherQuestion() async throws {
    let questions = Mutex<[String]>([])
    let transport = RecordingTransport(
      around: MockTransport { request in
        let realm = request.url.path == "/a/start" ? "one" : "two"
        guard request.fields[.authorization] == "Basic " + Data("\(realm):x".utf8).base64EncodedString() else {
          return .status(.unauthorized, fields: [.wwwAuthenticate: "Basic realm=\(realm)"])
        }
        return realm == "one" ? .redirect(to: "/b/end") : .text("in")
      })
    var configuration = SessionConfiguration()
    configuration.credentials = [
      PasswordSource(for: Self.scope) { question in
        questions.withLock { $0.append("\(question.space.realm) \(question.failureCount)") }
        return Credential(user: question.space.realm, password: "x")
      }
    ]
    let session = HTTPSession(transport: transport, configuration: configuration)

    #expect(try await status(session, "http://a.example/a/start") == .ok)
    #expect(questions.withLock { $0 } == ["one 0", "two 0"])
    #expect(transport.records.map { $0.request.fields.contains(.authorization) } == [false, true, false, true])
  }

  @Test func anotherRealmDoesNotGetThePassword() async throws {
    let server = PasswordServer(.basic)
    let session = server.session(PasswordSource(Self.right, for: Self.scope, realm: "other"))

    #expect(try await status(session) == .unauthorized)
    #expect(server.requests.count == 1)
  }

  @Test func anAuthorizationOfTheCallerIsNotChanged() async throws {
    let server = PasswordServer(.basic)
    let session = server.session(PasswordSource(Self.right, for: Self.scope, offer: .preemptive))
    let request = HTTPRequest(.get, origin, fields: [.authorization: "Custom x"])

    #expect(try await session.data(for: request).1.status == .unauthorized)
    #expect(server.requests.map { $0.fields[.authorization] } == ["Custom x"])
  }

  @Test func aReplayableBodyIsSentAgain() async throws {
    let server = PasswordServer(.digest(", qop=auth"))
    let session = server.session(PasswordSource(Self.right, for: Self.scope))

    let (_, response) = try await session.data(for: HTTPRequest(.put, origin, body: .data(Data("body".utf8))))
    #expect(response.status == .ok)
    #expect(response.history.map { $0.response?.status } == [.unauthorized])
    #expect(server.requests.map(\.body.bytes) == [Data("body".utf8), Data("body".utf8)])
  }

  @Test func aSingleUseBodyIsNotSentAgainButTheNextRequestIsAuthorized() async throws {
    let server = PasswordServer(.digest(", qop=auth"))
    let session = server.session(PasswordSource(Self.right, for: Self.scope))
    func send() async throws -> HTTPStatus {
      let chunks = AsyncStream<Data> { continuation in
        continuation.yield(Data("once".utf8))
        continuation.finish()
      }
      return try await session.data(for: HTTPRequest(.put, origin, body: .singleUse(chunks))).1.status
    }

    #expect(try await send() == .unauthorized)
    #expect(try await status(session) == .ok)
    #expect(try await send() == .ok)
    #expect(server.challenges == 2)
  }

  @Test func aColonInTheUserNameIsAnErrorForBasicOnly() async throws {
    let credential = Credential(user: "a:b", password: "secret")
    let error = await #expect(throws: HTTPError.self) {
      try await status(PasswordServer(.basic).session(PasswordSource(credential, for: Self.scope)))
    }
    #expect(error?.kind == .authenticationFailed)
    #expect(error.map { "\($0)".contains("secret") } == false)

    let server = PasswordServer(.digest(", qop=auth"), credential)
    #expect(try await status(server.session(PasswordSource(credential, for: Self.scope))) == .ok)
  }

  @Test func aWrongProofOfTheServerIsAnError() async throws {
    let transport = MockTransport { request in
      request.fields.contains(.authorization)
        ? .text("in").with(.authenticationInfo, "rspauth=\"00000000000000000000000000000000\"")
        : .status(.unauthorized, fields: [.wwwAuthenticate: "Digest realm=r, nonce=n, qop=auth"])
    }
    var configuration = SessionConfiguration()
    configuration.credentials = [PasswordSource(Self.right, for: Self.scope)]
    let session = HTTPSession(transport: transport, configuration: configuration)

    let error = await #expect(throws: HTTPError.self) { try await status(session) }
    #expect(error?.kind == .authenticationFailed)
  }

  @Test func theNextNonceIsUsed() async throws {
    let transport = RecordingTransport(
      around: MockTransport { request in
        request.fields.contains(.authorization)
          ? .text("in").with(.authenticationInfo, "nextnonce=\"next\"")
          : .status(.unauthorized, fields: [.wwwAuthenticate: "Digest realm=r, nonce=first, qop=auth"])
      })
    var configuration = SessionConfiguration()
    configuration.credentials = [PasswordSource(Self.right, for: Self.scope)]
    let session = HTTPSession(transport: transport, configuration: configuration)

    for _ in 0..<2 { #expect(try await status(session) == .ok) }

    let nonces = transport.records.map { record in
      let sent = AuthenticationChallenge.challenges(in: record.request.fields, .authorization).first
      return (sent?.parameters["nonce"] ?? "-") + " " + (sent?.parameters["nc"] ?? "-")
    }
    #expect(nonces == ["- -", "first 00000001", "next 00000001"])
  }

  @Test func theNextSourceIsUsedWhenTheFirstIsRefused() async throws {
    let server = PasswordServer(.basic)
    let session = server.session(
      PasswordSource(Self.wrong, for: Self.scope), PasswordSource(for: Self.scope) { _ in Self.right })

    #expect(try await status(session) == .ok)
    #expect(server.requests.count == 3)
  }

  @Test func responsesToDigestAreNotStored() async throws {
    let server = PasswordServer(.digest(", qop=\"auth\""))
    let cache = HTTPCache()
    var configuration = SessionConfiguration()
    configuration.cache = cache
    configuration.credentials = [PasswordSource(server.credential, for: .any)]
    let session = HTTPSession(
      transport: TestTransport { request in
        var response = try await server.transport.send(request, in: Call())
        if response.status == .ok { response.head.fields[.cacheControl] = "max-age=60" }
        return response
      }, configuration: configuration)

    for _ in 0..<5 { #expect(try await session.data(for: HTTPRequest(.get, origin)).1.status == .ok) }
    #expect(server.requests.count == 6)
    #expect(try await cache.usage().entries == 0)
  }

  @Test func sourcesShareAcceptedPasswordsUnlessTheAnswerForbidsIt() async throws {
    for isShared in [true, false] {
      let (server, accepted) = (PasswordServer(.basic), AcceptedPasswords())
      let ask: PasswordSource.AskingOnce = { _, _ in PasswordAnswer(Self.right, isShared: isShared) }

      for _ in 0..<2 { _ = try await status(server.session(PasswordSource(perCall: accepted, asking: ask))) }

      #expect(server.requests.count == (isShared ? 3 : 4))
    }
  }

  @Test func anAnswerFromBeforeTheRemovalOfAllPasswordsIsNotUsed() async throws {
    let (server, accepted) = (PasswordServer(.basic), AcceptedPasswords())
    let ask: PasswordSource.AskingOnce = { _, _ in
      accepted.removeAll()
      return PasswordAnswer(Self.right, isShared: true)
    }

    #expect(try await status(server.session(PasswordSource(perCall: accepted, asking: ask))) == .unauthorized)

    #expect(server.requests.count == 1)
  }
}
