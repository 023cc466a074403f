import SAPFioriFlows
import SAPFoundation
import Testing

// What public apps write around SAP's session, a function for each construct. They compile; the last test runs those
// that need no server. What an app's screens do is a stand-in here.

// MARK: - Stand-ins for screens and for SAPFioriFlows

/// SAP's class has the same name and shows a web view.
private final class WKWebViewPresenter: LoginPagePresenting, CookiePagePresenting {
  func present(
    _ page: URL, until redirect: URL, completionHandler: @escaping @Sendable (URL?, (any Error)?) -> Void
  ) { completionHandler(nil, nil) }

  func present(
    _ page: URL, with cookies: [HTTPCookie], until finish: URL,
    completionHandler: @escaping @Sendable ([HTTPCookie]?, (any Error)?) -> Void
  ) { completionHandler(nil, nil) }

  func dismiss() {}
}

private final class ApplicationOnboardingSession: OnboardingSession {}

private final class ConstructedFlows: OnboardingFlowProviding {
  func flow(
    for controller: any OnboardingControlling, flowType: OnboardingFlow.FlowType,
    completionHandler: @escaping @Sendable (OnboardingFlow?, (any Error)?) -> Void
  ) {
    let context = OnboardingContext(sapURLSession: SAPURLSession(configuration: .ephemeral))
    completionHandler(OnboardingFlow(flowType: flowType, context: context, steps: []), nil)
  }
}

extension OnboardingSessionManager {
  fileprivate static var shared: OnboardingSessionManager<ApplicationOnboardingSession> {
    OnboardingSessionManager<ApplicationOnboardingSession>(
      presentationDelegate: NoApplicationUI(), flowProvider: ConstructedFlows())
  }
}

extension SAPURLSession.HTTPHeader {
  fileprivate static let XToken = "X-Token"
}

// MARK: - Sign-out and onboarding

private func signOutByTheSharedStores() {
  URLCache.shared.removeAllCachedResponses()
  HTTPCookieStorage.shared.removeCookies(since: Date.distantPast)
}

private func signOutByTheConfiguration(_ session: SAPURLSession) {
  for observer in session.observers { session.unregister(observer) }
  session.configuration.urlCache?.removeAllCachedResponses()
  session.configuration.httpCookieStorage?.removeCookies(since: .distantPast)
}

private func endTheSessionOfTheServer(_ session: SAPURLSession, _ settings: SAPcpmsSettingsParameters) {
  var request = URLRequest(url: settings.backendURL.appendingPathComponent("mobileservices/sessions/logout"))
  request.httpMethod = SAPURLSession.HTTPMethod.post
  session.dataTask(with: request) { _, _, error in _ = error }.resume()
}

private func openTheSharedManager() {
  OnboardingSessionManager.shared.open { error in
    if let error = error { Logger.shared(named: "AppDelegate").error("cannot open", error: error) }
  }
}

private func sessionOfTheManager() -> SAPURLSession? {
  guard let session = OnboardingSessionManager.shared.onboardingSession else { return nil }
  return session.sapURLSession
}

private func settingsOfTheManager() -> SAPcpmsSettingsParameters? {
  OnboardingSessionManager.shared.onboardingSession?.settingsParameters
}

private func registerTheDeviceWithTheOnboardingSession(_ session: OnboardingSession, _ deviceToken: Data) {
  let parameters = SAPcpmsRemoteNotificationParameters(deviceType: "iOS")
  session.registerDeviceToken(deviceToken: deviceToken, withParameters: parameters) { error in _ = error }
}

private func settingsOfAContext(_ context: OnboardingContext) -> URL? {
  var url = (context.info[.sapcpmsSettingsParameters] as? SAPcpmsSettingsParameters)?.url(forDestination: "shop")
  if url == nil { url = context.info[OnboardingInfoKey.authenticationURL] as? URL }
  return url
}

private func serviceRootOfAContext(_ context: OnboardingContext, _ destination: String) -> URL? {
  guard let settings = context.info[.sapcpmsSettingsParameters] as? SAPcpmsSettingsParameters else { return nil }
  return URL(string: settings.backendURL.appendingPathComponent(destination).absoluteString)
}

