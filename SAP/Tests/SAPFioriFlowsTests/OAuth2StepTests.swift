import SAPFoundationTesting
import TestSupport
import Testing

@testable import SAPFioriFlows

/// A login page of a gateway, and tokens that expire.
@Suite("The step that signs in with OAuth 2.0", .timeLimit(.minutes(5)))
struct OAuth2StepTests {
  private let browser = TestBrowser()

  private func app(_ faults: Set<SAPGateway.Fault> = []) throws -> GeneratedApp {
    var app = try GeneratedApp(faults)
    app.logins = GeneratedApp.oauth2(app.gateway)
    app.authentication = { [browser] in [OAuth2AuthenticationStep(presenter: browser)] }
    return app
  }

  /// Ends the tokens, as time does between two steps.
  private func expiring(_ app: GeneratedApp) -> GeneratedApp {
    var app = app
    app.between = [SimpleTaskStep(always: { [gateway = app.gateway] _ in gateway.expireTokens() })]
    return app
  }

  @Test func aUserSignsInOnceAndReturnsWithTheStoredToken() async throws {
    let app = try app()
    let context = try await app.onboard()
    #expect(try await app.user(context) == "anna")
    context.persistentStoreManger.store?.close()

    let returning = try await app.restore(context.onboardingID)
    #expect(try await app.user(returning) == "anna")
    #expect(browser.pages.value == 1 && app.count("POST /oauth2/api/v1/token 200") == 1)
  }

  @Test func aTokenThatExpiresBetweenTwoStepsIsRenewed() async throws {
    let app = expiring(try app())
    let context = try await app.onboard()
    #expect(try await app.user(context) == "anna" && context.info[.sapcpmsSettings] != nil)
    #expect(browser.pages.value == 1 && app.count("POST /oauth2/api/v1/token 200") == 2)
    context.persistentStoreManger.store?.close()

    // The renewed token is the one that is stored, and expires between two steps again.
    let returning = try await app.restore(context.onboardingID)
    #expect(try await app.user(returning) == "anna")
    #expect(browser.pages.value == 1 && app.count("POST /oauth2/api/v1/token 200") == 3)
  }

  @Test func aTokenThatCannotBeRenewedBetweenTwoStepsNeedsTheLoginPage() async throws {
    let app = expiring(try app([.refreshRefused]))
    let context = try await app.onboard()
    #expect(try await app.user(context) == "anna")
    #expect(browser.pages.value == 2)
    context.persistentStoreManger.store?.close()

    let id = context.onboardingID
    let closing = SimpleTaskStep(always: { [browser] _ in browser.user = nil })
    var leaving = app
    leaving.between = [closing] + app.between
    await #expect(throws: (any Error).self) { _ = try await leaving.restore(id) }
    #expect(app.stores.count == 1)

    // The user who closed the page has lost nothing.
    browser.user = "anna"
    #expect(try await app.user(try await app.restore(id)) == "anna")
  }

  @Test func aUserWhoClosesThePageIsNotOnboarded() async throws {
    let app = try app()
    browser.user = nil
    await #expect(throws: (any Error).self) { _ = try await app.onboard() }
    #expect(app.stores.isEmpty && app.count("POST /oauth2") == 0)
  }

  @Test func aUserWhomTheServerRefusesIsNotOnboarded() async throws {
    let app = try app()
    browser.user = "blocked"
    await #expect(throws: SAPcpmsUserBlockedError.traffic) { _ = try await app.onboard() }
    #expect(app.stores.isEmpty && app.screens.notes.entries.contains("TRAFFIC_BLOCKED"))
  }

  /// The app's own error, and not that no token was obtained.
  @Test func aVersionThatMayNoLongerBeUsedIsTheErrorOfTheStep() async throws {
    let app = try app([.versionInactive])
    await #expect(throws: ApplicationVersioningError.inactive) { _ = try await app.onboard() }
  }

  private func manager(_ app: GeneratedApp) -> OnboardingSessionManager<OnboardingSession> {
    let app = UncheckedSendable(value: app)
    let flows = TestFlows { type in
      let context = OnboardingContext.plain(type.onboardingID ?? UUID(), app.value.screens)
      return (OnboardingFlow(flowType: type, context: context, steps: app.value.onboarding), nil)
    }
    let records = app.value.records
    let controller = OnboardingController(flows, SingleUserOnboardingIDManager(records), nil, records: records)
    return OnboardingSessionManager(onboardingController: controller, presentationDelegate: NoApplicationUI())
  }

  /// Whoever signed in would replace the user, whose passcode unlocks the session.
  @Test(arguments: [false, true]) func nobodySignsInWhileASessionIsLocked(needsLogin: Bool) async throws {
    let app = try app([.refreshRefused])
    let manager = manager(app)
    let session = try await manager.open()
    let roles = try #require(SAPcpmsUserRoles(session))
    try await manager.lock()
    browser.user = "ben"
    if needsLogin {
      app.gateway.expireTokens()
      await #expect(throws: URLError.self) { _ = try await roles.load() }
    } else {
      #expect(try await roles.load().userName == "anna")
    }
    #expect(browser.pages.value == 1)

    app.screens.change { $0.passcodes = [.passcode("Secret123")] }
    browser.user = "anna"
    try await manager.unlock()
    #expect(try await roles.load().userName == "anna")
    #expect(browser.pages.value == (needsLogin ? 2 : 1))
    try await manager.removeSession()
  }

  @Test func aTokenThatIsRenewedWhileASessionIsLockedIsStoredAfterwards() async throws {
    let app = try app()
    let manager = manager(app)
    let session = try await manager.open()
    let (id, roles) = (session.onboardingID, try #require(SAPcpmsUserRoles(session)))
    try await manager.lock()
    app.gateway.expireTokens()
    #expect(try await roles.load().userName == "anna")
    app.screens.change { $0.passcodes = [.passcode("Secret123")] }
    try await manager.unlock()
    #expect(try await roles.load().userName == "anna")
    try await manager.close()

    let returning = try await app.restore(id)
    #expect(try await app.user(returning) == "anna")
    #expect(browser.pages.value == 1 && app.count("POST /oauth2/api/v1/token 200") == 2)
  }

  @Test func withoutSomebodyWhoShowsThePageTheStepFails() async throws {
    var app = try app()
    app.authentication = { [OAuth2AuthenticationStep()] }
    await #expect(
      throws: OnboardingFlowError.noDecision(step: "OAuth2AuthenticationStep", needs: "LoginPagePresenting")
    ) { _ = try await app.onboard() }
  }

  @Test func withoutANetworkTheUserReturnsWithTheStoredToken() async throws {
    let app = try app()
    let id = try await app.onboardAndEnd()
    app.gateway.stop()
    let context = try await app.restore(id)
    #expect(context.info[.sapcpmsSettings] != nil && browser.pages.value == 1)
    context.persistentStoreManger.store?.close()

    var strict = app
    strict.authentication = { [browser] in
      let step = OAuth2AuthenticationStep(presenter: browser)
      step.isAllowingOfflineRestore = false
      return [step]
    }
    await #expect(throws: URLError.self) { _ = try await strict.restore(id) }
    await #expect(throws: URLError.self) { _ = try await app.onboard() }
  }
}
