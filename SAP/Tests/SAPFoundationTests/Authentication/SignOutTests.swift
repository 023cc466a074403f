import Foundation
@_spi(Toolkit) import MartletSemantics
import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Results after a sign-out", .timeLimit(.minutes(5)))
struct LateAnswerTests {
  private let gate = Gate()

  @Test func aCSRFTokenReceivedAfterTheSignOutIsDiscarded() async throws {
    let fetches = Shared(0)
    let server = try LoopbackServer { [gate] request in
      guard request.fields["X-CSRF-Token"] == "Fetch" else { return .text("stored", status: .created) }
      fetches.change { $0 += 1 }
      let reply = Reply.text("").with("X-CSRF-Token", "token-\(fetches.value)").with(
        .setCookie, "SESSION=\(fetches.value)")
      return fetches.value == 1 ? reply.held(by: gate) : reply
    }
    let values = MemoryDataStore()
    let session = SAPURLSession.observed(
      by: CSRFTokenObserver(
        rootUrl: server.url("/"), tokenStore: CSRFTokenStorage(store: CodableStorage(store: values))))

    async let waiting = session.post(server.url("/orders"))
    _ = try await server.request(1)
    session.clearCredentials()
    gate.open()

    #expect(await waiting.code == .userAuthenticationRequired)
    #expect(values.keys().isEmpty)
    #expect(session.configuration.httpCookieStorage?.cookies == [])
    #expect(await session.post(server.url("/orders")).status == 201)
    let orders = server.requests.filter { $0.path == "/orders" }
    #expect(orders.map { $0.fields["X-CSRF-Token"] } == ["token-2"])
    #expect(orders.map { $0.fields[.cookie] } == ["SESSION=2"])
  }

  @Test func aNewRequestDoesNotWaitForAFetchFromBeforeTheSignOut() async throws {
    let fetches = Shared(0)
    let server = try LoopbackServer { [gate] request in
      guard request.fields["X-CSRF-Token"] == "Fetch" else { return .text("stored", status: .created) }
      fetches.change { $0 += 1 }
      let reply = Reply.text("").with("X-CSRF-Token", "token-\(fetches.value)")
      return fetches.value == 1 ? reply.held(by: gate) : reply
    }
    let session = SAPURLSession.observed(by: CSRFTokenObserver(rootUrl: server.url("/")))

    async let waiting = session.post(server.url("/orders"))
    _ = try await server.request(1)
    session.clearCredentials()

    #expect(await session.post(server.url("/orders")).status == 201)
    gate.open()
    #expect(await waiting.error != nil)
  }

  @Test func aTaskThatBeganBeforeTheSignOutIsNotSentAgainAfterIt() async throws {
    let server = try LoopbackServer { [gate] request in
      request.path == "/a" ? .redirect(to: "/b").held(by: gate) : .text("in")
    }
    let session = SAPURLSession(configuration: SAPURLSession.plain)

    async let redirected = session.get(server.url("/a"))
    _ = try await server.request(1)
    session.clearCredentials()
    gate.open()

    #expect(await redirected.code == .userAuthenticationRequired)
    #expect(server.requests.count == 1)
    #expect(await session.get(server.url("/b")).text == "in")
  }

  enum Clearing: CaseIterable { case theCall, theLines }

  @Test(arguments: Clearing.allCases)
  func aCookieReceivedAfterTheSignOutIsNotStored(_ clearing: Clearing) async throws {
    let server = try LoopbackServer { [gate] request in
      request.path == "/login"
        ? .text("in").with(.setCookie, "SESSION=anna; Max-Age=600").held(by: gate)
        : .text(request.fields[.cookie] ?? "none")
    }
    let values = CodableStorage()
    let configuration = SAPURLSession.plain
    configuration.httpCookieStorage = SAPHTTPCookieStorage(persistentStorage: values, options: .persistSessionCookies)
    let session = SAPURLSession(configuration: configuration)

    async let login = session.post(server.url("/login"))
    _ = try await server.request(1)
    switch clearing {
    case .theCall: session.clearCredentials()
    case .theLines:
      session.configuration.urlCache?.removeAllCachedResponses()
      session.configuration.httpCookieStorage?.removeCookies(since: .distantPast)
    }
    gate.open()

    #expect(await login.text == "in")
    #expect(session.configuration.httpCookieStorage?.cookies == [])
    #expect(try values.keys() == ["SAPHTTPCookieStorage.signOut"])  // for other processes
    #expect(await session.get(server.url("/")).text == "none")
  }

  /// A screen that the user completes when the test decides so.
  private final class LoginScreen: BasicCredentialDiscovery, Sendable {
    let answers = Shared<[@Sendable (BasicCredential?, (any Error)?) -> Void]>([])
    let isShown = Gate()

