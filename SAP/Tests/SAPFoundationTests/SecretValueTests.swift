import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import MartletURLSession
import SAPFioriFlows
import SAPFoundation
import TestSupport
import Testing

/// Values that are made of Foundation's alone (the dispositions of observers) show what Foundation shows of them.
@Suite(.timeLimit(.minutes(5))) struct SecretValueTests {
  private static let body = Data(#"{"error": {"code": "1", "message": {"value": "no"}}, "token": "hidden"}"#.utf8)

  private static func request() -> URLRequest {
    var request = URLRequest(url: secretURL)
    request.httpMethod = "POST"
    request.setValue("Bearer hidden", forHTTPHeaderField: "Authorization")
    request.httpBody = body
    return request
  }

  private static func response() throws -> HTTPURLResponse {
    try #require(
      HTTPURLResponse(
        url: secretURL, statusCode: 404, httpVersion: "HTTP/1.1", headerFields: ["Set-Cookie": "a=hidden"]))
  }

  private final class Login: OTPAuthentication, SAMLAuthentication, BasicCredentialDiscovery, UserIdentityObtaining {
    func authenticate(session: SAPURLSession, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {}
    func cancelAuthentication() {}
    func provideBasicCredential(
      for url: URL, challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (BasicCredential?, (any Error)?) -> Void
    ) {}
    func obtainUserIdentity(completionHandler: @escaping @Sendable (Data?, (any Error)?) -> Void) {}
  }

  private static func authentication() throws -> [(name: String, value: Any)] {
    let login = Login()
    let parameters = OAuth2AuthenticationParameters(
      authorizationEndpointURL: secretURL, clientID: "app", redirectURL: secretURL, tokenEndpointURL: secretURL,
      clientSecret: "hidden", xsuaaAuthorizationURL: secretURL)
    let client = try OAuth2ClientCredentialsAuthenticationParameters(
      tokenEndpointURL: secretURL, clientID: "app", clientSecret: "hidden")
    let otp = OTPParameters(authorizationEndpointURL: secretURL, finishEndpointURL: secretURL)
    let saml = SAMLAuthenticationParameters(authorizationEndpointURL: secretURL, finishEndpointURL: secretURL)
    return [
      ("APIKeyCredential", APIKeyCredential(apiKey: "hidden")),
      ("APIKeyAuthenticationConfig", APIKeyAuthenticationConfig(apikeys: ["hidden"])),
      ("APIKeyAuthenticationObserver", APIKeyAuthenticationObserver(apiKey: "hidden", backend: secretURL)),
      ("BasicCredential", BasicCredential(username: "hidden", password: "hidden")),
      ("BasicAuthenticationObserver", BasicAuthenticationObserver(credentialDiscovery: login)),
      ("OAuth2Token", OAuth2Token(accessToken: "hidden", tokenType: "Bearer", refreshToken: "hidden")),
      ("OAuth2AuthenticationParameters", parameters), ("OAuth2ClientCredentialsAuthenticationParameters", client),
      ("OAuth2Authenticator", OAuth2Authenticator(authenticationParameters: client)),
      ("OAuth2Observer", OAuth2Observer(authenticationParameters: client)),
      ("OAuth2ServerError", OAuth2ServerError(error: "denied", errorURI: secretURL)),
      ("OAuth2Error", OAuth2Error.parse(error: "no JSON", httpUrlResponse: try response(), data: body)),
      ("OAuth2Error.http", OAuth2Error.http(error: URLError(.badURL), statusCode: 1, response: "hidden")),
      ("OTPParameters", otp), ("OTPObserver", OTPObserver(authenticator: login, authenticationParameters: otp)),
      ("SAMLAuthenticationParameters", saml), ("SAMLAuthenticator", SAMLAuthenticator(using: saml)),
      ("SAMLObserver", SAMLObserver(authenticator: login, authenticationParameters: saml)),
      ("UserIdentityObserver", UserIdentityObserver(userIdentityDiscovery: login, password: "hidden")),
      ("SAPClientCertificate", SAPClientCertificate(pkcs12: body, password: "hidden")),
    ]
  }

  private static func storage() throws -> [(name: String, value: Any)] {
    let store = MemoryDataStore()
    store.put(data: body, for: "token")
    let codable = CodableStorage(store: store)
    try codable.put("hidden", for: "password")
    let composite = CompositeStorage()
    try composite.put("hidden", for: "password")
    let cookies = SAPHTTPCookieStorage()
    cookies.setCookie(
      try #require(HTTPCookie(properties: [.name: "a", .value: "hidden", .domain: "a.example", .path: "/"])))
    return [
      ("MemoryDataStore", store), ("CodableStorage", codable), ("CompositeStorage", composite),
      ("EncryptedDataStore", try EncryptedDataStore(store: store, key: Data("hiddenhiddenhiddenhiddenhiddenhi".utf8))),
      ("OAuth2TokenStorage", OAuth2TokenStorage(store: codable)),
      ("BasicCredentialStorage", BasicCredentialStorage(store: codable)),
      ("CSRFTokenStorage", CSRFTokenStorage(store: codable)), ("SAPHTTPCookieStorage", cookies),
    ]
  }

  private static func mobileServices() throws -> [(name: String, value: Any)] {
    let session = SAPURLSession(configuration: .ephemeral)
    let settings = SAPcpmsSettingsParameters(backendURL: secretURL)
    return [
      ("SAPcpmsSettingsParameters", settings), ("SAPcpmsObserver", SAPcpmsObserver(settingsParameters: settings)),
      ("SAPcpmsObserver.Audience", SAPcpmsObserver.Audience.backends([secretURL])),
      ("SAPcpmsDestinations", SAPcpmsDestinations(sapURLSession: session, destinationsServiceUrl: secretURL)),
      ("SAPcpmsSettings", SAPcpmsSettings(sapURLSession: session, applicationSettingsURL: secretURL)),
      ("SAPcpmsUserRoles", SAPcpmsUserRoles(sapURLSession: session, roleServiceUrl: secretURL)),
      (
        "SAPcpmsRemoteNotificationClient",
        SAPcpmsRemoteNotificationClient(sapURLSession: session, destinationURL: secretURL, feedbackURL: secretURL)
      ),
      ("SAPcpmsLockAndWipeObserver", SAPcpmsLockAndWipeObserver(store: CodableStorage(), backend: secretURL)),
      ("OnboardingSession", OnboardingSession(sapURLSession: session, settingsParameters: settings)),
      (
        "SAPcpmsLogUploaderError",
        SAPcpmsLogUploaderError.networkError(error: nil, httpStatuscode: 1, response: "hidden")
      ),
      (
        "SAPcpmsRemoteNotificationError",
        SAPcpmsRemoteNotificationError.networkCommunicationFailed(error: nil, httpStatuscode: 1, response: "hidden")
      ),
    ]
  }

  private static func session() async throws -> [(name: String, value: Any)] {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpAdditionalHeaders = ["Authorization": "hidden"]
    let session = SAPURLSession(configuration: configuration)
    let server = try LoopbackServer { _ in .text("hidden").with(.setCookie, "a=hidden") }
    let request = Self.request()
    var sent = URLRequest(url: server.url("/x?token=hidden"))
    sent.setValue("Bearer hidden", forHTTPHeaderField: "Authorization")
    let task = session.dataTask(with: sent) { _, _, _ in }
    task.resume()
    try await until { task.state == .completed }
    let bytes = try await session.bytes(for: sent).0
    return [
      ("SAPURLSession", session), ("SAPURLSession.Configuration", session.configuration),
      ("SAPURLSessionTask", task), ("SAPURLSessionTask before it begins", session.dataTask(with: request)),
      ("SAPURLSession.AsyncBytes", bytes),
      ("SAPURLSessionDownloadTask", session.downloadTask(with: request) { _, _, _ in }),
      ("DataTaskPublisher", session.dataTaskPublisher(for: request)),
    ]
  }

  private static func errors() throws -> [(name: String, value: Any)] {
    let head = ResponseHead(status: .notFound, fields: [.setCookie: "a=hidden"])
    let service = try #require(ODataServiceError(head, body: body))
    let response = try response()
    return [
      ("ODataServiceError", service), ("SAPURLError", try #require(SAPURLError(response: response, data: body))),
      ("SAPURLError.redirection", SAPURLError.redirection(response)),
      ("SAPURLSessionError", SAPURLSessionError.failedToRetriveCSRFToken("the server sent none")),
    ]
  }

  @Test func publicValuesShowNoSecrets() async throws {
    let values =
      try Self.authentication() + Self.storage() + Self.mobileServices() + Self.errors() + (await Self.session())
    for (name, value) in values { #expect(!showsSecret(value), "\(name)") }
  }
}
