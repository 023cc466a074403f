import Foundation
import MartletTesting
import SAPFoundationTesting
import TestSupport
import Testing

import SAPFioriFlows
@_spi(Stores) @testable import SAPFoundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// After a sign-out, nothing of the user is stored: one test for each part that stores something.
@Suite("Nothing of the user is stored after a sign-out", .timeLimit(.minutes(5)))
struct SignOutMembersTests {
  private static func cookie(_ name: String) throws -> HTTPCookie {
    try #require(HTTPCookie(properties: [.name: name, .value: "1", .domain: "127.0.0.1", .path: "/"]))
  }

  private func cookies(_ session: SAPURLSession) -> [String] {
    session.configuration.httpCookieStorage?.cookies?.map(\.name) ?? []
  }

  // MARK: - Logins with cookies

  /// A page whose user logs in at once, and signs out before or after it is closed.
  final class Page: CookiePagePresenting, Sendable {
    enum SignOut: CaseIterable { case before, after }

    private let signOut: SignOut
    let session = Shared<SAPURLSession?>(nil)

    init(_ signOut: SignOut) { self.signOut = signOut }

    func present(
      _ page: URL, with cookies: [HTTPCookie], until finish: URL,
      completionHandler: @escaping @Sendable ([HTTPCookie]?, (any Error)?) -> Void
    ) {
      if signOut == .before { session.value?.clearCredentials() }
      completionHandler((try? SignOutMembersTests.cookie("LOGIN")).map { [$0] }, nil)
      if signOut == .after { session.value?.clearCredentials() }
    }

    func dismiss() {}
  }

  @Test(arguments: Page.SignOut.allCases, [true, false])
  func theCookiesOfASAMLPageAreNotStored(_ signOut: Page.SignOut, isShared: Bool) async throws {
    let server = try LoopbackLogins()
    let parameters = SAMLAuthenticationParameters(
      authorizationEndpointURL: server.url("/login"), finishEndpointURL: server.url("/finished"))
    for _ in 0..<20 {
      let page = Page(signOut)
      let authenticator = SAMLAuthenticator(authenticationParameters: parameters, webViewPresenter: page)
      let session = SAPURLSession.observed(by: SAMLObserver(authenticator: authenticator))
      page.session.change { $0 = session }

      if isShared {
        _ = await session.get(server.url("/saml/a"))
      } else {
        _ = await withCheckedContinuation { continuation in
          authenticator.authenticate(session: session) { continuation.resume(returning: $0 == nil) }
        }
      }
      await session.callbacksHaveReturned()

      #expect(cookies(session).isEmpty)
      page.session.change { $0 = nil }
    }
  }

  /// An app's page, which goes on although it was cancelled: it stores a cookie, and logs in with the session.
  private final class StubbornPage: SAMLAuthentication, OTPAuthentication, Sendable {
    let (isShown, goesOn) = (Gate(), Gate())
    let logins = Shared<[Outcome]>([])
    private let login: URL

    init(_ login: URL) { self.login = login }

    func authenticate(session: SAPURLSession, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
      Task {
        isShown.open()
        try await goesOn.wait()
        session.configuration.httpCookieStorage?.setCookie(try SignOutMembersTests.cookie("OWN"))
        let outcome = await session.get(login)
        logins.change { $0.append(outcome) }
        completionHandler(nil)
      }
    }

    func cancelAuthentication() {}
  }

  @Test(arguments: ["/saml", "/otp"])
  func aLoginThatGoesOnAfterItWasCancelledStoresNothing(_ kind: String) async throws {
    let server = try LoopbackLogins()
    let page = StubbornPage(server.url("/login"))
    let session = SAPURLSession.observed(
      by: kind == "/saml" ? SAMLObserver(authenticator: page) : OTPObserver(authenticator: page))

    async let waiting = session.get(server.url(kind))
    try await page.isShown.wait()
    session.clearCredentials()
    #expect(await waiting.code == .userAuthenticationRequired)
    page.goesOn.open()
    await page.logins.wait { $0.count == 1 }

    #expect(page.logins.value.first?.code == .userAuthenticationRequired)
    #expect(server.count(of: "/login") == 0)
    #expect(cookies(session).isEmpty)
    // What the app itself does belongs to the next user.
    session.configuration.httpCookieStorage?.setCookie(try Self.cookie("NEXT"))
    #expect(await session.get(server.url("/login")).text == "welcome")
    #expect(Set(cookies(session)) == ["NEXT", "LOGIN"])
  }