    func provideBasicCredential(
      for url: URL, challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (BasicCredential?, (any Error)?) -> Void
    ) {
      answers.change { $0.append(completionHandler) }
      isShown.open()
    }
  }

  @Test func aPasswordThatIsGivenAfterTheSignOutIsNeitherSentNorStored() async throws {
    let service = try MobileServices(.init(users: ["anna": "secret"]))
    let (screen, values) = (LoginScreen(), MemoryDataStore())
    let session = SAPURLSession.observed(
      by: BasicAuthenticationObserver(
        credentialStore: BasicCredentialStorage(store: CodableStorage(store: values)), credentialDiscovery: screen))

    async let waiting = session.get(service.url)
    try await screen.isShown.wait()
    session.clearCredentials()
    let failed = await waiting
    screen.answers.value.first?(BasicCredential(username: "anna", password: "secret"), nil)

    #expect(failed.code == .userAuthenticationRequired)
    async let next = session.get(service.url)
    await screen.answers.wait { $0.count == 2 }
    #expect(values.keys().isEmpty)
    #expect(!service.requests.isEmpty)
    #expect(service.requests.allSatisfy { !$0.fields.contains(.authorization) })
    screen.answers.value.last?(nil, nil)
    #expect(await next.status == 401)
  }

  /// A login page and a token service that answer when the test decides so.
  private struct LoginPage: OAuth2Authentication {
    let logins = Shared(0)
    let refreshes = Shared<[@Sendable (OAuth2Token?, (any Error)?) -> Void]>([])
    let isRefreshing = Gate()

    func authenticate(completionHandler: @escaping @Sendable (OAuth2Token?, (any Error)?) -> Void) {
      logins.change { $0 += 1 }
      completionHandler(OAuth2Token(accessToken: "login \(logins.value)", tokenType: "Bearer"), nil)
    }

    func refresh(token: OAuth2Token, completionHandler: @escaping @Sendable (OAuth2Token?, (any Error)?) -> Void) {
      refreshes.change { $0.append(completionHandler) }
      isRefreshing.open()
    }

    func cancelAuthentication() {}
  }

  /// Returns a session whose stored token has expired, and the page that renews it.
  private static func renewing(at backend: URL) throws -> (LoginPage, OAuth2TokenStorage, SAPURLSession) {
    let (page, store) = (LoginPage(), OAuth2TokenStorage())
    let expired = OAuth2Token(accessToken: "old", tokenType: "Bearer", expiryDate: .distantPast, refreshToken: "r")
    try store.store(token: expired, for: backend)
    let observer = OAuth2Observer(authenticator: page, tokenStore: store, backend: backend)
    return (page, store, SAPURLSession.observed(by: observer))
  }

  @Test(arguments: [true, false])
  func aRenewalThatCompletesAfterTheSignOutIsDiscarded(_ succeeds: Bool) async throws {
    let server = try LoopbackServer { _ in .text("in") }
    let (page, store, session) = try Self.renewing(at: server.url)

    async let waiting = session.get(server.url("/a"))
    try await page.isRefreshing.wait()
    session.clearCredentials()
    let failed = await waiting
    page.refreshes.value.first?(
      succeeds ? OAuth2Token(accessToken: "late", tokenType: "Bearer") : nil,
      succeeds ? nil : URLError(.userAuthenticationRequired))

    #expect(failed.code == .userAuthenticationRequired)
    #expect(await session.get(server.url("/b")).text == "in")
    #expect(server.requests.map { $0.fields[.authorization] } == ["Bearer login 1"])
    #expect(page.logins.value == 1)
    #expect(try store.token(for: server.url)?.accessToken == "login 1")
  }

  /// Another process deletes the stored token, because the user signs out there.
  @Test func aTokenThatWasDeletedDuringItsRenewalIsNotStoredAgain() async throws {
    let server = try LoopbackServer { _ in .text("in") }
    let (page, store, session) = try Self.renewing(at: server.url)

    async let waiting = session.get(server.url("/a"))
    try await page.isRefreshing.wait()
    try store.deleteToken(for: server.url)
    page.refreshes.value.first?(OAuth2Token(accessToken: "late", tokenType: "Bearer"), nil)

    #expect(await waiting.code == .userAuthenticationRequired)
    #expect(try store.token(for: server.url) == nil && server.requests.isEmpty)
    #expect(await session.get(server.url("/b")).text == "in")
    #expect(server.requests.map { $0.fields[.authorization] } == ["Bearer login 1"])
  }

