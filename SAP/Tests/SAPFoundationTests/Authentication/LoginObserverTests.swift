import Foundation
import MartletSemantics
import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Logs in by loading a page, like a web view.
private final class Page: SAMLAuthentication, OTPAuthentication, Sendable {
  enum Way: Sendable {
    /// Through the session itself, in a task that begins within the call.
    case session
    /// With its own session, whose cookie it stores in the other session.
    case cookie
    /// It admits the user, but provides no cookie.
    case nothing
    case error
    /// It waits until it is cancelled.
    case never
  }

  let calls = Shared(0)
  let cancellations = Shared(0)
  let gate = Gate()
  private let url: URL
  private let way: Shared<Way>

  init(_ url: URL, by way: Way = .session) {
    self.url = url
    self.way = Shared(way)
  }

  func use(_ way: Way) { self.way.change { $0 = way } }

  func authenticate(session: SAPURLSession, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    calls.change { $0 += 1 }
    switch way.value {
    case .session:
      session.dataTask(with: url) { _, _, error in completionHandler(error) }.resume()
    case .cookie:
      let other = SAPURLSession(configuration: SAPURLSession.plain)
      let url = url
      other.dataTask(with: url) { _, _, error in
        let cookies = other.configuration.httpCookieStorage?.cookies(for: url) ?? []
        for cookie in cookies { session.configuration.httpCookieStorage?.setCookie(cookie) }
        completionHandler(error)
      }.resume()
    case .nothing: completionHandler(nil)
    case .error: completionHandler(TestFailure(name: "no page"))
    case .never:
      Task {
        try? await gate.wait()
        completionHandler(SAMLError.cancelled)
      }
    }
  }

  func cancelAuthentication() {
    cancellations.change { $0 += 1 }
    gate.open()
  }
}

@Suite("Logins by SAML and one-time password", .timeLimit(.minutes(5)))
struct LoginObserverTests {
  enum Challenge: String, CaseIterable, Sendable {
    case saml, otp

    fileprivate func session(_ page: Page) -> SAPURLSession {
      let session = SAPURLSession(configuration: .ephemeral)
      switch self {
      case .saml: session.register(SAMLObserver(authenticator: page))
      case .otp: session.register(OTPObserver(authenticator: page))
      }
      return session
    }

    func isRejection(_ error: (any Error)?) -> Bool {
      switch (self, error) {
      case (.saml, SAMLError.credentialsRejected?), (.otp, OTPError.credentialsRejected?): true
      default: false
      }
    }
  }

