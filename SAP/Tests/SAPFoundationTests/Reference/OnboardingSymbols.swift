import SAPFioriFlows
import TestSupport

// Each documented symbol of onboarding that works, in code that compiles and does not run.
extension SymbolList {
  mutating func addOnboarding() {
    typealias Manager = OnboardingSessionManager<OnboardingSession>
    add("OnboardingSessionManager.open(completionHandler:)") { (m: Manager) in m.open { error in _ = error } }
    add("OnboardingSessionManager.onboardingSession") { (m: Manager) in _ = m.onboardingSession }
    add(
      "OnboardingSessionManager.init(presentationDelegate:flowProvider:onboardingIDManager:delegate:)"
    ) { (u: any ApplicationUIManaging, p: any OnboardingFlowProviding) in
      _ = Manager(presentationDelegate: u, flowProvider: p, delegate: nil)
    }
    add("OnboardingSessionManager.lock(completionHandler:)") { (m: Manager) in m.lock { _ in } }
    add("OnboardingSessionManager.unlock(completionHandler:)") { (m: Manager) in m.unlock { error in _ = error } }
    add("OnboardingSessionManager.removeSession(completionHandler:)") { (m: Manager) in m.removeSession { _ in } }
    add("OnboardingSessionManager.close(completionHandler:)") { (m: Manager) in m.close { _ in } }
    add("OnboardingSession.sapURLSession") { (o: OnboardingSession) in _ = o.sapURLSession }
    add("OnboardingSession.settingsParameters") { (o: OnboardingSession) in _ = o.settingsParameters }
    add(
      "OnboardingSession.registerDeviceToken(deviceToken:withParameters:)"
    ) { (o: OnboardingSession, d: Data) in
      o.registerDeviceToken(
        deviceToken: d, withParameters: SAPcpmsRemoteNotificationParameters(deviceType: "iOS")
      ) { _ in }
    }
    add("OnboardingSession.init(flow:)") { (f: OnboardingFlow) in _ = OnboardingSession(flow: f) }
  }

  mutating func addFlows() {
    add("OnboardingStep") { (s: any OnboardingStep, c: OnboardingContext) in
      s.onboard(context: c) { result in _ = result }
      s.reset(context: c) {}
    }
    add(
      "OnboardingContext.init(onboardingID:sapURLSession:credentialStore:presentationDelegate:)"
    ) { (d: any FlowPresentationDelegate, u: UUID) in
      _ = OnboardingContext(presentationDelegate: d)
      var context = OnboardingContext(onboardingID: u, presentationDelegate: d)
      context.onboardingID = u
    }
    add("OnboardingInfoKey") { (c: OnboardingContext) in
      _ = c.info[.sapcpmsSettingsParameters] as? SAPcpmsSettingsParameters
      _ = c.info[.authenticationURL] as? URL
    }
    add("OnboardingFlow.init(flowType:context:steps:)") { (c: OnboardingContext, u: UUID) in
      _ = OnboardingFlow(flowType: .restore(onboardingID: u), context: c, steps: [])
    }
    add(
      "OnboardingFlowController.onboard(on:context:shouldResetOnError:completionHandler:)"
    ) { (c: OnboardingContext) in
      OnboardingFlowController.onboard(on: [], context: c) { result in _ = result }
    }
    add("OnboardingFlowController.restore(on:context:completionHandler:)") { (c: OnboardingContext) in
      OnboardingFlowController.restore(on: [], context: c) { result in _ = result }
    }
    add("OnboardingFlowController.reset(on:context:completionHandler:)") { (c: OnboardingContext) in
      OnboardingFlowController.reset(on: [], context: c) {}
    }
    add("OnboardingFlowProviding") { (p: any OnboardingFlowProviding, c: any OnboardingControlling) in
      p.flow(for: c, flowType: .onboard) { flow, error in _ = (flow, error) }
    }
    add(
      "OnboardingController.init(flowProvider:onboardingIDManager:delegate:)"
    ) { (p: any OnboardingFlowProviding) in _ = OnboardingController(flowProvider: p) }
    add("OnboardingControllerDelegate") { (d: any OnboardingControllerDelegate) in _ = d }
    add("SingleUserOnboardingIDManager.init(storingKey:backgroundMode:)") {
      _ = SingleUserOnboardingIDManager(backgroundMode: true)
    }
    add("MultiUserOnboardingIDManager") { _ = MultiUserOnboardingIDManager() }
    add("ApplicationUIManaging") { (u: any ApplicationUIManaging) in u.showSplashScreenForUnlock { _ in } }
    add("InfoTextSettable") { (i: any InfoTextSettable) in i.setInfoText("text") }
    add("FlowPresentationDelegate") { (d: any FlowPresentationDelegate) in d.setInfoText("text") }
  }

