import MartletTesting
import SAPFoundationTesting
import TestSupport
import Testing

@testable import SAPFioriFlows

/// Steps in the order of generated apps, with a service on loopback.
@Suite("The steps of a generated app", .timeLimit(.minutes(5)))
struct StepTests {
  private let service: MobileServices
  private let folder: TemporaryFolder
  private let records: OnboardingRecords
  private let screens = TestScreens()

  init() throws {
    service = try MobileServices(
      .init(
        users: ["anna": "secret", "ben": "secret2"], applicationID: "com.example.shop",
        destinations: ["shop": "/backend"]))
    folder = try TemporaryFolder()
    records = .temporary(folder)
    service.setSettings(#"{"logSettings":{"logLevel":"WARN"}}"#, at: "mobileservices/settingsExchange")
  }

  private var provider: TestConfiguration {
    TestConfiguration(values: ["host": "127.0.0.1", "port": service.port, "protocol": "http"])
  }

  private func welcome() -> WelcomeScreenStep {
    let transformer = DiscoveryServiceConfigurationTransformer(
      applicationID: "com.example.shop", authenticationPath: "mobileservices/application/com.example.shop/endpoints")
    let step = WelcomeScreenStep(transformer: transformer, providers: [provider])
    step.welcomeScreenCustomizationHandler = { screen in
      screen.headlineLabel.text = "Shop"
      screen.primaryActionButton.titleLabel?.text = "Start"
    }
    return step
  }

  private func store(_ policy: PasscodePolicy? = nil) -> StoreManagerStep {
    let step = StoreManagerStep(records)
    step.defaultPasscodePolicy = policy
    return step
  }

  private func onboarding() -> [any OnboardingStep] {
    var page = UserConsentPageContent()
    page.title = "Data Privacy"
    let form = UserConsentFormContent(version: "1.0", isRequired: true, pages: [page])
    let licence = EULAContent(title: "EULA", content: NSAttributedString(string: "Text"), version: "1.0")
    return [
      welcome(), CompositeStep(steps: SAPcpmsDefaultSteps.configuration), BasicAuthenticationStep(),
      CompositeStep(steps: SAPcpmsDefaultSteps.settingsDownload),
      CompositeStep(steps: SAPcpmsDefaultSteps.applyDuringOnboard), EULAStep(eulaContent: licence),
      UserConsentStep(userConsentFormsContent: [form]), DataCollectionConsentStep(), store(),
    ]
  }

  private func restoring() -> [any OnboardingStep] {
    let apply = SAPcpmsDefaultSteps.applyDuringRestore
    for step in apply { (step as? PasscodePolicyApplyStep)?.defaultPasscodePolicy = nil }
    return [
      store(), welcome(), CompositeStep(steps: SAPcpmsDefaultSteps.configuration), BasicAuthenticationStep(),
      CompositeStep(steps: SAPcpmsDefaultSteps.settingsDownload), CompositeStep(steps: apply),
      DataCollectionConsentStep(),
    ]
  }

  private var status: String { screens.notes.entries.filter { !$0.hasPrefix("state") }.joined(separator: ", ") }

  @Test func aUserOnboardsAndReturnsWithoutAQuestion() async throws {
    let id = UUID()
    let context = try await OnboardingFlowController.onboard(on: onboarding(), context: .plain(id, screens))

    #expect(status == "welcome Shop, password, licence EULA, consent 1.0, data")
    let settings = try #require(context.info[.sapcpmsSettingsParameters] as? SAPcpmsSettingsParameters)
    #expect(settings.backendURL.port == service.port && settings.destinations == ["shop": "/backend"])
    #expect((context.info[.sapcpmsSettings] as? [String: Any])?["logSettings"] != nil)
    #expect(context.info[.allowsDataCollection] as? Bool == true)
    context.persistentStoreManger.store?.close()

    let returning = try await OnboardingFlowController.restore(on: restoring(), context: .plain(id, screens))
    #expect(status == "welcome Shop, password, licence EULA, consent 1.0, data")
    let (_, response) = try await returning.sapURLSession.data(for: URLRequest.change(service.url("/backend/Orders")))
    #expect((response as? HTTPURLResponse)?.statusCode == 201)
  }

  /// The order of registration is the order of the steps.
  @Test func theObserversAreThoseOfTheSteps() async throws {
    let context = try await OnboardingFlowController.onboard(on: onboarding(), context: .plain(UUID(), screens))
    let names = context.sapURLSession.observers.map { "\(type(of: $0))" }
    #expect(
      names == [
        "SAPcpmsObserver", "CorrelationObserver", "LanguageObserver", "SAPPassportObserver",
        "ApplicationVersionObserver", "CSRFTokenObserver", "BasicAuthenticationObserver", "SAPcpmsLockAndWipeObserver",
      ])
    let request = try #require(service.requests.last)
    for field in ["X-SMP-APPID", "X-CorrelationID", "Accept-Language", "SAP-PASSPORT"] {
      #expect(try request.fields.contains(FieldName(field)), "\(field)")
    }
  }