  @Test(arguments: LoginServerKind.allCases, Challenge.allCases)
  func theCallerNoticesNothingOfALogin(_ kind: LoginServerKind, _ login: Challenge) async throws {
    for way in [Page.Way.session, .cookie] {
      let server = try kind.make()
      let page = Page(server.url("/login"), by: way)
      let session = login.session(page)

      let first = await session.get(server.url("/\(login.rawValue)/picture"))
      let second = await session.post(server.url("/\(login.rawValue)/orders"), "one")

      #expect(first.text == "/\(login.rawValue)/picture ")
      #expect(second.text == "/\(login.rawValue)/orders one")
      #expect(page.calls.value == 1)

      try await server.expireSessions()
      #expect(
        await session.post(server.url("/\(login.rawValue)/orders"), "two").text == "/\(login.rawValue)/orders two")
      #expect(page.calls.value == 2)
    }
  }

  @Test(arguments: LoginServerKind.allCases, Challenge.allCases)
  func manyRequestsLogInOnce(_ kind: LoginServerKind, _ login: Challenge) async throws {
    let server = try kind.make()
    let page = Page(server.url("/login"))
    let session = login.session(page)

    for round in 1...3 {
      await withTaskGroup(of: String?.self) { group in
        for number in 0..<12 {
          group.addTask { await session.get(server.url("/\(login.rawValue)/\(round)/\(number)")).text }
        }
        for await text in group { #expect(text?.hasPrefix("/\(login.rawValue)/\(round)/") == true) }
      }
      #expect(page.calls.value == round)
      try await server.expireSessions()
    }
  }

  @Test(arguments: LoginServerKind.allCases, Challenge.allCases)
  func aSecondChallengeFailsAndThereIsNoLoop(_ kind: LoginServerKind, _ login: Challenge) async throws {
    let server = try kind.make()
    let page = Page(server.url("/login"), by: .nothing)
    let session = login.session(page)

    let outcome = await session.get(server.url("/\(login.rawValue)/picture"))

    #expect(login.isRejection(outcome.error))
    #expect(page.calls.value == 1)
    #expect(try await server.count(of: "/\(login.rawValue)/picture") == 2)
    page.use(.session)
    #expect(await session.get(server.url("/\(login.rawValue)/picture")).text == "/\(login.rawValue)/picture ")
  }

  @Test func aLoginThatFailsIsTheErrorOfAllThatWaited() async throws {
    let server = try LoopbackLogins()
    let page = Page(server.url("/login"), by: .error)
    let session = Challenge.saml.session(page)

    let errors = await withTaskGroup(of: (any Error)?.self) { group in
      for number in 0..<8 { group.addTask { await session.get(server.url("/saml/\(number)")).error } }
      return await group.reduce(into: []) { $0.append($1 as? TestFailure) }
    }

    #expect(errors.map { $0?.name } == Array(repeating: "no page", count: 8))
    let asked = page.calls.value
    page.use(.session)
    #expect(await session.get(server.url("/saml/picture")).text == "/saml/picture ")
    #expect(page.calls.value == asked + 1)
  }

  @Test func signingOutEndsTheLoginAndTheRequestsThatWaitForIt() async throws {
    let server = try LoopbackLogins()
    let page = Page(server.url("/login"), by: .never)
    let session = Challenge.saml.session(page)

    async let outcome = session.get(server.url("/saml/picture"))
    await page.calls.wait { $0 > 0 }
    session.clearCredentials()

    #expect(await outcome.code == .userAuthenticationRequired)
    #expect(page.cancellations.value == 1)
  }

  @Test(arguments: Challenge.allCases)
  func aChallengeAfterTheSignOutShowsNoLoginPage(_ login: Challenge) async throws {
    let gate = Gate()
    let field: (FieldName, String) =
      login == .saml ? ("com.sap.cloud.security.login", "login-request") : ("x-smp-authentication", "otp-challenge")
    let server = try LoopbackServer { _ in .text("<form>").with(field.0, field.1).held(by: gate) }
    let page = Page(server.url("/login"))
    let session = login.session(page)

    async let outcome = session.post(server.url("/orders"), "one")
    _ = try await server.request(1)
    session.clearCredentials()
    gate.open()

    #expect(await outcome.text == "<form>")
    #expect(page.calls.value == 0)
    #expect(server.requests.count == 1)
  }

  @Test func noLoginBeginsAfterARedirectToAnotherOrigin() async throws {
    let server = try LoopbackLogins()
    let first = try LoopbackServer { _ in .redirect(to: server.url("/saml/picture").absoluteString) }
    let page = Page(server.url("/login"))
    let session = Challenge.saml.session(page)

    #expect(await session.get(first.url("/")).text == "<form>")
    #expect(page.calls.value == 0)
  }

  @Test func aRequestThatIsCancelledLeavesTheLoginToTheOthers() async throws {
    let server = try LoopbackLogins()
    let page = Page(server.url("/login"), by: .never)
    let session = Challenge.saml.session(page)
    let cancelled = Task { try await session.data(from: server.url("/saml/1")) }
    await page.calls.wait { $0 > 0 }

    cancelled.cancel()

    await #expect(throws: URLError.self) { try await cancelled.value }
    #expect(page.cancellations.value == 0)
    page.gate.open()
  }

  @Test func aNewStreamIsMadeAfterTheLoginAndABodyThatCanBeReadOnceIsAnError() async throws {
    let server = try LoopbackLogins()
    let page = Page(server.url("/login"))
    let session = Challenge.saml.session(page)
    var request = URLRequest("POST", server.url("/saml/orders"))

    let streamed = await withCheckedContinuation { continuation in
      let body = { @Sendable in InputStream(data: Data("streamed".utf8)) }
      session.uploadTask(withStreamedRequest: request, needNewBodyStream: body) { data, response, error in
        continuation.resume(returning: Outcome(data: data, response: response, error: error))
      }.resume()
    }
    server.expireSessions()
    request.httpBodyStream = InputStream(data: Data("once".utf8))
    let once = await session.outcome(of: request)

    #expect(streamed.text == "/saml/orders streamed")
    #expect(once.code == .requestBodyStreamExhausted)
    #expect(page.calls.value == 2)
  }

  @Test func aSubclassDecidesWhatAChallengeIs() async throws {
    final class Own: SAMLObserver {
      override func isChallenge(dataTask: SAPURLSessionTask, response: URLResponse) -> Bool {
        dataTask.context["login"] != nil && (response as? HTTPURLResponse)?.statusCode == 203
      }
    }
    let isOpen = Shared(false)
    let server = try LoopbackServer { request in
      if request.path == "/login" { isOpen.change { $0 = true } }
      return isOpen.value ? .text("in") : .text("out", status: 203)
    }
    let observer = Own(authenticator: Page(server.url("/login")))
    let session = SAPURLSession.uncached(observer)

    #expect(await session.get(server.url("/")).text == "out")
    #expect(await session.outcome(of: URLRequest(url: server.url("/"))) { $0.context["login"] = true }.text == "in")
  }

  @Test func aChallengeThatWasStoredIsNotBelieved() async throws {
    let server = try LoopbackLogins()
    let configuration = URLSessionConfiguration.ephemeral
    let before = SAPURLSession(configuration: configuration)
    let shared: URLSessionConfiguration = before.configuration
    _ = await before.get(server.url("/saml/picture"))  // stores the page
    _ = await before.get(server.url("/login"))
    let session = SAPURLSession(configuration: shared)
    let page = Page(server.url("/login"))
    session.register(SAMLObserver(authenticator: page))

    #expect(await session.get(server.url("/saml/picture")).text == "/saml/picture ")

    #expect(page.calls.value == 0)
  }
}
