import MartletTesting
import SAPFoundationTesting
import Synchronization
import TestSupport
import Testing

@testable import SAPFioriFlows

/// A browser without a window, for pages that set cookies.
private final class CookieBrowser: CookiePagePresenting {
  let pages = Counter()

  func present(
    _ page: URL, with cookies: [HTTPCookie], until finish: URL,
    completionHandler: @escaping @Sendable ([HTTPCookie]?, (any Error)?) -> Void
  ) {
    pages.next()
    let session = SAPURLSession(configuration: .ephemeral)
    session.dataTask(with: page) { _, _, error in
      completionHandler(session.configuration.httpCookieStorage?.cookies(for: page), error)
    }.resume()
  }

  func dismiss() {}
}

/// A user who enters codes and has a certificate.
private final class Person: FlowPresentationDelegate, OTPAuthentication, UserIdentityObtaining {
  let codes = Counter()
  let certificates = Counter()
  private let page: URL
  private let certificate: Data?

  init(page: URL, certificate: Data? = nil) { (self.page, self.certificate) = (page, certificate) }

  var state: PresentationState {
    get { .general }
    set {}
  }

  func setInfoText(_ text: String) {}

  func authenticate(session: SAPURLSession, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    codes.next()
    session.dataTask(with: page) { _, _, error in completionHandler(error) }.resume()
  }

  func cancelAuthentication() {}

  func obtainUserIdentity(completionHandler: @escaping @Sendable (Data?, (any Error)?) -> Void) {
    certificates.next()
    completionHandler(certificate, nil)
  }
}

@Suite("The steps that sign in with cookies, codes, certificates and keys", .timeLimit(.minutes(5)))
struct SignInStepTests {
  private func context(
    _ url: URL, _ person: any FlowPresentationDelegate = SilentPresentation(), _ session: SAPURLSession? = nil,
    settings backend: URL? = nil, keys: APIKeyAuthenticationConfig? = nil
  ) -> OnboardingContext {
    var context = OnboardingContext(
      sapURLSession: session ?? SAPURLSession(configuration: .ephemeral), presentationDelegate: person)
    context.info[.authenticationURL] = url
    context.info[.apiKeyAuthenticationConfig] = keys
    context.info[.sapcpmsSettingsParameters] = backend.map {
      SAPcpmsSettingsParameters(backendURL: $0, applicationID: "com.example.shop")
    }
    return context
  }

  private func text(_ context: OnboardingContext, _ url: URL) async throws -> String {
    String(decoding: try await context.sapURLSession.data(from: url).0, as: UTF8.self)
  }

  @Test func aSAMLLoginIsShownOnceAndAgainAfterTheSessionHasEnded() async throws {
    let (server, browser) = (try LoopbackLogins(), CookieBrowser())
    var context = context(server.url("/saml/orders"))
    context.info[.samlAuthenticationParameters] = SAMLAuthenticationParameters(
      authorizationEndpointURL: server.url("/login"), finishEndpointURL: server.url("/finished"))
    let steps: [any OnboardingStep] = [
      SAMLAuthenticationStep(presenter: browser), SimpleTaskStep(always: { _ in server.expireSessions() }),
    ]
    let last = try await OnboardingFlowController.onboard(on: steps, context: context)

    #expect(browser.pages.value == 1)
    #expect(try await text(last, server.url("/saml/settings")) == "/saml/settings ")
    #expect(try await text(last, server.url("/saml/more")) == "/saml/more ")
    #expect(browser.pages.value == 2)
  }