  @Test func theCookieOfARedirectIsNotStored() async throws {
    let gate = Gate()
    let server = try LoopbackServer { request in
      request.path == "/there"
        ? .text("there") : .redirect(to: "/there").with(.setCookie, "SESSION=anna; Max-Age=600").held(by: gate)
    }
    let session = SAPURLSession.observed()

    async let waiting = session.get(server.url("/here"))
    _ = try await server.request(1)
    session.clearCredentials()
    gate.open()

    #expect(await waiting.code == .userAuthenticationRequired)
    #expect(cookies(session).isEmpty && server.requests.count == 1)
  }

  // MARK: - Stores of observers

  private struct TokenService: OAuth2Authentication {
    func authenticate(completionHandler: @escaping @Sendable (OAuth2Token?, (any Error)?) -> Void) {
      completionHandler(OAuth2Token(accessToken: "new", tokenType: "Bearer"), nil)
    }
    func refresh(token: OAuth2Token, completionHandler: @escaping @Sendable (OAuth2Token?, (any Error)?) -> Void) {
      completionHandler(nil, nil)
    }
    func cancelAuthentication() {}
  }

  @Test(arguments: [true, false])
  func aSessionEmptiesOnlyTheStoresOfObserversThatItHad(_ wasRegistered: Bool) async throws {
    let server = try LoopbackServer { _ in .text("in") }
    let store = OAuth2TokenStorage()
    let observer = OAuth2Observer(authenticator: TokenService(), tokenStore: store, backend: server.url)
    let (session, other) = (SAPURLSession.observed(by: observer), SAPURLSession.observed())
    #expect(await session.get(server.url("/")).text == "in")
    if wasRegistered { other.register(observer) }

    other.unregister(observer)
    other.clearCredentials()

    #expect(try store.token(for: server.url)?.accessToken == (wasRegistered ? nil : "new"))
  }

  #if os(Linux)
  private final class Enrolment: UserIdentityObtaining, Sendable {
    let answers = Shared<[@Sendable (Data?, (any Error)?) -> Void]>([])

    func obtainUserIdentity(completionHandler: @escaping @Sendable (Data?, (any Error)?) -> Void) {
      answers.change { $0.append(completionHandler) }
    }
  }

  @Test func aCertificateThatIsObtainedLaterIsNotStored() async throws {
    let url = try #require(URL(string: "https://127.0.0.1:\(try LoopbackServer { _ in .text("in") }.port)/"))
    let (enrolment, values) = (Enrolment(), MemoryDataStore())
    let session = SAPURLSession.observed(
      by: UserIdentityObserver(
        userIdentityDiscovery: enrolment, identityStore: UserIdentityStorage(store: CodableStorage(store: values))))

    async let waiting = session.get(url)
    await enrolment.answers.wait { $0.count == 1 }
    session.clearCredentials()
    enrolment.answers.value.first?(Data("certificate".utf8), nil)

    #expect(await waiting.code == .userAuthenticationRequired)
    async let next = session.get(url)
    await enrolment.answers.wait { $0.count == 2 }
    #expect(values.keys().isEmpty)
    enrolment.answers.value.last?(nil, nil)
    _ = await next
  }
  #endif

  // MARK: - Services

  @Test func whatBeganBeforeIsNotRegisteredOrStoredOnTheServer() async throws {
    let server = try LoopbackServer { _ in .status(.noContent) }
    let session = SAPURLSession.observed(by: ObserverProbe())
    let client = SAPcpmsRemoteNotificationClient(sapURLSession: session, destinationURL: server.url("/push"))
    let settings = SAPcpmsSettings(sapURLSession: session, applicationSettingsURL: server.url("/settings"))
    let errors = Shared<[any Error]>([])
    session.delegateQueue.isSuspended = true  // The observer is asked about each request later.

    client.registerDeviceToken(Data([1])) { error in if let error { errors.change { $0.append(error) } } }
    settings.store(["theme": "dark"], for: .application) { error in
      if let error { errors.change { $0.append(error) } }
    }
    try await until { session.delegateQueue.operationCount > 0 }
    session.clearCredentials()
    session.delegateQueue.isSuspended = false
    await errors.wait { $0.count == 2 }

    #expect(server.requests.isEmpty)
  }

