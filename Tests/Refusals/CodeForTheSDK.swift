import SAPFoundation

// Code for SAP's SDK that the migration guide replaces.

func logins(_ settings: SAPcpmsSettingsParameters, _ parameters: OAuth2AuthenticationParameters) {
  // error: missing argument for parameter 'webViewPresenter' in call
  _ = SAMLObserver(settingsParameters: settings)
  // error: extra argument 'settingsParameters' in call
  _ = OTPObserver(settingsParameters: settings)
  // error: cannot find 'WKWebViewPresenter' in scope
  _ = OAuth2Authenticator(authenticationParameters: parameters, webViewPresenter: WKWebViewPresenter())
  // error: missing argument for parameter 'apikeyCredentialDiscovery' in call
  _ = APIKeyAuthenticationObserver()
}

func samlWithoutASession(_ authenticator: SAMLAuthenticator) {
  // error: missing argument for parameter 'session' in call
  authenticator.authenticate { _ in }
}

func tasks(_ session: SAPURLSession, _ url: URL, _ request: URLRequest) async throws {
  // error: cannot convert value of type 'URL' to expected argument type 'URLRequest'
  session.dataTask(with: url).resume()
  // error: missing argument for parameter 'completionHandler' in call
  session.downloadTask(with: request).resume()
  // error: value of type 'SAPURLSession.AsyncBytes' has no member 'lines'
  _ = try await session.bytes(from: url).0.lines
  // error: extra argument 'delegate' in call
  _ = try await session.data(for: request, delegate: nil)
}

func levels(_ level: LogLevel) {
  // error: switch must be exhaustive
  switch level {
  case .debug, .info, .warn, .error, .off: break
  }
}

func onboarding(_ information: SAPcpmsUserRoles.SAPcpmsUserInfo, _ response: HTTPURLResponse) {
  // error: cannot use optional chaining on non-optional value of type '[String]'
  _ = information.emails?.first
  // error: missing argument label 'response:' in call
  _ = SAPURLError.server(response)
}