  @Test func aServerThatAsksAgainRightAfterASAMLLoginFailsTheStep() async throws {
    let (gateway, browser) = (try SAPGateway(), CookieBrowser())
    let context = context(gateway.url("/odata/v4?sap-fault=saml"), settings: gateway.url)
    let error = await #expect(throws: SAMLError.self) {
      _ = try await OnboardingFlowController.onboard(on: [SAMLAuthenticationStep(presenter: browser)], context: context)
    }
    guard case .credentialsRejected? = error else {
      Issue.record("expected .credentialsRejected, not \(String(describing: error))")
      return
    }
    #expect(browser.pages.value == 1)
  }

  @Test func aPageThatNobodyShowsIsNamed() async throws {
    let server = try LoopbackLogins()
    let saml = context(server.url("/saml/orders"), settings: server.url("/"))
    let rows: [(any OnboardingStep, String)] = [
      (SAMLAuthenticationStep(), "CookiePagePresenting"), (OTPSessionConfigurationStep(), "OTPAuthentication"),
    ]
    for (step, need) in rows {
      let error = await #expect(throws: OnboardingFlowError.self) {
        _ = try await OnboardingFlowController.onboard(on: [step], context: saml)
      }
      guard case .noDecision(_, need)? = error else {
        Issue.record("expected .noDecision for \(need), not \(String(describing: error))")
        continue
      }
    }
  }

  @Test func aSignInPageThatNoObserverAnswersIsNoLogin() async throws {
    let gateway = try SAPGateway()
    for fault in ["saml", "otp"] {
      let context = context(gateway.url("/odata/v4?sap-fault=\(fault)"))
      let error = await #expect(throws: OnboardingError.self) {
        _ = try await OnboardingFlowController.onboard(on: [AuthenticationStep()], context: context)
      }
      guard case .authenticationFailed("the server sent a sign-in page", _, _, is SAPLoginRequiredError)? = error else {
        Issue.record("expected .authenticationFailed, not \(String(describing: error))")
        continue
      }
    }
  }

  @Test func aCodeIsEnteredOnceForAllRequests() async throws {
    let server = try LoopbackLogins()
    let person = Person(page: server.url("/login"))
    let steps: [any OnboardingStep] = [OTPSessionConfigurationStep(), AuthenticationStep()]
    let last = try await OnboardingFlowController.onboard(on: steps, context: context(server.url("/otp/a"), person))
    #expect(try await text(last, server.url("/otp/b")) == "/otp/b ")
    #expect(person.codes.value == 1)

    // With a presenter of its own, the step does not need the context's delegate.
    let given: [any OnboardingStep] = [OTPSessionConfigurationStep(presenter: person), AuthenticationStep()]
    _ = try await OnboardingFlowController.restore(on: given, context: context(server.url("/otp/c")))
    #expect(person.codes.value == 2)
  }

  @Test func anAPIKeyIsSentToTheBackendOnly() async throws {
    let server = try LoopbackServer { request in
      request.fields["X-API-Key"] == "key-1" ? .text("in") : .status(.unauthorized)
    }
    let stranger = try ThirdParty()
    let (url, backend) = (server.url("/a"), server.url("/"))
    let config = APIKeyAuthenticationConfig(apikeys: ["key-1", "key-2"], isAPIKeyAccessOnly: true)
    let last = try await OnboardingFlowController.onboard(
      on: [APIKeyAuthenticationStep(config: config)], context: context(url, settings: backend))
    #expect(try await text(last, server.url("/b")) == "in")
    #expect(try await text(last, stranger.url) == "elsewhere" && stranger.values(of: "X-API-Key").isEmpty)

    let wrong = context(url, settings: backend, keys: APIKeyAuthenticationConfig(apikeys: ["wrong"]))
    for (context, problem) in [(wrong, "status 401"), (context(url), "apiKeyAuthenticationConfig")] {
      let error = await #expect(throws: OnboardingError.self) {
        _ = try await OnboardingFlowController.onboard(on: [APIKeyAuthenticationStep()], context: context)
      }
      #expect("\(String(describing: error))".contains(problem))
    }
  }

  #if os(Linux)
  private func session(_ server: PythonTLS) -> SAPURLSession {
    var connection = ConnectionConfiguration()
    connection.tls.authorities = server.file("ca.pem")
    return SAPURLSession(configuration: .ephemeral, connection: connection)
  }

  @Test func aCertificateIsObtainedOnceAndIsInTheStoreOfTheNextRun() async throws {
    let (server, folder) = (try PythonTLS(), try TemporaryFolder())
    let person = Person(page: server.url, certificate: try Data(contentsOf: server.file("good.p12")))
    let records = OnboardingRecords.temporary(folder)
    let store = { () -> StoreManagerStep in
      let step = StoreManagerStep(records)
      step.defaultPasscodePolicy = nil
      return step
    }
    let first = try await OnboardingFlowController.onboard(
      on: [UserIdentityAuthenticationStep(), store()], context: context(server.url, person, session(server)))
    #expect(try await text(first, server.url) == "good")
    first.persistentStoreManger.store?.close()

    var context = context(server.url, person, session(server))
    context.onboardingID = first.onboardingID
    let steps: [any OnboardingStep] = [store(), UserIdentityAuthenticationStep()]
    let second = try await OnboardingFlowController.restore(on: steps, context: context)
    #expect(try await text(second, server.url) == "good" && person.certificates.value == 1)

    await OnboardingFlowController.reset(on: steps, context: second)
    #expect(try UserIdentityStorage(store: second.credentialStore).identity(for: server.url) == nil)
  }

  @Test func aCertificateThatTheServerRefusesFailsTheStepAndStaysNowhere() async throws {
    let server = try PythonTLS()
    let person = Person(page: server.url, certificate: try Data(contentsOf: server.file("bad.p12")))
    let context = context(server.url, person, session(server))
    let error = await #expect(throws: URLError.self) {
      _ = try await OnboardingFlowController.onboard(on: [UserIdentityAuthenticationStep()], context: context)
    }
    #expect(error?.code == .clientCertificateRejected)
    #expect(try UserIdentityStorage(store: context.credentialStore).identity(for: server.url) == nil)
  }
  #endif
}