  @Test func aFurtherPartOfTheLogsIsNotUploadedByTheNextUser() async throws {
    let (gate, folder) = (Gate(), try TemporaryFolder())
    let server = try LoopbackServer { _ in Reply.status(.noContent).held(by: gate) }
    let upload = LogUpload(LogFiles(in: folder.url))
    try upload.files.prepare()
    upload.uploadsInChunks = true
    upload.files.limits.fileSize = 1
    for line in ["one", "two"] { upload.files.append(line) }
    let session = SAPURLSession.observed()

    async let waiting: Void = upload.upload(to: server.url("/"), with: session)
    _ = try await server.request(1)
    session.clearCredentials()
    gate.open()

    do {
      try await waiting
      Issue.record("the upload has not failed")
    } catch SAPcpmsLogUploaderError.networkError(let cause, nil, nil) {
      #expect((cause as? URLError)?.code == .userAuthenticationRequired)
    }
    #expect(server.requests.count == 1)
    #expect(try upload.files.completed().map { try String(contentsOf: $0, encoding: .utf8) } == ["two"])
  }

  // MARK: - Openers

  private typealias Manager = SessionOpener<OnboardingSession>
  private typealias Done = @Sendable (OnboardingSession?, (any Error)?) -> Void

  private static func session(with storage: SAPHTTPCookieStorage) -> SAPURLSession {
    let configuration = SAPURLSession.plain
    configuration.httpCookieStorage = storage
    return SAPURLSession(configuration: configuration)
  }

  @Test func anOpenerThatEndsLateLeavesTheNextUserAlone() async throws {
    let storage = SAPHTTPCookieStorage()
    let openings = Shared<[Done]>([])
    let manager = Manager { done in openings.change { $0.append(done) } }
    manager.open { _ in }
    manager.reset()
    manager.open { _ in }
    openings.value[1](OnboardingSession(sapURLSession: Self.session(with: storage)), nil)
    storage.setCookie(try Self.cookie("NEXT"))

    let late = Self.session(with: storage)
    openings.value[0](OnboardingSession(sapURLSession: late), nil)

    #expect(storage.cookies?.map(\.name) == ["NEXT"])
    #expect(!late.isValid && manager.onboardingSession?.sapURLSession.isValid == true)
    // Later sign-outs are those of the next user.
    manager.reset()
    #expect(storage.cookies?.isEmpty == true)
  }

  @Test func theSessionsOfAnOpenerEndWithTheSignOut() async throws {
    let storage = SAPHTTPCookieStorage()
    let (goesOn, sessions) = (Gate(), Shared<[SAPURLSession]>([]))
    let server = try LoopbackServer { _ in .text("in").with(.setCookie, "LATE=1") }
    let manager = Manager { done in
      sessions.change { $0.append(Self.session(with: storage)) }
      Task {
        try await goesOn.wait()
        sessions.change { $0.append(Self.session(with: storage)) }
        done(nil, nil)
      }
    }
    manager.open { _ in }
    storage.setCookie(try Self.cookie("FORMER"))

    manager.reset()
    goesOn.open()
    await sessions.wait { $0.count == 2 }

    #expect(storage.cookies?.isEmpty == true)
    try await until { sessions.value.allSatisfy { !$0.isValid } }
    for session in sessions.value { #expect(await session.get(server.url("/")).error != nil) }
    #expect(server.requests.isEmpty && storage.cookies?.isEmpty == true)
  }

  @Test func sessionsThatAreMadeAfterTheOpeningAreTheirOwn() async throws {
    let later = Gate()
    let made = Shared<SAPURLSession?>(nil)
    let manager = Manager { done in
      Task {
        try await later.wait()
        made.change { $0 = SAPURLSession(configuration: .ephemeral) }
      }
      done(OnboardingSession(sapURLSession: SAPURLSession(configuration: .ephemeral)), nil)
    }
    manager.open { _ in }
    later.open()
    await made.wait { $0 != nil }
    manager.reset()
    #expect(made.value?.isValid == true)
  }
}
