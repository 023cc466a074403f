import SAPFoundation
import TestSupport

// Each documented symbol of the page SAPReference that works, in code that compiles and does not run.
extension SymbolList {
  mutating func addSAPcpmsObserver() {
    add("SAPcpmsObserver.init(applicationID:deviceID:applicationVersion:)") {
      _ = SAPcpmsObserver(applicationID: "app")
      _ = SAPcpmsObserver(applicationID: "app", deviceID: "device", applicationVersion: "1")
    }
    add("SAPcpmsObserver.init(settingsParameters:)") { (p: SAPcpmsSettingsParameters) in
      _ = SAPcpmsObserver(settingsParameters: p)
    }
    add("SAPcpmsObserver.applicationID") { (o: SAPcpmsObserver) in _ = o.applicationID }
    add("SAPcpmsObserver.deviceID") { (o: SAPcpmsObserver) in _ = o.deviceID }
    add("SAPcpmsObserver.applicationVersion") { (o: SAPcpmsObserver) in _ = o.applicationVersion }
  }

  mutating func addCSRFTokens() {
    add("CSRFTokenObserver.init(rootUrl:tokenStore:)") { (u: URL, t: any CSRFTokenStoring) in
      _ = CSRFTokenObserver(rootUrl: u)
      _ = CSRFTokenObserver(rootUrl: u, tokenStore: t)
    }
    add(
      "CSRFTokenObserver.init(tokenUrlProvider:tokenStore:)"
    ) { (p: any CSRFTokenURLProviding, t: any CSRFTokenStoring) in
      _ = CSRFTokenObserver(tokenUrlProvider: p, tokenStore: t)
    }
    add("CSRFTokenStorage.init(store:)") { (c: any CodableStoring) in _ = CSRFTokenStorage(store: c) }
    add("CSRFTokenStorage.store") { (t: CSRFTokenStorage, c: any CodableStoring) in t.store = c }
    add("CSRFTokenStoring.store(token:for:)") { (t: any CSRFTokenStoring, u: URL) in
      try t.store(token: "abc", for: u)
    }
    add("CSRFTokenStoring.token(for:)") { (t: any CSRFTokenStoring, u: URL) in _ = try t.token(for: u) }
    add("CSRFTokenStoring.deleteToken(for:)") { (t: any CSRFTokenStoring, u: URL) in try t.deleteToken(for: u) }
    add("CSRFTokenURLProviding.csrfTokenURL(for:)") { (p: any CSRFTokenURLProviding, u: URL) in
      _ = p.csrfTokenURL(for: u)
    }
  }

  mutating func addOtherFields() {
    add("CorrelationObserver.init()") { _ = CorrelationObserver() }
    add("CorrelationObserver.newCorrelationID()") { (o: CorrelationObserver) in _ = o.newCorrelationID() }
    add("CorrelationObserver.copy()") { (o: CorrelationObserver) in _ = o.copy() }
    add("LanguageObserver.init(language:)") { _ = [LanguageObserver(), LanguageObserver(language: "de")] }
    add("LanguageObserver.language") { (o: LanguageObserver) in o.language = "fr" }
    add("NetworkActivityIndicatorController.shared") { _ = NetworkActivityIndicatorController.shared }
    add(
      "NetworkActivityIndicatorController.shouldShowActivityIndicator()"
    ) { (c: NetworkActivityIndicatorController) in
      c.shouldShowActivityIndicator()
    }
    add(
      "NetworkActivityIndicatorController.shouldHideActivityIndicator()"
    ) { (c: NetworkActivityIndicatorController) in
      c.shouldHideActivityIndicator()
    }
    add("NetworkActivityIndicatorObserver.init()") { _ = NetworkActivityIndicatorObserver() }
    add("SAPPassportObserver") { _ = SAPPassportObserver() }
    add("APIKeyAuthenticationObserver.init(apikeyCredentialDiscovery:)") { (d: any APIKeyCredentialDiscovery) in
      _ = APIKeyAuthenticationObserver(apikeyCredentialDiscovery: d)
    }
    add("APIKeyAuthenticationConfig.init(apikeys:isAPIKeyAccessOnly:allowAnonymousAccessFlag:)") {
      _ = APIKeyAuthenticationConfig(apikeys: ["a"], isAPIKeyAccessOnly: false, allowAnonymousAccessFlag: true).apikeys
    }
  }

  mutating func addSAPcpmsUserBlockedObserver() {
    add("SAPcpmsUserBlockedObserver.init(userBlockedHandler:)") {
      _ = SAPcpmsUserBlockedObserver { error in _ = error }
    }
    add("SAPcpmsUserBlockedObserver.blockedHTTPStatusCode") { (o: SAPcpmsUserBlockedObserver) in
      _ = o.blockedHTTPStatusCode
    }
    add("SAPcpmsUserBlockedObserver.blockedHTTPHeaderName") { (o: SAPcpmsUserBlockedObserver) in
      _ = o.blockedHTTPHeaderName
    }
    add("SAPcpmsUserBlockedObserver.userBlockedHandler") { (o: SAPcpmsUserBlockedObserver) in
      o.userBlockedHandler(.traffic)
    }
  }