// MARK: - Configuration

private func providersOfTheWelcomeScreen() -> [any ConfigurationProviding] { [FileConfigurationProvider()] }

private func destinationsOfTheAppParameters() -> NSDictionary? {
  FileConfigurationProvider("AppParameters").provideConfiguration().configuration["Destinations"] as? NSDictionary
}

private func configurationOfALoader(_ delegate: any ConfigurationLoaderDelegate) {
  ConfigurationLoader(delegate: delegate, providers: providersOfTheWelcomeScreen()).loadConfiguration()
}

private enum Constants {
  static let backend = URL(string: "https://mobile.example.com/") ?? URL(filePath: "/")
  static let appId = "com.example.shop"
  static let appUrl = Constants.backend.appendingPathComponent(appId)
  static let configurationParameters = SAPcpmsSettingsParameters(
    backendURL: Constants.backend, applicationID: Constants.appId)
}

private func deviceOfTheApp() -> [String: Any] { ["DeviceId": SAPcpmsSettingsParameters.defaultDeviceID] }

// MARK: - Logs

private func attachTheUploader() {
  do { try SAPcpmsLogUploader.attachToRootLogger() } catch {
    Logger.shared(named: "AppDelegate").error("Failed to attach to root logger.", error: error)
  }
}

private func uploadLogsOfTheOnboardingSession(_ session: OnboardingSession) {
  SAPcpmsLogUploader.uploadLogs(session) { error in
    if let error = error { return Logger.shared(named: "AppDelegate").error("no upload", error: error) }
    Logger.shared(named: "AppDelegate").info("Logs have been uploaded.")
  }
}

private func uploadLogs(_ urlSession: SAPURLSession, _ settings: SAPcpmsSettingsParameters) {
  SAPcpmsLogUploader.uploadLogs(sapURLSession: urlSession, settingsParameters: settings) { error in _ = error }
}

private func setTheLevelOfAllLogs() {
  Logger.root.logLevel = .debug
  let rootLogger = Logger.root
  rootLogger.logLevel = LogLevel.debug
}

private func setTheLogSettings() {
  SAPcpmsLogUploader.apply(sapcpmsLogSettings: SAPcpmsLogSettings(logLevel: "DEBUG"))
}

private func logAtEachLevel(_ failure: any Error) {
  let logger = Logger.shared(named: "Shop")
  logger.debug("a")
  logger.info("b")
  logger.warn("c")
  logger.error("d", error: failure)
}

// MARK: - Sessions, tasks and delegates

private final class BasicLogin: NSObject, SAPURLSessionDelegate, @unchecked Sendable {
  private var urlSession: SAPURLSession?

  func login() {
    let session = SAPURLSession(delegate: self)
    session.register(SAPcpmsObserver(settingsParameters: Constants.configurationParameters))
    urlSession = session
    var request = URLRequest(url: Constants.appUrl)
    request.httpMethod = "GET"
    let dataTask = session.dataTask(with: request) { data, response, error in
      guard let response = response as? HTTPURLResponse, response.statusCode == 200 else { return }
      DispatchQueue.main.async { _ = self.isSAMLChallenge(response) }
    }
    dataTask.resume()
  }

  func isSAMLChallenge(_ response: HTTPURLResponse) -> Bool {
    response.statusCode == 200 && response.allHeaderFields["com.sap.cloud.security.login"] != nil
  }

  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping (SAPURLSession.AuthChallengeDisposition) -> Void
  ) {
    guard challenge.previousFailureCount == 0 else { return completionHandler(.performDefaultHandling) }
    if challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodHTTPBasic {
      let credential = URLCredential(
        user: "anna", password: "secret", persistence: URLCredential.Persistence.forSession)
      completionHandler(.use(credential))
    } else {
      completionHandler(.performDefaultHandling)
    }
  }
}

private func sessionWithADeviceID() -> SAPURLSession {
  let urlSession = SAPURLSession(configuration: URLSessionConfiguration.default)
  urlSession.register(SAPcpmsObserver(applicationID: Constants.appId, deviceID: UUID().uuidString))
  return urlSession
}

private func sessionThatWritesNothing() -> SAPURLSession {
  let service = SAPURLSession(configuration: .ephemeral)
  return service
}