  mutating func addSteps() {
    add("CompositeStep") { _ = CompositeStep(steps: SAPcpmsDefaultSteps.configuration) }
    add("SimpleTaskStep") {
      _ = SimpleTaskStep(onboardHandler: { $1(.success($0)) }, restoreHandler: { $1(.success($0)) })
    }
    add("SAPcpmsDefaultSteps") {
      _ = SAPcpmsDefaultSteps.settingsDownload + SAPcpmsDefaultSteps.applyDuringOnboard
      _ = SAPcpmsDefaultSteps.applyDuringRestore.map { step in
        (step as? PasscodePolicyApplyStep)?.defaultPasscodePolicy = nil
        return step
      }
    }
    add("SAPcpmsSettingsDownloadStep.transformer") { _ = SAPcpmsSettingsDownloadStep().transformer }
    add("SAPcpmsSettingsDownloadStep.settingsInfoKey") { _ = SAPcpmsSettingsDownloadStep().settingsInfoKey }
    add("SAPcpmsDestinationsDownloadStep") { _ = SAPcpmsDestinationsDownloadStep() }
    add("SAPcpmsLogSettingsApplyStep.init(infoKey:)") {
      _ = (SAPcpmsLogSettingsApplyStep(), SAPcpmsLogSettingsApplyStep(infoKey: .sapcpmsLogSettings))
    }
    add("SAPcpmsLockWipePolicyApplyStep") { _ = SAPcpmsLockWipePolicyApplyStep() }
    add("PasscodePolicyApplyStep") { PasscodePolicyApplyStep().defaultPasscodePolicy = nil }
    add("StoreManagerStep.runRestoreIfStoreExists") { StoreManagerStep().runRestoreIfStoreExists = true }
    add("ConfigurationTransforming.transform(config:)") { (t: any ConfigurationTransforming) in
      _ = try? t.transform(config: ["host": "a"])
    }
    addConfigurationSteps()
    addAuthenticationSteps()
    addScreens()
  }

  private mutating func addConfigurationSteps() {
    add("SAPcpmsSessionConfigurationStep.init(infoKey:)") {
      _ = (SAPcpmsSessionConfigurationStep(), SAPcpmsSessionConfigurationStep(infoKey: .sapcpmsSettingsParameters))
    }
    add("SAPcpmsCorrelationConfigurationStep") { _ = SAPcpmsCorrelationConfigurationStep() }
    add("LanguageObserverConfigurationStep") { _ = LanguageObserverConfigurationStep() }
    add("SAPPassportObserverConfigurationStep") { _ = SAPPassportObserverConfigurationStep() }
    add("ApplicationVersionStep") { _ = ApplicationVersionStep() }
    add("SAPcpmsCSRFTokenConfigurationStep") { _ = SAPcpmsCSRFTokenConfigurationStep() }
    add("SAPcpmsUserBlockedConfigurationStep.init(userBlockedHandler:)") {
      _ = SAPcpmsUserBlockedConfigurationStep { error in _ = error }
    }
    add("SAPcpmsUserLockAndWipeConfigurationStep") { _ = SAPcpmsUserLockAndWipeConfigurationStep() }
    add("OTPSessionConfigurationStep") { (p: any OTPAuthentication) in
      _ = (OTPSessionConfigurationStep(), OTPSessionConfigurationStep(presenter: p))
    }
  }

  private mutating func addAuthenticationSteps() {
    add("APIKeyAuthenticationStep.init(config:)") {
      _ = (APIKeyAuthenticationStep(), APIKeyAuthenticationStep(config: nil))
    }
    add("APIKeyAuthenticationStep.isAllowingOfflineRestore") {
      APIKeyAuthenticationStep().isAllowingOfflineRestore = false
    }
    add("BasicAuthenticationStep") { _ = BasicAuthenticationStep() }
    add("OAuth2AuthenticationStep") { (p: any LoginPagePresenting) in
      _ = (OAuth2AuthenticationStep(), OAuth2AuthenticationStep(presenter: p))
    }
    add("SAMLAuthenticationStep") { (p: any CookiePagePresenting) in
      _ = (SAMLAuthenticationStep(), SAMLAuthenticationStep(presenter: p))
    }
    add("StoreManagerStep") { StoreManagerStep().defaultPasscodePolicy = nil }
  }

  private mutating func addScreens() {
    add("WelcomeScreenStep") { (t: any ConfigurationTransforming) in
      let step = WelcomeScreenStep(transformer: t, providers: [FileConfigurationProvider()])
      step.welcomeScreenCustomizationHandler = { screen in
        screen.headlineLabel.text = "Shop"
        screen.primaryActionButton.titleLabel?.text = "Start"
        screen.isDemoModeAvailable = false
      }
    }
    add("DiscoveryServiceConfigurationTransformer") {
      _ = DiscoveryServiceConfigurationTransformer(applicationID: "app", authenticationPath: nil)
    }
    add("UserConsentStep") {
      var page = UserConsentPageContent()
      (page.title, page.body, page.actionTitle, page.actionUrl) = ("a", "b", "c", "d")
      let form = UserConsentFormContent(version: "1.0", isRequired: true, pages: [page])
      _ = UserConsentStep(userConsentFormsContent: [form])
    }
    add("EULAStep") {
      _ = EULAStep(eulaContent: EULAContent(title: "a", content: NSAttributedString(string: "b"), version: "1.0"))
    }
    add("DataCollectionConsentStep") { _ = (DataCollectionConsentStep(), UsageCollectionConsentStep()) }
  }
}
