import Martlet
import MartletTesting
import SAPFoundationTesting
import Synchronization
import TestSupport
import Testing

@testable import SAPFioriFlows

/// An app with the steps of SAP's tool, for a gateway on loopback. Its stores are in a folder of the test.
struct GeneratedApp {
  let gateway: SAPGateway
  let log: Log<String>
  let folder: TemporaryFolder
  let records: OnboardingRecords
  let screens = TestScreens()
  /// The faults of the app's requests.
  let faults = TestFaults()
  /// The logins of the configuration.
  var logins: [[String: any Sendable]] = []
  /// The steps that sign in.
  var authentication: () -> [any OnboardingStep] = { [BasicAuthenticationStep()] }
  /// The steps between those that sign in and those that load settings.
  var between: [any OnboardingStep] = []

  init(_ faults: Set<SAPGateway.Fault> = []) throws {
    let log = Log<String>()
    self.log = log
    gateway = try SAPGateway(.init(faults: faults)) { log.append($0) }
    folder = try TemporaryFolder()
    records = .temporary(folder)
  }

  private var welcome: any OnboardingStep {
    let transformer = DiscoveryServiceConfigurationTransformer(
      applicationID: "com.example.shop", authenticationPath: "odata/v4")
    let values: [String: any Sendable] = [
      "host": "127.0.0.1", "port": gateway.url.port ?? 0, "protocol": "http", "auth": logins,
    ]
    return WelcomeScreenStep(transformer: transformer, providers: [TestConfiguration(values: values)])
  }

  private var session: [any OnboardingStep] {
    [welcome, CompositeStep(steps: SAPcpmsDefaultSteps.configuration), SAPcpmsUserLockAndWipeConfigurationStep()]
      + [
        SAPcpmsUserBlockedConfigurationStep(userBlockedHandler: { [screens] in screens.notes.append($0.rawValue) }),
        faults.step,
      ]
  }

  private var store: StoreManagerStep {
    let store = StoreManagerStep(records)
    store.defaultPasscodePolicy = nil
    return store
  }

  var onboarding: [any OnboardingStep] {
    session + authentication() + between
      + [
        CompositeStep(steps: SAPcpmsDefaultSteps.settingsDownload),
        CompositeStep(steps: SAPcpmsDefaultSteps.applyDuringOnboard), store,
      ]
  }

  var restoring: [any OnboardingStep] {
    let apply = SAPcpmsDefaultSteps.applyDuringRestore.map { step -> any OnboardingStep in
      guard step is PasscodePolicyApplyStep else { return step }
      let passcode = PasscodePolicyApplyStep(records)
      passcode.defaultPasscodePolicy = nil
      return passcode
    }
    let settings = CompositeStep(steps: SAPcpmsDefaultSteps.settingsDownload)
    return [store] + session + authentication() + between + [settings, CompositeStep(steps: apply)]
  }

  func onboard(_ id: UUID = UUID(), _ context: OnboardingContext? = nil) async throws -> OnboardingContext {
    try await OnboardingFlowController.onboard(on: onboarding, context: context ?? .plain(id, screens))
  }

  func restore(_ id: UUID, _ context: OnboardingContext? = nil) async throws -> OnboardingContext {
    screens.change { $0.passcodes = [.passcode("Secret123")] }
    return try await OnboardingFlowController.restore(on: restoring, context: context ?? .plain(id, screens))
  }

  /// Onboards a user, and closes the store, as the end of the program does.
  func onboardAndEnd() async throws -> UUID {
    let context = try await onboard()
    context.persistentStoreManger.store?.close()
    return context.onboardingID
  }

  /// The name of the user whose session it is.
  func user(_ context: OnboardingContext) async throws -> String {
    let session = OnboardingSession(flow: OnboardingFlow(flowType: .onboard, context: context, steps: []))
    return try await SAPcpmsUserRoles(session)?.load().userName ?? "nobody"
  }

  /// The number of requests whose line begins with a text.
  func count(_ prefix: String) -> Int { log.entries.filter { $0.hasPrefix(prefix) }.count }

  /// The files of users' stores.
  var stores: [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.url.path)) ?? []
    return names.filter { $0.hasPrefix("Store") && $0.hasSuffix(".sqlite") }
  }

  /// The login page of the gateway.
  static func oauth2(_ gateway: SAPGateway) -> [[String: any Sendable]] {
    let client: [String: any Sendable] = [
      "clientID": "app", "grantType": "authorization_code", "redirectURL": "com.example.app://callback",
    ]
    let config: [String: any Sendable] = [
      "oauth2.authorizationEndpoint": gateway.url("/oauth2/api/v1/authorize").absoluteString,
      "oauth2.tokenEndpoint": gateway.url("/oauth2/api/v1/token").absoluteString, "oauth2.clients": [client],
    ]
    return [["type": "oauth2", "config": config]]
  }
}

/// The configuration of a test.
struct TestConfiguration: ConfigurationProviding {
  let values: [String: any Sendable]
  var providerIdentifier: String { "test" }
  var expectedInput: [String: Any] { [:] }

  func provideConfiguration(
    input: [String: Any]
  ) -> (providerSuccess: Bool, configuration: NSDictionary, returnError: (any Error)?) {
    (true, NSDictionary(dictionary: values), nil)
  }
}

/// Adds the chosen faults to each request.
final class TestFaults: SAPURLSessionObserver {
  private let state = Mutex<[SAPGateway.Fault]>([])

  var names: [SAPGateway.Fault] {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }

  override func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
  ) {
    var request = request
    let text = names.map(\.rawValue).joined(separator: ",")
    if !text.isEmpty { request.setValue(text, forHTTPHeaderField: "X-SAP-Fault") }
    completionHandler(.allow(request))
  }

  var step: any OnboardingStep {
    let register: SimpleTaskStep.FlowHandler = { [self] context, done in
      context.sapURLSession.register(self)
      done(.success(context))
    }
    return SimpleTaskStep(onboardHandler: register, restoreHandler: register)
  }
}

/// A browser in which a user signs in at the login page of a gateway.
final class TestBrowser: LoginPagePresenting {
  let pages = Counter()
  private let current = Mutex<String?>("anna")

  /// The user; nil closes the page.
  var user: String? {
    get { current.withLock { $0 } }
    set { current.withLock { $0 = newValue } }
  }

  func present(_ page: URL, until redirect: URL, completionHandler: @escaping @Sendable (URL?, (any Error)?) -> Void) {
    pages.next()
    guard let user else { return completionHandler(nil, nil) }
    Task.detached {
      var configuration = SessionConfiguration()
      (configuration.cookies, configuration.cache) = (nil, nil)
      configuration.options.redirectPolicy = .manual
      var request = HTTPRequest(.get, page)
      request.fields[.authorization] = "Basic " + Data("\(user):secret".utf8).base64EncodedString()
      do {
        let session = HTTPSession(configuration: configuration)
        let response = try await session.data(for: request, expecting: .any).1
        completionHandler(response.fields[.location].flatMap { URL(string: $0) }, nil)
      } catch { completionHandler(nil, error) }
    }
  }

  func dismiss() {}
}
