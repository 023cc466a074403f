import Foundation
import MartletSemantics
import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Basic credentials", .timeLimit(.minutes(5)))
struct BasicAuthenticationObserverTests {
  private final class Login: BasicCredentialDiscovery {
    let questions = Shared(0)
    private let answers: [BasicCredential?]

    init(_ answers: BasicCredential?...) { self.answers = answers }

    func provideBasicCredential(
      for url: URL, challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (BasicCredential?, (any Error)?) -> Void
    ) {
      let number = questions.value
      questions.change { $0 += 1 }
      completionHandler(number < answers.count ? answers[number] : nil, nil)
    }
  }

  private let good = BasicCredential(username: "anna", password: "sécret")
  private let bad = BasicCredential(username: "anna", password: "wrong")
  private let worse = BasicCredential(username: "anna", password: "also wrong")
  private let service: MobileServices

  init() throws { service = try MobileServices(.init(users: ["anna": "sécret"])) }

  @Test func theUserIsAskedOnceAndTheSessionContinues() async throws {
    let login = Login(good)
    let session = SAPURLSession.observed(by: BasicAuthenticationObserver(credentialDiscovery: login))
    for _ in 0..<3 { #expect(await session.get(service.url).status == 200) }
    #expect(login.questions.value == 1)
    #expect(service.sessionCount == 1)
  }

  @Test func manyRequestsAskTheUserOnce() async throws {
    let login = Login(good)
    let session = SAPURLSession.observed(by: BasicAuthenticationObserver(credentialDiscovery: login))
    await withTaskGroup(of: Int?.self) { group in
      for number in 0..<8 { group.addTask { await session.get(service.url("/?\(number)")).status } }
      for await status in group { #expect(status == 200) }
    }
    #expect(login.questions.value == 1)
  }

  @Test func aStoredCredentialThatIsRefusedIsObtainedAgain() async throws {
    let store = BasicCredentialStorage()
    try store.store(credential: bad, for: service.url)
    let login = Login(good)
    let session = SAPURLSession.observed(
      by: BasicAuthenticationObserver(credentialStore: store, credentialDiscovery: login))

    #expect(await session.get(service.url).status == 200)

    #expect(login.questions.value == 1)
    #expect(try store.credential(for: service.url("/other")) == good)
    session.clearCredentials()
    #expect(try store.credential(for: service.url) == nil)
  }

  @Test func aSecondRefusalIsTheCallers() async throws {
    let (login, store) = (Login(bad, worse, good), BasicCredentialStorage())
    let session = SAPURLSession.observed(
      by: BasicAuthenticationObserver(credentialStore: store, credentialDiscovery: login))
    #expect(await session.get(service.url).status == 401)
    #expect(login.questions.value == 2)

    #expect(try store.credential(for: service.url) == nil)
    #expect(await session.get(service.url).status == 200)
    #expect(service.requests.compactMap { $0.fields[.authorization] }.count == 3)  // none of the refused again
  }

  /// An app's own stores that use the session during calls.
  private final class Stores: BasicCredentialStoring, OAuth2TokenStore, CSRFTokenStoring {
    weak var session: SAPURLSession?
    let calls = Shared(0)

    private func callBack() {
      calls.change { $0 += 1 }
      session?.clearCredentials()
    }

    func store(credential: BasicCredential, for url: URL) throws { callBack() }
    func credential(for url: URL) throws -> BasicCredential? { nil }
    func delete(for url: URL) throws {}

    func store(token: OAuth2Token, for url: URL) throws { callBack() }
    func token(for url: URL) throws -> OAuth2Token? { nil }
    func deleteToken(for url: URL) throws {}
    func clear() {}

    func store(token: String, for url: URL) throws { callBack() }
    func token(for url: URL) throws -> String? { nil }
  }

  @Test func storesMayUseTheSessionWhileTheyAreCalled() async throws {
    let (credentials, tokens) = (Stores(), Stores())
    let basic = SAPURLSession.observed(
      by: BasicAuthenticationObserver(credentialStore: credentials, credentialDiscovery: Login(good)))
    credentials.session = basic
    let csrf = SAPURLSession.observed(
      by: CSRFTokenObserver(rootUrl: service.url, tokenStore: tokens),
      BasicAuthenticationObserver(credentialDiscovery: Login(good)))
    tokens.session = csrf

    // they sign the user out while the user's credentials are stored
    #expect(await basic.get(service.url).code == .userAuthenticationRequired)
    #expect(await csrf.post(service.url("/backend/Orders")).code == .userAuthenticationRequired)

    #expect(credentials.calls.value > 0 && tokens.calls.value > 0)
  }

  @Test func aTokenThatItsStoreForgetsAtOnceIsNotSent() async throws {
    struct Authenticator: OAuth2Authentication {
      func authenticate(completionHandler: @escaping @Sendable (OAuth2Token?, (any Error)?) -> Void) {
        completionHandler(OAuth2Token(accessToken: "t", tokenType: "bearer", refreshToken: nil), nil)
      }
      func refresh(token: OAuth2Token, completionHandler: @escaping @Sendable (OAuth2Token?, (any Error)?) -> Void) {}
      func cancelAuthentication() {}
    }
    let store = Stores()
    let session = SAPURLSession.observed(
      by: OAuth2Observer(authenticator: Authenticator(), tokenStore: store, backend: service.url))
    store.session = session

    #expect(await session.get(service.url).code == .userAuthenticationRequired)

    #expect(store.calls.value > 0)
    #expect(!service.requests.contains { $0.fields.contains(.authorization) })
  }

  @Test func theFetchOfATokenIsAuthenticatedToo() async throws {
    let session = SAPURLSession.observed(
      by: CSRFTokenObserver(rootUrl: service.url), BasicAuthenticationObserver(credentialDiscovery: Login(good)))
    #expect(await session.post(service.url("/backend/Orders")).status == 201)
    #expect(service.requests(to: "/backend/Orders").count == 1)
  }

  @Test func nothingReachesAThirdParty() async throws {
    let stranger = try ThirdParty(.unauthorized)
    service.answer("/x", with: .redirect(to: stranger.url.absoluteString))
    let session = SAPURLSession.observed(by: BasicAuthenticationObserver(credentialDiscovery: Login(good, good)))
    await session.get(service.url)

    #expect(await session.get(service.url("/x")).status == 401)

    #expect(stranger.requests.count == 1)
    #expect(stranger.values(of: .authorization).isEmpty)
  }

  @Test func thePasswordOfAChallengeDoesNotFollowARedirectToAThirdParty() async throws {
    let stranger = try ThirdParty(.unauthorized)
    let server = try LoopbackServer { request in
      request.fields.contains(.authorization) ? .redirect(to: stranger.url.absoluteString) : .unauthorized
    }
    let session = SAPURLSession.observed(by: BasicAuthenticationObserver(credentialDiscovery: Login(good)))

    #expect(await session.get(server.url("/")).status == 401)

    #expect(server.requests.map { $0.fields.contains(.authorization) } == [false, true])
    #expect(stranger.requests.map { $0.fields.contains(.authorization) } == [false])
  }
}

@Suite("OAuth 2 tokens", .timeLimit(.minutes(5)))
struct OAuth2ObserverTests {
  private struct Authenticator: OAuth2Authentication {
    let calls = Shared<[String]>([])
    var refreshFails = false

    private func token(_ call: String) -> OAuth2Token {
      calls.change { $0.append(call) }
      return OAuth2Token(accessToken: "t\(calls.value.count)", tokenType: "bearer", refreshToken: "r")
    }

    func authenticate(completionHandler: @escaping @Sendable (OAuth2Token?, (any Error)?) -> Void) {
      completionHandler(token("authenticate"), nil)
    }

    func refresh(token: OAuth2Token, completionHandler: @escaping @Sendable (OAuth2Token?, (any Error)?) -> Void) {
      let new = self.token("refresh")
      if refreshFails {
        completionHandler(nil, URLError(.userAuthenticationRequired))
      } else {
        completionHandler(new, nil)
      }
    }

    func cancelAuthentication() {}
  }

  /// Accepts only this token.
  private func server(_ good: @escaping @Sendable () -> String) throws -> LoopbackServer {
    try LoopbackServer { request in
      request.fields[.authorization] == "Bearer \(good())"
        ? .text("in") : .status(.unauthorized, fields: [.wwwAuthenticate: #"Bearer error="invalid_token""#])
    }
  }

  @Test func aTokenIsObtainedOnceKeptAndSent() async throws {
    let server = try server { "t1" }
    let (authenticator, store) = (Authenticator(), OAuth2TokenStorage())
    let session = SAPURLSession.observed(by: OAuth2Observer(authenticator: authenticator, tokenStore: store))

    await withTaskGroup(of: Int?.self) { group in
      for number in 0..<8 { group.addTask { await session.get(server.url("/\(number)")).status } }
      for await status in group { #expect(status == 200) }
    }

    #expect(authenticator.calls.value == ["authenticate"])
    #expect(try store.token(for: server.url("/any"))?.accessToken == "t1")
  }

  @Test(arguments: [false, true])
  func aStoredTokenThatIsRefusedIsRenewedOnce(_ refreshFails: Bool) async throws {
    let server = try server { refreshFails ? "t2" : "t1" }
    let store = OAuth2TokenStorage()
    try store.store(token: OAuth2Token(accessToken: "old", tokenType: "Bearer", refreshToken: "r"), for: server.url)
    let authenticator = Authenticator(refreshFails: refreshFails)
    let session = SAPURLSession.observed(
      by: OAuth2Observer(authenticator: authenticator, tokenStore: store, backend: server.url))

    #expect(await session.get(server.url("/a")).status == 200)
    #expect(await session.get(server.url("/b")).status == 200)

    #expect(authenticator.calls.value == (refreshFails ? ["refresh", "authenticate"] : ["refresh"]))
    #expect(server.requests.first?.fields[.authorization] == "Bearer old")
    #expect(server.requests.count == 3)
  }

  @Test func aTokenThatIsAlwaysRefusedIsTheCallers401() async throws {
    let server = try server { "never" }
    let session = SAPURLSession.observed(by: OAuth2Observer(authenticator: Authenticator(), backend: server.url))
    #expect(await session.get(server.url("/a")).status == 401)
    #expect(server.requests.count <= 2)
  }

  @Test func clearingTheStoreEndsTheToken() async throws {
    let server = try LoopbackServer { _ in .text("in") }
    let (authenticator, store) = (Authenticator(), OAuth2TokenStorage())
    let session = SAPURLSession.observed(by: OAuth2Observer(authenticator: authenticator, tokenStore: store))
    await session.get(server.url("/a"))
    session.clearCredentials()
    #expect(try store.token(for: server.url) == nil)

    await session.get(server.url("/b"))

    #expect(server.requests.map { $0.fields[.authorization] } == ["Bearer t1", "Bearer t2"])
    #expect(authenticator.calls.value == ["authenticate", "authenticate"])
  }

  @Test func noTokenReachesAThirdParty() async throws {
    let stranger = try ThirdParty()
    let server = try LoopbackServer { _ in .redirect(to: stranger.url.absoluteString) }
    let session = SAPURLSession.observed(by: OAuth2Observer(authenticator: Authenticator()))

    #expect(await session.get(server.url("/a")).status == 200)
    await session.get(stranger.url)

    #expect(stranger.requests.count >= 1)
    #expect(stranger.values(of: .authorization).isEmpty)
  }

  /// An app's own store, which cannot delete everything, and is not made for several threads.
  private final class Store: OAuth2TokenStore, @unchecked Sendable {
    var tokens: [URL: OAuth2Token] = [:]
    var isFull = false
    let inside = Shared(0)
    let most = Shared(0)

    private func alone<Result>(_ body: () throws -> Result) rethrows -> Result {
      inside.change { $0 += 1 }
      defer { inside.change { $0 -= 1 } }
      for _ in 0..<1000 {
        let now = inside.value
        most.change { $0 = max($0, now) }
      }
      return try body()
    }

    func store(token: OAuth2Token, for url: URL) throws {
      try alone {
        guard !isFull else { throw URLError(.cannotWriteToFile) }
        tokens[url] = token
      }
    }

    func token(for url: URL) -> OAuth2Token? { alone { tokens[url] } }

    func deleteToken(for url: URL) { alone { tokens[url] = nil } }
  }

  @Test func aStoreIsCalledByOneAtATime() async throws {
    let server = try LoopbackServer { _ in .text("in") }
    let store = Store()
    let session = SAPURLSession.observed(by: OAuth2Observer(authenticator: Authenticator(), tokenStore: store))
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<50 { group.addTask { await session.get(server.url("/\(number)")) } }
    }
    #expect(store.most.value == 1)
  }

  @Test func aStoreThatIsFullDoesNotMakeTheUserSignInAgain() async throws {
    let server = try server { "t1" }
    let (authenticator, store) = (Authenticator(), Store())
    store.isFull = true
    let session = SAPURLSession.observed(by: OAuth2Observer(authenticator: authenticator, tokenStore: store))
    for number in 0..<3 { #expect(await session.get(server.url("/\(number)")).status == 200) }
    #expect(authenticator.calls.value == ["authenticate"])
  }

  @Test func signingOutBeforeTheFirstRequestForgetsTheStoredToken() async throws {
    let server = try LoopbackServer { _ in .text("in") }
    let store = Store()
    store.tokens[server.url] = OAuth2Token(accessToken: "old", tokenType: "Bearer")
    let session = SAPURLSession.observed(
      by: OAuth2Observer(authenticator: Authenticator(), tokenStore: store, backend: server.url))

    session.clearCredentials()
    await session.get(server.url("/a"))

    #expect(server.requests.map { $0.fields[.authorization] } == ["Bearer t1"])
  }

  /// A login page that the user reads.
  private struct LoginPage: OAuth2Authentication {
    let handlers = Shared<[@Sendable (OAuth2Token?, (any Error)?) -> Void]>([])
    let isShown = Gate()
    let cancellations = Shared(0)

    func authenticate(completionHandler: @escaping @Sendable (OAuth2Token?, (any Error)?) -> Void) {
      handlers.change { $0.append(completionHandler) }
      isShown.open()
    }

    func refresh(token: OAuth2Token, completionHandler: @escaping @Sendable (OAuth2Token?, (any Error)?) -> Void) {}

    func cancelAuthentication() { cancellations.change { $0 += 1 } }
  }

  @Test func aTokenObtainedAfterTheSignOutIsDiscarded() async throws {
    let server = try LoopbackServer { _ in .text("in") }
    let (page, store) = (LoginPage(), OAuth2TokenStorage())
    let session = SAPURLSession.observed(
      by: OAuth2Observer(authenticator: page, tokenStore: store, backend: server.url))
    async let ending = session.get(server.url("/a"))
    try await page.isShown.wait()

    session.clearCredentials()
    page.handlers.value.first?(OAuth2Token(accessToken: "late", tokenType: "Bearer"), nil)

    _ = await ending
    #expect(page.cancellations.value == 1)
    async let next = session.get(server.url("/b"))
    await page.handlers.wait { $0.count == 2 }
    #expect(try store.token(for: server.url) == nil)
    page.handlers.value.last?(OAuth2Token(accessToken: "new", tokenType: "Bearer"), nil)
    #expect(await next.status == 200)
    #expect(server.requests.map { $0.fields[.authorization] } == ["Bearer new"])
  }

  @Test func secretsShowNothing() {
    let token = OAuth2Token(accessToken: "secret", tokenType: "Bearer", refreshToken: "secret")
    let credential = BasicCredential(username: "secret", password: "secret")
    for text in ["\(token)", String(reflecting: token), "\(credential)", String(reflecting: credential)] {
      #expect(!text.contains("secret"))
    }
  }
}