  @Test(arguments: ["WelcomeDeciding", "ConsentDeciding", "PasscodeDeciding", "BasicCredentialDiscovery"])
  func withoutAnAnswerNothingIsDecided(need: String) async throws {
    let context = OnboardingContext.plain()
    let steps: [any OnboardingStep] =
      switch need {
      case "WelcomeDeciding": [welcome()]
      case "ConsentDeciding": [DataCollectionConsentStep()]
      case "PasscodeDeciding": [store(PasscodePolicy())]
      default: [BasicAuthenticationStep()]
      }
    var prepared = context
    prepared.info[.authenticationURL] = service.url("/backend/Images")
    let thrown = await #expect(throws: OnboardingFlowError.self) {
      _ = try await OnboardingFlowController.onboard(on: steps, context: prepared)
    }
    guard case .noDecision(_, need)? = thrown else {
      Issue.record("expected .noDecision, not \(String(describing: thrown))")
      return
    }
    #expect(service.requests.isEmpty)
  }

  @Test func theFormsOfAConsentAreDeclinedAndAskedForAgainWithANewVersion() async throws {
    let form = { UserConsentFormContent(version: $0, isRequired: true, pages: []) }
    screens.change { $0.consents = false }
    let context = OnboardingContext.plain(UUID(), screens)
    let consent = { (version: String) in UserConsentStep(userConsentFormsContent: [form(version)]) }
    await #expect(throws: OnboardingFlowError.declined(step: "UserConsentStep")) {
      _ = try await OnboardingFlowController.onboard(on: [consent("1")], context: context)
    }
    screens.change { $0.consents = true }
    _ = try await OnboardingFlowController.onboard(on: [consent("1")], context: context)
    _ = try await OnboardingFlowController.restore(on: [consent("1")], context: context)
    _ = try await OnboardingFlowController.restore(on: [consent("2")], context: context)
    #expect(status == "consent 1, consent 1, consent 2")
  }

  @Test func anOptionalFormMayBeDeclined() async throws {
    screens.change { $0.consents = false }
    let steps = [
      UserConsentStep(
        userConsentFormsContent: ["a", "b"].map { UserConsentFormContent(version: $0, isRequired: false, pages: []) })
    ]
    _ = try await OnboardingFlowController.onboard(on: steps, context: .plain(UUID(), screens))
    #expect(status == "consent a, consent b")
  }

  @Test func theDecisionsOfAWelcomeEndTheFlow() async throws {
    screens.change { $0.welcome = .demoMode }
    await #expect(throws: WelcomeScreenError.demoModeRequested) {
      _ = try await OnboardingFlowController.onboard(on: [welcome()], context: .plain(UUID(), screens))
    }
    screens.change { $0.welcome = .cancel }
    let error = await #expect(throws: OnboardingError.self) {
      _ = try await OnboardingFlowController.onboard(on: [welcome()], context: .plain(UUID(), screens))
    }
    guard case .cancelled? = error else {
      Issue.record("expected .cancelled")
      return
    }
  }

  @Test func aWrongPasswordEndsTheOnboardingAndStaysNowhere() async throws {
    screens.change { $0.credential = BasicCredential(username: "anna", password: "wrong") }
    let context = OnboardingContext.plain(UUID(), screens)
    let error = await #expect(throws: OnboardingError.self) {
      _ = try await OnboardingFlowController.onboard(on: onboarding(), context: context)
    }
    guard case .authenticationFailed? = error else {
      Issue.record("expected .authenticationFailed")
      return
    }
    #expect(try BasicCredentialStorage(store: context.credentialStore).credential(for: service.url) == nil)
  }

  @Test(arguments: ["blocked", "locked", "wiped", "inactive"])
  func theServerEndsTheOnboarding(fault: String) async throws {
    switch fault {
    case "blocked": service.block()
    case "locked": service.lock()
    case "wiped": service.wipe()
    default: service.isVersionInactive = true
    }
    let handled = Counter()
    var steps = onboarding()
    steps.insert(SAPcpmsUserBlockedConfigurationStep(userBlockedHandler: { _ in handled.next() }), at: 2)
    steps.insert(SAPcpmsUserLockAndWipeConfigurationStep(), at: 3)
    let error = await #expect(throws: (any Error).self) {
      _ = try await OnboardingFlowController.onboard(on: steps, context: .plain(UUID(), screens))
    }
    switch fault {
    case "blocked":
      #expect(error as? SAPcpmsUserBlockedError == .traffic)
      try await until { handled.value == 1 }
    case "locked": #expect(error as? LockWipePolicyError == .trafficLocked)
    case "wiped": #expect(error as? LockWipePolicyError == .trafficWiped)
    default: #expect(error as? ApplicationVersioningError == .inactive)
    }
    #expect(!FileManager.default.fileExists(atPath: folder.file("Store").path))
  }

  @Test func withoutANetworkTheSettingsOfTheLastTimeApply() async throws {
    let id = UUID()
    let context = try await OnboardingFlowController.onboard(on: onboarding(), context: .plain(id, screens))
    context.persistentStoreManger.store?.close()
    let offline = TestScreens()
    service.stop()

    let returning = try await OnboardingFlowController.restore(on: restoring(), context: .plain(id, offline))
    let settings = returning.info[.sapcpmsSettings] as? [String: Any]
    #expect((settings?["logSettings"] as? [String: Any])?["logLevel"] as? String == "WARN")
  }

  @Test func aNetworkThatFailsInTheMiddleResetsEverything() async throws {
    let service = service
    var steps = onboarding()
    steps.insert(
      SimpleTaskStep(
        onboardHandler: { context, done in
          service.stop()
          done(.success(context))
        }, restoreHandler: { $1(.success($0)) }), at: 3)
    let context = OnboardingContext.plain(UUID(), screens)
    await #expect(throws: SAPcpmsSettingsError.network) {
      _ = try await OnboardingFlowController.onboard(on: steps, context: context)
    }
    #expect(try BasicCredentialStorage(store: context.credentialStore).credential(for: service.url) == nil)
  }

  @Test func twoUsersTakeTurns() async throws {
    let manager = MultiUserOnboardingIDManager(userManager: UserManager(records))
    let flows = TestFlows { type in
      let context = OnboardingContext.plain(type.onboardingID ?? UUID(), screens)
      return (
        OnboardingFlow(flowType: type, context: context, steps: type == .onboard ? onboarding() : restoring()), nil
      )
    }
    let controller = OnboardingController(flows, manager, nil, records: records)
    let sessions = OnboardingSessionManager<OnboardingSession>(
      onboardingController: controller, presentationDelegate: NoApplicationUI())
    let user = { (session: OnboardingSession) in try await SAPcpmsUserRoles(session)?.load().userName }

    manager.next = .newUser(name: "anna")
    let anna = try await sessions.open()
    #expect(try await user(anna) == "anna")
    try await sessions.close()
    manager.next = .newUser(name: "ben")
    screens.change { $0.credential = BasicCredential(username: "ben", password: "secret2") }
    let ben = try await sessions.open()
    #expect(try await user(ben) == "ben")
    try await sessions.close()
    screens.change { $0.credential = nil }
    manager.next = .user(onboardingID: anna.onboardingID)
    #expect(try await user(try await sessions.open()) == "anna")
    try await sessions.removeSession()
    #expect(try manager.users().map(\.name) == ["ben"])
    #expect(try await user(try await sessions.open()) == "ben")
  }

  @Test func aConfigurationIsReadAsSAPsToolsWriteIt() throws {
    let oauth2: [String: Any] = [
      "oauth2.authorizationEndpoint": "https://a.example/authorize", "oauth2.tokenEndpoint": "https://a.example/token",
      "oauth2.clients": [["clientID": "c", "grantType": "authorization_code", "redirectURL": "https://a.example"]],
      "oauth2.pkce": ["codeChallengeMethod": "plain"],
    ]
    let saml: [String: Any] = [
      "saml2.web.post.authchallengeheader.name": "x-login", "saml2.web.post.finish.endpoint.uri": "/Launcher",
      "saml2.web.post.finish.endpoint.redirectparam": "finish",
    ]
    let info = try DiscoveryServiceConfigurationTransformer(applicationID: "app", authenticationPath: "shop").transform(
      config: [
        "host": "a.example", "protocol": "https",
        "auth": [["type": "oauth2", "config": oauth2], ["type": "saml2.web.post", "config": saml]],
      ] as [String: Any])
    let parameters = try #require(info[.oauth2AuthenticationParameters] as? OAuth2AuthenticationParameters)
    #expect(parameters.clientID == "c" && parameters.codeChallengeMethod == .plain)
    #expect(parameters.redirectURL.absoluteString == "https://a.example")
    let login = try #require(info[.samlAuthenticationParameters] as? SAMLAuthenticationParameters)
    #expect(login.challengeHeaderName == "x-login")
    #expect(login.authorizationEndpointURL.absoluteString == "https://a.example/Launcher")
    #expect(login.finishEndpointURL.absoluteString == "https://a.example/Launcher?finish=someUnusedValue")
    #expect((info[.authenticationURL] as? URL)?.absoluteString == "https://a.example/shop")
  }

  @Test(arguments: [
    ("{}", "host"), (#"{"host": ""}"#, "host"), (#"{"host": "a b"}"#, "host"),
    (#"{"host": "a", "protocol": "ftp"}"#, "host"),
    (#"{"host": "a", "auth": [{"type": "oauth2", "config": {}}]}"#, "oauth2.clients"),
  ])
  func aConfigurationWithoutAValueNamesIt(json: String, missing: String) throws {
    let values = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any] ?? [:]
    let transformer = DiscoveryServiceConfigurationTransformer(applicationID: "app")
    let error = #expect(throws: OnboardingError.self) {
      _ = try transformer.transform(config: NSDictionary(dictionary: values))
    }
    switch error {
    case .missingArgument(missing, _), .invalidArgument(missing, _, _): break
    default: Issue.record("expected an error about \(missing), not \(String(describing: error))")
    }
  }

  @Test func aStepNamesTheValueThatItNeeds() async {
    let error = await #expect(throws: OnboardingError.self) {
      _ = try await OnboardingFlowController.onboard(on: [SAPcpmsSessionConfigurationStep()], context: .plain())
    }
    #expect("\(String(describing: error))".contains("sapcpmsSettingsParameters"))
  }
}

extension URLRequest {
  fileprivate static func change(_ url: URL) -> URLRequest {
    var request = URLRequest(url: url)
    request.httpMethod = "POST"
    request.httpBody = Data("{}".utf8)
    return request
  }
}