private func registerTheDefaultObservers(_ session: SAPURLSession) {
  session.register(SAPcpmsObserver(applicationID: Constants.appId))
  session.register(CorrelationObserver())
  session.register(LanguageObserver())
  session.register(SAPPassportObserver())
  session.register(ApplicationVersionObserver())
  session.register(CSRFTokenObserver(rootUrl: Constants.backend))
}

private func registerPolicies(_ session: SAPURLSession, _ store: any CodableStoring) {
  session.register(SAPcpmsUserBlockedObserver { error in _ = error == .traffic })
  session.register(SAPcpmsLockAndWipeObserver(store: store))
}

private func headersOfTheAssistant(_ token: String) -> [String: String] {
  var headers = [SAPURLSession.HTTPHeader.accept: SAPURLSession.HTTPContentType.applicationJSON]
  headers[SAPURLSession.HTTPHeader.contentType] = SAPURLSession.HTTPContentType.applicationJSON
  headers[SAPURLSession.HTTPHeader.XToken] = token
  return headers
}

private func uploadAPicture(_ session: SAPURLSession, _ request: URLRequest, _ picture: Data) -> SAPURLSessionTask? {
  let task: SAPURLSessionTask? = session.uploadTask(with: request, from: picture) { data, response, error in
    _ = (data, response, error)
  }
  task?.resume()
  return task
}

private func decodeAPublisher<Value: Decodable>(
  _ session: SAPURLSession, _ request: URLRequest
) -> AnyPublisher<Value, any Error> {
  session.dataTaskPublisher(for: request)
    .tryMap { data, response in
      guard let response = response as? HTTPURLResponse, response.statusCode < 300 else { throw URLError(.unknown) }
      return data
    }
    .decode(type: Value.self, decoder: JSONDecoder())
    .receive(on: DispatchQueue.main)
    .eraseToAnyPublisher()
}

// MARK: - Logins

private func loginBySAML(_ session: SAPURLSession, _ page: URL, _ finish: URL) {
  let parameters = SAMLAuthenticationParameters(authorizationEndpointURL: page, finishEndpointURL: finish)
  let authenticator = SAMLAuthenticator(authenticationParameters: parameters)
  authenticator.webViewPresenter = WKWebViewPresenter()
  session.register(SAMLObserver(authenticator: authenticator))
  authenticator.authenticate(session: session) { error in _ = error }
}

private func loginBySAMLAsInTheGuide(_ parameters: SAMLAuthenticationParameters) -> SAMLObserver {
  SAMLObserver(authenticator: SAMLAuthenticator(using: parameters))
}

private func loginByOAuth(_ session: SAPURLSession, _ url: URL) throws {
  let store = SecureKeyValueStore()
  try store.open(with: "secure_store")
  let compositeStore = CompositeStorage()
  try compositeStore.setPersistentStore(store)
  let parameters = OAuth2AuthenticationParameters(
    authorizationEndpointURL: url, clientID: "app", redirectURL: url, tokenEndpointURL: url, clientSecret: "secret")
  let authenticator = OAuth2Authenticator(authenticationParameters: parameters, webViewPresenter: WKWebViewPresenter())
  session.register(
    OAuth2Observer(authenticator: authenticator, tokenStore: OAuth2TokenStorage(store: compositeStore)))
}

private func loginByOAuthAtOnce(_ session: SAPURLSession, _ parameters: OAuth2AuthenticationParameters) {
  let authenticator = OAuth2Authenticator(
    authenticationParameters: parameters, sapURLSession: session, webViewPresenter: WKWebViewPresenter())
  authenticator.authenticate { token, error in
    guard error == nil else { return }
    _ = token?.accessToken
  }
}

private final class SecureTokenStore: SAPFoundation.OAuth2TokenStore {
  private let store = SecureKeyValueStore(name: "tokens")
  func store(token: OAuth2Token, for url: URL) throws {
    try store.put(JSONEncoder().encode(token), forKey: url.absoluteString)
  }
  func token(for url: URL) throws -> OAuth2Token? {
    try store.getData(url.absoluteString).map { try JSONDecoder().decode(OAuth2Token.self, from: $0) }
  }
  func deleteToken(for url: URL) throws { try store.remove(url.absoluteString) }
}