  @Test func aRefusalAfterTheSignOutShowsNoLoginPage() async throws {
    let server = try LoopbackServer { [gate] _ in
      .status(.unauthorized, fields: [.wwwAuthenticate: #"Bearer error="invalid_token""#]).held(by: gate)
    }
    let (page, store) = (LoginPage(), OAuth2TokenStorage())
    try store.store(token: OAuth2Token(accessToken: "old", tokenType: "Bearer"), for: server.url)
    let session = SAPURLSession.observed(
      by: OAuth2Observer(authenticator: page, tokenStore: store, backend: server.url))

    async let waiting = session.get(server.url("/a"))
    _ = try await server.request(1)
    session.clearCredentials()
    gate.open()

    #expect(await waiting.status == 401)
    #expect(page.logins.value == 0)
  }

  #if os(Linux)
  /// Answers the question for a certificate when the test decides so.
  private final class CertificateDialog: SAPURLSessionDelegate {
    let answers = Shared<[@Sendable (SAPURLSession.AuthChallengeDisposition) -> Void]>([])
    let isShown = Gate()

    func sapURLSession(
      _ session: SAPURLSession, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
    ) {
      guard challenge.protectionSpace.authenticationMethod == SAPClientCertificate.authenticationMethod else {
        return completionHandler(.performDefaultHandling)
      }
      answers.change { $0.append(completionHandler) }
      isShown.open()
    }
  }

  @Test func aCertificateThatIsChosenAfterTheSignOutIsNotShown() async throws {
    let server = try LoopbackServer { _ in .text("in") }
    let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
    let dialog = CertificateDialog()
    let session = SAPURLSession(configuration: SAPURLSession.plain, delegate: dialog)

    async let waiting = session.get(url)
    try await dialog.isShown.wait()
    session.clearCredentials()
    dialog.answers.value.first?(.use(SAPClientCertificate(pkcs12: Data(), password: "")))

    #expect(await waiting.code == .userAuthenticationRequired)
    async let next = session.get(url)
    await dialog.answers.wait { $0.count == 2 }
    dialog.answers.value.last?(.performDefaultHandling)
    #expect(await next.code != .userAuthenticationRequired)
  }
  #endif
}

@Suite("Credentials for the session", .timeLimit(.minutes(5)))
struct SessionCredentialTests {
  private let server: LoopbackServer

  init() throws {
    server = try LoopbackServer { request in
      request.fields[.authorization] == "Basic YW5uYTpzZWNyZXQ="
        ? .text("welcome") : .text("refused", status: .unauthorized).with(.wwwAuthenticate, #"Basic realm="office""#)
    }
  }

  private func probe(_ persistence: URLCredential.Persistence) -> ObserverProbe {
    ObserverProbe { probe in
      probe.onChallenge = { _ in .use(URLCredential(user: "anna", password: "secret", persistence: persistence)) }
    }
  }

  private func questions(_ probe: ObserverProbe) -> Int { probe.log.count { $0.hasPrefix("challenge") } }

  @Test func a401AfterTheSignOutAsksNobody() async throws {
    let gate = Gate()
    let slow = try LoopbackServer { _ in
      .status(.unauthorized, fields: [.wwwAuthenticate: #"Basic realm="office""#]).held(by: gate)
    }
    let probe = probe(.forSession)
    let session = SAPURLSession.uncached(probe)

    async let waiting = session.get(slow.url("/"))
    _ = try await slow.request(1)
    session.clearCredentials()
    gate.open()

    #expect(await waiting.status == 401)
    #expect(questions(probe) == 0)
  }

  @Test func theSecondRequestAsksNoObserver() async throws {
    let probe = probe(.forSession)
    let session = SAPURLSession.uncached(probe)

    for path in ["/a/b", "/c", "/a/d"] { #expect(await session.get(server.url(path)).text == "welcome") }

    #expect(questions(probe) == 1)
  }

  @Test(arguments: [URLCredential.Persistence.forSession, .permanent])
  func aSignOutEndsThem(_ persistence: URLCredential.Persistence) async throws {
    let probe = probe(persistence)
    let session = SAPURLSession.uncached(probe)
    #expect(await session.get(server.url("/")).text == "welcome")

    session.clearCredentials()
    probe.onChallenge = { _ in .performDefaultHandling }

    #expect(await session.get(server.url("/")).status == 401)
    #expect(questions(probe) == 2)
    let other = SAPURLSession.uncached()
    #expect(await other.get(server.url("/")).status == 401)
  }

  @Test func aRefusedCredentialIsAskedForAgain() async throws {
    let probe = ObserverProbe()
    probe.onChallenge = { challenge in
      .use(
        URLCredential(
          user: "anna", password: challenge.previousFailureCount == 0 ? "wrong" : "secret", persistence: .forSession))
    }
    let session = SAPURLSession.uncached(probe)

    #expect(await session.get(server.url("/a/b")).text == "welcome")
    #expect(await session.get(server.url("/c")).text == "welcome")

    #expect(questions(probe) == 2)
  }
}
