import Foundation
import SAPFoundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

// Code for the documented framework, in the style of apps. It is compiled, not run.

private let logger = Logger.shared(named: "AppDelegateLogger")

func setUpLogs() {
  Logger.root.logLevel = LogLevel.error
  Logger.root.logLevel = .warn
  Logger.root.add(handler: ConsoleLogHandler())
}

func loadImage(from url: URL, _ session: SAPURLSession) {
  let task = session.dataTask(with: url) { data, _, error in
    if let error = error { logger.warn("Failed to load image!", error: error) }
    logger.debug("\(data?.count ?? 0)")
  }
  task.resume()
}

final class WebView: LoginPagePresenting, SAMLAuthentication, OTPAuthentication {
  func present(_ page: URL, until redirect: URL, completionHandler: @escaping @Sendable (URL?, (any Error)?) -> Void) {
    completionHandler(nil, nil)
  }
  func dismiss() {}
  func authenticate(session: SAPURLSession, completionHandler: @escaping @Sendable (Error?) -> Void) {
    completionHandler(nil)
  }
  func authenticate(cookies: [HTTPCookie], completionHandler: @escaping ([HTTPCookie]?, Error?) -> Void) {}
  func cancelAuthentication() {}
}

final class Identities: UserIdentityStoring, UserIdentityObtaining {
  func store(identity: Data, for: URL) {}
  func identity(for: URL) -> Data? { nil }
  func delete(for: URL) {}
  func obtainUserIdentity(completionHandler: @escaping (Data?, Error?) -> Void) { completionHandler(nil, nil) }
}

func registerObservers(_ url: URL, _ store: OAuth2TokenStore, _ session: SAPURLSession) throws {
  let parameters = OAuth2AuthenticationParameters(
    authorizationEndpointURL: url, clientID: "id", redirectURL: url, tokenEndpointURL: url,
    requestingScopes: Set<String>())
  let authenticator = OAuth2Authenticator(
    authenticationParameters: parameters, sapURLSession: session, webViewPresenter: WebView())
  session.register(OAuth2Observer(authenticator: authenticator, tokenStore: store))
  let client = try OAuth2ClientCredentialsAuthenticationParameters(
    tokenEndpointURL: url, clientID: "id", clientSecret: "secret")
  session.register(OAuth2Observer(authenticationParameters: client, tokenStore: store))
  session.register(SAMLObserver(authenticator: WebView()))
  session.register(OTPObserver(authenticator: WebView()))
  session.register(SAPPassportObserver())
  session.register(APIKeyAuthenticationObserver(apiKey: "key"))
  #if os(Linux)
  session.register(UserIdentityObserver(userIdentityDiscovery: Identities(), identityStore: Identities()))
  #endif
}

func load(_ url: URL, _ session: SAPURLSession, key: Data) async throws {
  let (data, _) = try await session.data(from: url)
  let (answer, _) = try await session.upload(for: URLRequest(url: url), from: data)
  let (file, _) = try await session.download(for: URLRequest(url: url))
  let (bytes, _) = try await session.bytes(for: URLRequest(url: url))
  for try await byte in bytes { print(byte, answer.count, file) }
  let secrets = CodableStorage(store: try EncryptedDataStore(store: MemoryDataStore(), key: key))
  try secrets.put(data, for: "data")
}
