import TestSupport
import Testing

@testable import SAPFioriFlows

@Suite(.timeLimit(.minutes(5))) struct FlowSecretTests {
  private static func values() throws -> [(name: String, value: Any)] {
    var context = OnboardingContext.plain()
    context.info[.authenticationURL] = secretURL
    context.info[.sapcpmsSettingsParameters] = SAPcpmsSettingsParameters(backendURL: secretURL)
    context.info[.init("password")] = "hidden"
    try context.credentialStore.put("hidden", for: "password")
    let flow = OnboardingFlow(flowType: .onboard, context: context, steps: SAPcpmsDefaultSteps.configuration)
    let response = HTTPURLResponse(
      url: secretURL, statusCode: 401, httpVersion: nil, headerFields: ["Set-Cookie": "a=hidden"])
    let failure = OnboardingError.authenticationFailed(
      description: "status 401", response: response, data: Data("hidden".utf8), error: nil)
    let keys = APIKeyAuthenticationConfig(apikeys: ["hidden"])
    return [
      ("APIKeyAuthenticationStep", APIKeyAuthenticationStep(config: keys)), ("OnboardingContext", context),
      ("OnboardingFlow", flow), ("OnboardingResult", OnboardingResult.success(context)),
      ("OnboardingSession", OnboardingSession(flow: flow)), ("OnboardingError.authenticationFailed", failure),
      ("OnboardingError.invalidArgument", OnboardingError.invalidArgument("name", "hidden", source: "step")),
      ("OnboardingError.shouldUseAlternateOperation", OnboardingError.shouldUseAlternateOperation("hidden")),
      ("PasscodeDecision", PasscodeDecision.passcode("hidden")),
      ("PersistentStoreManaging", context.persistentStoreManger), ("WelcomeLabel", WelcomeLabel()),
    ]
  }

  @Test func descriptionsAndMirrorsShowNoSecrets() throws {
    for (name, value) in try Self.values() { #expect(!showsSecret(value), "\(name): \(shown(value))") }
  }
}