private func loginByOneTimePassword(_ session: SAPURLSession, _ authenticator: any OTPAuthentication) {
  session.register(OTPObserver(authenticator: authenticator))
}

// MARK: - Stores

private func passwordOfAStore() throws -> String? {
  let store = SecureKeyValueStore(databaseFileName: "authenticationKeystore.db")
  try store.open(with: "encryptionKey")
  try store.put("anna", forKey: "username")
  return try store.getString("password")
}

private func emptyAStore(_ store: SecureKeyValueStore) throws { try store.removeAll() }

private func twoStoresOfOneFile(_ file: SecureDatabaseStore) throws -> [SecureKeyValueStore] {
  [
    try SecureKeyValueStore(databaseStore: file, name: "a"), try SecureKeyValueStore(databaseStore: file, name: "b"),
  ]
}

private func cookiesOfAStore(_ store: any CodableStoring) -> SAPURLSession {
  let configuration = URLSessionConfiguration.default
  configuration.httpCookieStorage = SAPHTTPCookieStorage(persistentStorage: store)
  return SAPURLSession(configuration: configuration)
}

// MARK: - Clients of Mobile Services

private func registerTheDevice(
  _ session: SAPURLSession, _ settings: SAPcpmsSettingsParameters, _ deviceToken: Data
) -> SAPcpmsRemoteNotificationClient {
  let client = SAPcpmsRemoteNotificationClient(sapURLSession: session, settingsParameters: settings)
  client.registerDeviceToken(deviceToken) { error in _ = error }
  return client
}

private func nameOfTheUser(_ session: SAPURLSession, _ settings: SAPcpmsSettingsParameters) {
  let roles = SAPcpmsUserRoles(sapURLSession: session, settingsParameters: settings)
  roles.load { user, error in _ = (user?.userName ?? "", user?.emails.first, error) }
}

private func settingsOfTheServer(_ session: SAPURLSession, _ settings: SAPcpmsSettingsParameters) {
  SAPcpmsSettings(sapURLSession: session, settingsParameters: settings)
    .load(for: .application) { values, error in _ = (values?["mobileservices"], error) }
}

private func destinationsOfTheServer(_ session: SAPURLSession, _ settings: SAPcpmsSettingsParameters) {
  SAPcpmsDestinations(sapURLSession: session, settingsParameters: settings)
    .load { destinations, error in _ = (destinations?["shop"], error) }
}

// MARK: - Errors

private func textOf(_ error: any Error) -> String {
  switch error {
  case let error as SAPcpmsUserBlockedError: "blocked: \(error)"
  case ApplicationVersioningError.inactive: "update the app"
  case SAPURLSessionError.failedToRetriveCSRFToken(let text): text ?? "no token"
  case let error as any SAPError: error.debugDescription
  default: error.localizedDescription
  }
}

@Suite("Constructs of public apps")
struct ClientConstructTests {
  @Test func thoseThatNeedNoServerHaveTheirValues() throws {
    let shop = try #require(URL(string: "https://mobile.example.com/shop"))
    var context = OnboardingContext(sapURLSession: SAPURLSession(configuration: .ephemeral))
    context.info = [.sapcpmsSettingsParameters: Constants.configurationParameters, .authenticationURL: shop]

    #expect(settingsOfAContext(context) == shop)
    #expect(serviceRootOfAContext(context, "shop") == shop)
    #expect(
      headersOfTheAssistant("abc") == [
        "Accept": "application/json", "Content-Type": "application/json", "X-Token": "abc",
      ])
    #expect(deviceOfTheApp()["DeviceId"] as? String == SAPcpmsSettingsParameters.defaultDeviceID)
    #expect(textOf(ApplicationVersioningError.inactive) == "update the app")
    #expect(textOf(SAPURLSessionError.failedToRetriveCSRFToken(nil)) == "no token")
    registerTheDefaultObservers(context.sapURLSession)
    #expect(context.sapURLSession.observers.count == 6)
    signOutByTheConfiguration(context.sapURLSession)
    #expect(context.sapURLSession.observers.isEmpty)
  }
}
