import Foundation
import MartletEngine
import MartletSQLite
import MartletSemantics
import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The tests with sessions of the default configuration, which share cookies and responses: one at a time.
@Suite("Sessions of the default configuration", .serialized, .timeLimit(.minutes(5)))
struct DefaultConfigurationTests {
  /// Removes what earlier tests have left.
  static func removeAll() { SAPURLSession().clearCredentials() }

  init() { Self.removeAll() }

  @Test func itHasTheDefaultConfigurationAndNoDelegate() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let session = SAPURLSession()

    let outcome = await session.outcome(of: server.url("/"))

    #expect(outcome.text == "hello")
    #expect(session.delegate == nil)
    #expect(session.isValid)
    #expect(session.observers.isEmpty)
    #expect(
      session.configuration.timeoutIntervalForRequest == URLSessionConfiguration.default.timeoutIntervalForRequest)
  }

  @Test func theDocumentedLinesReallyClear() async throws {
    let service = try service()
    let session = SAPURLSession()
    let picture = service.url("/backend/Images('a')/$value")
    await session.get(picture)
    await session.get(picture)
    #expect(service.requests.count == 1)
    #expect(session.configuration.httpCookieStorage?.cookies?.count == 1)

    session.configuration.urlCache?.removeAllCachedResponses()
    session.configuration.httpCookieStorage?.removeCookies(since: .distantPast)
    await session.get(picture)

    #expect(service.requests.count == 2)
    #expect(service.requests.last?.fields.contains(.cookie) == false)
    #expect(service.sessionCount == 2)
  }

  private func service() throws -> MobileServices {
    try MobileServices(.init(media: ["a": Media(Data([1, 2, 3]))]))
  }

  private func server(_ gate: Gate? = nil) throws -> LoopbackServer {
    try LoopbackServer { request in
      guard request.path == "/login" else {
        return .text(request.fields[.cookie] ?? "none").with(.cacheControl, "max-age=60")
      }
      let reply = Reply.text("in").with(.setCookie, "ID=1; Max-Age=600")
      return gate.map { reply.held(by: $0) } ?? reply
    }
  }

  @Test func theyShareCookiesAndResponses() async throws {
    let server = try server()
    #expect(await SAPURLSession().post(server.url("/login")).status == 200)

    #expect(await SAPURLSession().get(server.url("/show")).text == "ID=1")
    #expect(await SAPURLSession().get(server.url("/show")).text == "ID=1")
    #expect(server.requests.count == 2)
  }

  @Test func aCookieReceivedAfterTheSharedStorageWasEmptiedIsNotStored() async throws {
    let gate = Gate()
    let server = try server(gate)
    let session = SAPURLSession()

    async let login = session.post(server.url("/login"))
    _ = try await server.request(1)
    HTTPCookieStorage.shared.removeCookies(since: .distantPast)
    gate.open()

    #expect(await login.text == "in")
    #expect(session.configuration.httpCookieStorage?.cookies == [])
    #expect(await session.post(server.url("/login")).text == "in")
    #expect(session.configuration.httpCookieStorage?.cookies?.map(\.name) == ["ID"])
  }

  @Test func aResponseReceivedAfterTheSharedCacheWasEmptiedIsNotStored() async throws {
    let gate = Gate()
    let server = try LoopbackServer { _ in .text("picture").with(.cacheControl, "max-age=60").held(by: gate) }
    let session = SAPURLSession()

    async let picture = session.get(server.url("/"))
    _ = try await server.request(1)
    URLCache.shared.removeAllCachedResponses()
    gate.open()

    #expect(await picture.text == "picture")
    #expect(await session.get(server.url("/")).text == "picture")
    #expect(server.requests.count == 2)
  }

  @Test func aSignOutEmptiesBothSharedStores() async throws {
    let server = try server()
    let cookie = try #require(
      HTTPCookie(properties: [.name: "app", .value: "1", .domain: "127.0.0.1", .path: "/", .discard: "TRUE"]))
    HTTPCookieStorage.shared.setCookie(cookie)
    let request = URLRequest(url: server.url("/of-the-app"))
    let response = CachedURLResponse(
      response: URLResponse(url: server.url, mimeType: nil, expectedContentLength: 1, textEncodingName: nil),
      data: Data([7]))
    URLCache.shared.storeCachedResponse(response, for: request)
    #expect(URLCache.shared.cachedResponse(for: request)?.data == Data([7]))
    #expect(await SAPURLSession().get(server.url("/show")).text == "app=1")

    SAPURLSession().clearCredentials()

    #expect(HTTPCookieStorage.shared.cookies?.contains { $0.name == "app" } == false)
    #expect(URLCache.shared.cachedResponse(for: request) == nil)
    #expect(await SAPURLSession().get(server.url("/show")).text == "none")
  }

  @Test func aCookieThatTheAppDeletesIsNotSentEvenIfNoneIsStoredAnyMore() async throws {
    let server = try LoopbackServer { .text($0.fields[.cookie] ?? "none") }
    let storage = try #require(SAPURLSession().configuration.httpCookieStorage)
    let cookie = try #require(
      HTTPCookie(properties: [.name: "app", .value: "1", .domain: "127.0.0.1", .path: "/", .discard: "TRUE"]))
    HTTPCookieStorage.shared.setCookie(cookie)
    #expect(await SAPURLSession().get(server.url("/show")).text == "app=1")
    storage.cookieAcceptPolicy = .never
    defer { storage.cookieAcceptPolicy = .always }

    HTTPCookieStorage.shared.deleteCookie(cookie)

    #expect(await SAPURLSession().get(server.url("/show")).text == "none")
  }

  #if os(Linux)
  /// A page whose user logs in, and has signed out in another process of the program in the meantime.
  private final class Page: CookiePagePresenting {
    private let cookie: HTTPCookie
    private let otherProcess: SQLiteCookieStore

    init(_ cookie: HTTPCookie, _ otherProcess: SQLiteCookieStore) {
      (self.cookie, self.otherProcess) = (cookie, otherProcess)
    }

    func present(
      _ page: URL, with cookies: [HTTPCookie], until finish: URL,
      completionHandler: @escaping @Sendable ([HTTPCookie]?, (any Error)?) -> Void
    ) {
      Task { [cookie, otherProcess] in
        do {
          try await otherProcess.removeAll()
          completionHandler([cookie], nil)
        } catch { completionHandler(nil, error) }
      }
    }

    func dismiss() {}
  }

  @Test func theCookiesOfASAMLPageAreNotStoredAfterASignOutInAnotherProcess() async throws {
    let session = SAPURLSession()
    let data = try #require(FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first)
    let file = data.appending(path: "\(ProcessInfo.processInfo.processName)/SAPFoundation/cookies.sqlite")
    let cookie = try #require(
      HTTPCookie(properties: [.name: "LOGIN", .value: "1", .domain: "127.0.0.1", .path: "/", .discard: "TRUE"]))
    let page = try #require(URL(string: "http://127.0.0.1/login"))
    let authenticator = SAMLAuthenticator(
      authenticationParameters: SAMLAuthenticationParameters(authorizationEndpointURL: page, finishEndpointURL: page),
      webViewPresenter: Page(cookie, try SQLiteCookieStore(at: file)))

    await withCheckedContinuation { continuation in
      authenticator.authenticate(session: session) { _ in continuation.resume() }
    }

    #expect(session.configuration.httpCookieStorage?.cookies == [])
  }
  #endif

  /// The app's copy expires; the session's own was renewed by the server.
  @Test func aCookieWhoseSharedCopyExpiresIsStillSent() async throws {
    let server = try LoopbackServer { .text($0.fields[.cookie] ?? "none").with(.setCookie, "ID=1; Max-Age=600") }
    func cookie(_ name: String, seconds: TimeInterval) throws -> HTTPCookie {
      try #require(
        HTTPCookie(properties: [
          .name: name, .value: "1", .domain: "127.0.0.1", .path: "/", .expires: Date(timeIntervalSinceNow: seconds),
        ]))
    }
    HTTPCookieStorage.shared.setCookie(try cookie("ID", seconds: 1))
    #expect(await SAPURLSession().get(server.url("/a")).text == "ID=1")

    try await until {
      HTTPCookieStorage.shared.setCookie(try cookie("other", seconds: -1))  // Foundation then looks for expired ones.
      return HTTPCookieStorage.shared.cookies?.contains { $0.name == "ID" } == false
    }

    #expect(await SAPURLSession().get(server.url("/b")).text == "ID=1")
  }

  /// Foundation notifies from the call that changes its storage.
  @Test(arguments: [true, false])
  func anAppMaySignOutWhenItIsNotifiedOfACredential(whileItIsStored: Bool) async throws {
    let server = try LoopbackServer { request in
      request.fields[.authorization] == nil
        ? .status(.unauthorized, fields: [.wwwAuthenticate: #"Basic realm="r""#]) : .text("in")
    }
    let session = SAPURLSession()
    session.register(
      ObserverProbe { probe in
        probe.onChallenge = { _ in .use(URLCredential(user: "anna", password: "secret", persistence: .permanent)) }
      })
    let notifications = Shared(0)
    let token = NotificationCenter.default.addObserver(
      forName: .NSURLCredentialStorageChanged, object: nil, queue: nil
    ) { _ in
      notifications.change { $0 += 1 }
      if whileItIsStored || notifications.value > 1 { session.clearCredentials() }
    }
    defer { NotificationCenter.default.removeObserver(token) }

    let outcome = await session.get(server.url("/"))
    #expect(whileItIsStored ? outcome.code == .userAuthenticationRequired : outcome.text == "in")
    session.clearCredentials()

    #expect(notifications.value >= 2)
    let stored = URLCredentialStorage.shared.allCredentials.filter { $0.key.port == Int(server.port) }
    #expect(stored.values.allSatisfy { $0.isEmpty })
  }

  @Test func anAppsOwnSharedCacheIsEmptiedByItsOwnCalls() async throws {
    let before = URLCache.shared
    defer { URLCache.shared = before }
    URLCache.shared = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
    let (server, configuration) = (try server(), URLSessionConfiguration.default)
    for _ in 0..<2 { _ = await SAPURLSession(configuration: configuration).get(server.url("/show")) }
    #expect(server.requests.count == 1)

    URLCache.shared.removeAllCachedResponses()

    #expect(await SAPURLSession(configuration: configuration).get(server.url("/show")).text == "none")
    #expect(server.requests.count == 2)
  }

  /// An app's own class may log its calls through a session, or ask for one on another thread and wait.
  @Test func anAppsOwnSharedCacheMayUseASessionWhenItIsAsked() async throws {
    let before = URLCache.shared
    defer { URLCache.shared = before }
    let own = AskingCache()
    URLCache.shared = own
    let (server, configuration) = (try server(), URLSessionConfiguration.default)

    for _ in 0..<2 { _ = await SAPURLSession(configuration: configuration).get(server.url("/show")) }

    #expect(own.session.value?.configuration.urlCache is SAPURLCache)
    #expect(server.requests.count == 1)
  }
}

/// A cache of an app that makes a session when it is asked for the first time.
private final class AskingCache: URLCache, @unchecked Sendable {
  let session = Shared<SAPURLSession?>(nil)
  private let isAsked = Atomic(false)

  init() { super.init(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil) }

  override func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
    if !isAsked.exchange(true, ordering: .relaxed) {
      let made = SAPURLSession(configuration: .default)
      session.change { $0 = made }
    }
    return super.cachedResponse(for: request)
  }
}
