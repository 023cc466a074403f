import Foundation
import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
import TestSupport
#endif

/// A session retains an unregistered observer only as long as its tasks need it, and a sign-out still deletes the data
/// that the observer stored.
@Suite("The lifetime of observers", .timeLimit(.minutes(5)))
struct ObserverLifetimeTests {
  private struct WeakReference {
    weak var object: AnyObject?
  }

  /// An app's object, which shows a page or asks the user. It uses the session, like apps.
  private final class Page: SAMLAuthentication, OTPAuthentication, OAuth2Authentication, BasicCredentialDiscovery,
    CSRFTokenURLProviding
  {
    let session: SAPURLSession

    init(_ session: SAPURLSession) { self.session = session }

    func authenticate(session: SAPURLSession, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
      completionHandler(nil)
    }
    func authenticate(completionHandler: @escaping @Sendable (OAuth2Token?, (any Error)?) -> Void) {
      completionHandler(OAuth2Token(accessToken: "token", tokenType: "Bearer"), nil)
    }
    func refresh(
      token: OAuth2Token, completionHandler: @escaping @Sendable (OAuth2Token?, (any Error)?) -> Void
    ) { completionHandler(nil, nil) }
    func cancelAuthentication() {}
    func provideBasicCredential(
      for url: URL, challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (BasicCredential?, (any Error)?) -> Void
    ) { completionHandler(BasicCredential(username: "anna", password: "secret"), nil) }
    func csrfTokenURL(for url: URL) -> URL { url }
  }

  private static let kinds: [(name: String, make: @Sendable (Page) -> any SAPURLSessionObserving)] = [
    ("SAML", { SAMLObserver(authenticator: $0) }),
    ("OTP", { OTPObserver(authenticator: $0) }),
    ("OAuth 2", { OAuth2Observer(authenticator: $0) }),
    ("Basic", { BasicAuthenticationObserver(credentialDiscovery: $0) }),
    ("CSRF", { CSRFTokenObserver(tokenUrlProvider: $0) }),
    ("blocked users", { page in SAPcpmsUserBlockedObserver { _ in page.cancelAuthentication() } }),
    ("lock and wipe", { _ in SAPcpmsLockAndWipeObserver(store: CodableStorage()) }),
    ("version", { _ in ApplicationVersionObserver() }), ("correlation", { _ in CorrelationObserver() }),
    ("Mobile Services", { _ in SAPcpmsObserver(applicationID: "app", deviceID: nil) }),
    ("language", { _ in LanguageObserver() }), ("passport", { _ in SAPPassportObserver() }),
    ("API key", { _ in APIKeyAuthenticationObserver(apiKey: "key") }),
    ("activity", { _ in NetworkActivityIndicatorObserver() }),
  ]

  @Test(arguments: kinds.map(\.name))
  func anObserverThatLeavesIsReleasedWithItsAppsObjects(_ kind: String) async throws {
    let server = try LoopbackServer { _ in .text("welcome") }
    let session = SAPURLSession(configuration: SAPURLSession.plain)
    let make = try #require(Self.kinds.first { $0.name == kind }?.make)
    var references: [WeakReference] = []
    do {
      let page = Page(session)
      let observer = make(page)
      references = [WeakReference(object: page), WeakReference(object: observer)]
      session.register(observer)
      #expect(await session.get(server.url("/")).text == "welcome")
      session.unregister(observer)
    }
    await session.callbacksHaveReturned()

    try await until { references.allSatisfy { $0.object == nil } }
    session.clearCredentials()
  }

  /// The session keeps what the observer has obtained, but not the object that asked the user.
  @Test func anObserverThatHasAskedForAPasswordIsReleasedWithItsAppsObjects() async throws {
    let server = try LoopbackServer { request in
      request.fields[.authorization] == nil
        ? .text("who?", status: .unauthorized).with("WWW-Authenticate", "Basic realm=\"r\"") : .text("welcome")
    }
    let session = SAPURLSession(configuration: SAPURLSession.plain)
    var references: [WeakReference] = []
    do {
      let page = Page(session)
      let observer = BasicAuthenticationObserver(credentialDiscovery: page)
      references = [WeakReference(object: page), WeakReference(object: observer)]
      session.register(observer)
      #expect(await session.get(server.url("/")).text == "welcome")
      session.unregister(observer)
    }
    await session.callbacksHaveReturned()

    try await until { references.allSatisfy { $0.object == nil } }
    session.clearCredentials()
  }

  /// The objects of an observer retain the session, which retained the observer.
  @Test(arguments: kinds.map(\.name))
  func anInvalidatedSessionIsReleasedWithItsObservers(_ kind: String) async throws {
    let make = try #require(Self.kinds.first { $0.name == kind }?.make)
    var reference = WeakReference()
    do {
      let session = SAPURLSession(configuration: SAPURLSession.plain)
      reference.object = session
      session.register(make(Page(session)))
      session.invalidateAndCancel()
      await session.callbacksHaveReturned()
    }

    try await until { reference.object == nil }
  }

  #if os(Linux)
  private final class Enrolment: UserIdentityObtaining {
    func obtainUserIdentity(completionHandler: @escaping @Sendable (Data?, (any Error)?) -> Void) {
      completionHandler(nil, nil)
    }
  }

  @Test func anObserverOfCertificatesThatLeavesIsReleased() async throws {
    let session = SAPURLSession(configuration: SAPURLSession.plain)
    var references: [WeakReference] = []
    do {
      let enrolment = Enrolment()
      let observer = UserIdentityObserver(userIdentityDiscovery: enrolment)
      references = [WeakReference(object: enrolment), WeakReference(object: observer)]
      session.register(observer)
      session.unregister(observer)
    }
    try await until { references.allSatisfy { $0.object == nil } }
  }
  #endif

  /// The login that the observer began is discarded and ended, although the observer is unregistered.
  @Test func aSignOutEndsTheLoginOfAnObserverThatHasLeft() async throws {
    final class SlowPage: SAMLAuthentication {
      let (shown, closed) = (Gate(), Gate())
      let finish = Shared<(@Sendable ((any Error)?) -> Void)?>(nil)

      func authenticate(session: SAPURLSession, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        finish.change { $0 = completionHandler }
        shown.open()
      }
      func cancelAuthentication() {
        closed.open()
        finish.value?(SAMLError.cancelled)
      }
    }
    let server = try LoopbackServer { _ in .text("page").with("com.sap.cloud.security.login", "login-request") }
    let page = SlowPage()
    let session = SAPURLSession(configuration: SAPURLSession.plain)
    do {
      let observer = SAMLObserver(authenticator: page)
      session.register(observer)
      async let waiting = session.get(server.url("/"))
      try await page.shown.wait()
      session.unregister(observer)

      session.clearCredentials()

      try await page.closed.wait()
      let outcome = await waiting
      #expect(outcome.code == .userAuthenticationRequired)
    }
  }
}