  mutating func addPolicies() {
    add("SAPcpmsUsagePolicy.init(dataCollectionEnabled:uploadDataAfterDays:crashLogUploadEnabled:)") {
      _ = SAPcpmsUsagePolicy(dataCollectionEnabled: true).uploadDataAfterDays
    }
    add("SAPcpmsUsagePolicy.init(sapcpmsSettings:)") {
      _ = try SAPcpmsUsagePolicy(sapcpmsSettings: [String: Any]())?.crashLogUploadEnabled
    }
    add("SAPcpmsUserBlockedError") {
      _ = [SAPcpmsUserBlockedError.traffic, .trafficAndRegistration, .registration]
    }
    add("SAPcpmsLockAndWipeObserver.init(store:)") { (c: any CodableStoring) in
      _ = SAPcpmsLockAndWipeObserver(store: c)
    }
    add("LockWipePolicyError") { (e: LockWipePolicyError) in _ = e }
    add("LockAndWipeManager.shared") { _ = LockAndWipeManager.shared }
    add("LockAndWipeManager.register(_:)") { (m: LockAndWipeManager, o: any LockAndWipeEventObserving) in
      m.register(o)
    }
    add("LockAndWipeManager.unregister(_:)") { (m: LockAndWipeManager, o: any LockAndWipeEventObserving) in
      m.unregister(o)
    }
    add("LockAndWipeManager.Lock()") { (m: LockAndWipeManager) in m.Lock() }
    add("LockAndWipeManager.Wipe()") { (m: LockAndWipeManager) in m.Wipe() }
    add("LockAndWipeEventObserving") { (o: any LockAndWipeEventObserving) in
      _ = [o.willLock, o.didLock, o.willWipe, o.didWipe]
    }
    add("ApplicationVersionObserver.init()") { _ = ApplicationVersionObserver() }
    add("ApplicationVersioningError.inactive") { _ = ApplicationVersioningError.inactive }
  }

  mutating func addPasswordsAndOAuth20() {
    add("BasicAuthenticationObserver") { _ = BasicAuthenticationObserver() }
    add("BasicCredentialStoring") { (t: any BasicCredentialStoring, c: BasicCredential, u: URL) in
      try t.store(credential: c, for: u)
      _ = try t.credential(for: u)
      try t.delete(for: u)
    }
    add("BasicCredentialDiscovery") { (d: any BasicCredentialDiscovery, u: URL, c: URLAuthenticationChallenge) in
      d.provideBasicCredential(for: u, challenge: c) { _, _ in }
    }
    add(
      "OAuth2Observer.init(authenticator:tokenStore:)"
    ) { (a: any OAuth2Authentication, t: any OAuth2TokenStore) in
      _ = OAuth2Observer(authenticator: a, tokenStore: t)
    }
    add(
      "OAuth2Authenticator.init(authenticationParameters:webViewPresenter:)"
    ) { (p: OAuth2AuthenticationParameters, l: any LoginPagePresenting) in
      _ = OAuth2Authenticator(authenticationParameters: p, webViewPresenter: l)
    }
    add("OAuth2AuthenticationParameters") { (u: URL) in
      _ = OAuth2AuthenticationParameters(
        authorizationEndpointURL: u, clientID: "app", redirectURL: u, tokenEndpointURL: u, requestingScopes: [])
    }
    add("OAuth2TokenStore") { (t: any OAuth2TokenStore, o: OAuth2Token, u: URL) in
      try t.store(token: o, for: u)
      _ = try t.token(for: u)
      try t.deleteToken(for: u)
      t.clear()
    }
    add("OAuth2TokenStorage.init(store:keyHandler:)") { (c: any CodableStoring) in
      _ = OAuth2TokenStorage(store: c)
      _ = OAuth2TokenStorage(store: c) { url in url.absoluteString }
    }
  }

  mutating func addSAMLAndOnetimePasswords() {
    add("SAMLObserver.init(authenticator:)") { (a: any SAMLAuthentication) in
      _ = SAMLObserver(authenticator: a)
    }
    add(
      "SAMLAuthentication.authenticate(session:completionHandler:)"
    ) { (a: any SAMLAuthentication, s: SAPURLSession) in
      a.authenticate(session: s) { _ in }
    }
    add(
      "SAMLAuthenticator.authenticate(cookies:completionHandler:)"
    ) { (a: SAMLAuthenticator, c: [HTTPCookie]) in
      a.authenticate(cookies: c) { _, _ in }
    }
    add("SAMLAuthentication.cancelAuthentication()") { (a: any SAMLAuthentication) in a.cancelAuthentication() }
    add("SAMLAuthenticator.init(authenticationParameters:)") { (p: SAMLAuthenticationParameters) in
      _ = SAMLAuthenticator(authenticationParameters: p)
    }
    add("SAMLAuthenticator.init(using:)") { (p: SAMLAuthenticationParameters) in
      _ = SAMLAuthenticator(using: p)
    }
    add("SAMLAuthenticationParameters") { (u: URL) in
      _ = SAMLAuthenticationParameters(authorizationEndpointURL: u, finishEndpointURL: u)
      _ = SAMLAuthenticationParameters(
        authorizationEndpointURL: u, finishEndpointURL: u, challengeHeaderName: "name", challengeHeaderValue: "value")
    }
  }

  mutating func addCertificatesAndPages() {
    add("UserIdentityObserver") { (u: any UserIdentityObtaining) in
      _ = UserIdentityObserver(userIdentityDiscovery: u)
    }
  }
}
