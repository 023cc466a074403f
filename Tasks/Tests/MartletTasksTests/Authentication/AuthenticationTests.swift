@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import MartletTasks
import MartletTasksTesting
import MartletTesting
import Synchronization
import Testing

/// The authentication of every attempt, and the reaction to a 401.
@Suite(.timeLimit(.minutes(5))) struct AuthenticationTests {
  /// Signs method, path and common headers with an HMAC (RFC 2104), and numbers its signatures.
  private struct Signer: RequestSigner {
    let key: String
    let count = Counter()

    func sign(request: HTTPRequest) async throws -> HTTPRequest {
      #expect(!request.fields.contains(.authorization))
      var request = request
      let text = "\(request.method) \(request.url.path()) \(request.fields["X-App"] ?? "") \(count.next())"
      request.fields["X-Signature"] = "\(text) \(try hmacSHA256(text, key: key))"
      return request
    }
  }

  /// Tokens of rising numbers; each authentication makes the next one valid.
  private actor Tokens: Authenticator {
    private(set) var number = 0
    private(set) var authentications = 0
    private(set) var authorizations = 0
    private let work: @Sendable (Int) async throws -> Void

    init(_ work: @escaping @Sendable (Int) async throws -> Void = { _ in }) { self.work = work }

    func authorize(request: HTTPRequest) -> HTTPRequest {
      authorizations += 1
      var request = request
      if number > 0 { request.fields[.authorization] = "Bearer \(number)" }
      return request
    }

    func authenticate() async throws {
      authentications += 1
      try await work(authentications)
      number += 1
    }
  }

  private func demand(_ token: String) -> MockResponder {
    .closure { $0.fields[.authorization] == "Bearer \(token)" ? .response(json: shopJSON) : .response(status: 401) }
  }

  private func shop(_ session: MockSession) -> NetworkTask<Shop> {
    NetworkRequest().path("shop").task(session: session)
  }

  @Test("Headers come first, then the signature, then authorization; after a 401 all of them anew")
  func headersComeFirstThenTheSignatureThenAuthorizationAndARetrySignsAgain() async throws {
    let tokens = Tokens()
    let mock = makeMock(headers: ["X-App": "Shop"], signer: Signer(key: "k"), authenticator: tokens)
    mock["shop"] = demand("1")

    _ = try await shop(mock).value()

    let signatures = mock.requests.compactMap { $0.fields["X-Signature"] }
    #expect(signatures[0].hasPrefix("GET /v1/shop Shop 1 "))
    #expect(signatures[1].hasPrefix("GET /v1/shop Shop 2 "))
    #expect(mock.requests.map { $0.fields[.authorization] } == [nil, "Bearer 1"])
  }

  @Test("The engine's retry signs and authorizes again") func theEnginesRetrySignsAndAuthorizesAgain()
    async throws
  {
    let tokens = Tokens()
    let mock = makeMock(signer: Signer(key: "k"), authenticator: tokens, retry: RetryPolicy.standard)
    mock["shop"] = .sequence(
      .response(status: 503, headers: [.retryAfter: "0"]), .response(json: shopJSON))

    _ = try await shop(mock).value()

    #expect(Set(mock.requests.map { $0.fields["X-Signature"] }).count == 2)
    #expect(await tokens.authorizations == 2)
  }

  /// RFC 4231 §4.3.
  @Test func signerOfTheTestIsRight() throws {
    #expect(
      try hmacSHA256("what do ya want for nothing?", key: "Jefe")
        == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
  }

  @Test("Another origin gets nothing of the environment") func anotherOriginGetsNothingOfTheEnvironment()
    async throws
  {
    let tokens = Tokens()
    try await tokens.authenticate()
    let mock = makeMock(headers: ["X-App": "Shop"], signer: Signer(key: "k"), authenticator: tokens)
    mock["shop"] = .response(status: 302, headers: [.location: "https://elsewhere.test/there"])
    mock["there"] = .response(json: shopJSON)

    _ = try await shop(mock).value()

    let there = try #require(mock.requests(to: "there").first)
    #expect(mock.requests(to: "shop").first?.fields[.authorization] == "Bearer 1")
    #expect(there.fields[.authorization] == nil)
    #expect(there.fields["X-App"] == nil)
    #expect(there.fields["X-Signature"] == nil)
  }

  @Test func requestsOwnHeaderWins() async throws {
    let mock = makeMock(headers: ["X-App": "Shop"])
    mock["shop"] = .response()
    try await NetworkRequest().path("shop").header("X-App", "Mine").task(session: mock).value()
    #expect(mock.requests.first?.fields["X-App"] == "Mine")
  }

  @Test("Many that are refused at the same time authenticate once")
  func manyRefusedAtTheSameTimeAuthenticateOnce() async throws {
    let refused = Counter()
    let all = Gate()
    let tokens = Tokens()
    let mock = makeMock(authenticator: tokens)
    mock["shop"] = .closure { request in
      guard request.fields[.authorization] != "Bearer 1" else { return .response(json: shopJSON) }
      if refused.next() == 10 { all.open() }
      try await all.wait()
      return .response(status: 401)
    }

    try await withThrowingTaskGroup(of: Shop.self) { group in
      for _ in 1...10 { group.addTask { try await shop(mock).value() } }
      for try await shop in group { #expect(shop.title == "Shoes") }
    }

    #expect(await tokens.authentications == 1)
    #expect(mock.requests.count == 20)
  }

  @Test("Each request goes again only once") func eachRequestGoesAgainOnlyOnce() async throws {
    let tokens = Tokens()
    let mock = makeMock(authenticator: tokens)
    mock["shop"] = .response(json: #"{"message": "who?"}"#, status: 401)

    let response = await shop(mock).execute()

    #expect(response.statusCode == 401)
    #expect("\(try #require(response.error))" == "who? (401)")
    #expect(mock.requests.count == 2)
    #expect(await tokens.authentications == 1)
  }

  @Test("Without credentials the refusal stands") func withoutCredentialsTheRefusalStands() async throws {
    let tokens = Tokens { _ in throw NetworkError.unauthenticated }
    let mock = makeMock(authenticator: tokens)
    mock["shop"] = .response(json: #"{"message": "who?"}"#, status: 401)

    #expect("\(try #require(await shop(mock).execute().error))" == "who? (401)")
    #expect(mock.requests.count == 1)

    let passive = makeMock(authenticator: PoqAuthenticator())
    passive["shop"] = .response(status: 401)
    #expect("\(try #require(await shop(passive).execute().error))" == "Unauthorized (401)")
    #expect(passive.requests.count == 1)
  }

  @Test("An authentication that fails fails the task, and the next one tries again")
  func authenticationThatFailsFailsTheTaskAndTheNextOneTriesAgain() async throws {
    struct Offline: Error {}
    let tokens = Tokens { number in if number == 1 { throw Offline() } }
    let mock = makeMock(authenticator: tokens)
    mock["shop"] = demand("1")

    let first = await shop(mock).execute()
    #expect((first.error as? HTTPError)?.kind == .authenticationFailed)
    #expect((first.error as? HTTPError)?.underlying is Offline)
    #expect(first.statusCode == 401)

    #expect(try await shop(mock).value().title == "Shoes")
    #expect(mock.requests.count == 3)
  }

  @Test("What the authenticator sends itself neither waits nor authenticates")
  func whatTheAuthenticatorSendsItselfNeitherWaitsNorAuthenticates() async throws {
    let session = Mutex<MockSession?>(nil)
    let tokens = Tokens { _ in
      let session = session.withLock { $0 }
      try await NetworkRequest(method: .POST).path("refresh").task(session: session).value()
    }
    let mock = makeMock(authenticator: tokens)
    session.withLock { $0 = mock }
    mock["shop"] = demand("1")
    mock["refresh"] = .response(json: #"{"message": "no more"}"#, status: 401)

    let response = await shop(mock).execute()

    let underlying = (response.error as? HTTPError)?.underlying as? NetworkError
    #expect(underlying?.description == "no more (401)")
    #expect(mock.requests.count == 2)
    #expect(mock.requests(to: "refresh").first?.fields[.authorization] == nil)
  }

  @Test("A login's refusal is an answer") func loginsRefusalIsAnAnswer() async throws {
    let tokens = Tokens()
    let mock = makeMock(authenticator: tokens)
    mock["login"] = .response(status: 401)

    let login: NetworkTask<Void> = NetworkRequest(method: .POST).path("login").unauthenticated().task(session: mock)

    #expect(await login.execute().statusCode == 401)
    #expect(await tokens.authentications == 0)
  }
}

/// RFC 2104, implemented by hand; an app has a library for it.
func hmacSHA256(_ text: String, key: String) throws -> String {
  let key = Data(key.utf8) + Data(count: 64 - key.utf8.count)
  let inner = try #require(MessageDigest.hash(.sha256, Data(key.map { $0 ^ 0x36 }) + Data(text.utf8)))
  let outer = try #require(MessageDigest.hash(.sha256, Data(key.map { $0 ^ 0x5c }) + inner))
  return outer.map { String(Int($0) + 256, radix: 16).dropFirst() }.joined()
}
