/// Makes a configuration, or settings, into values of a context.
public protocol ConfigurationTransforming: AnyObject {
  /// Returns the values by key.
  ///
  /// - Parameter config: what to transform: for ``WelcomeScreenStep`` an `NSDictionary`, for
  ///   ``SAPcpmsSettingsDownloadStep`` a `[String: Any]`.
  /// - Throws: ``OnboardingError`` if it lacks a value, or has another type.
  func transform(config: Any) throws -> [OnboardingInfoKey: Any]
}

/// Reads the configuration that SAP's tools write: server, application and login.
///
/// | key of the configuration | value in the context |
/// |---|---|
/// | `host`, `port`, `protocol` | ``OnboardingInfoKey/sapcpmsSettingsParameters``, and with the path of the initializer ``OnboardingInfoKey/authenticationURL`` |
/// | `applicationID` or `appID` | the application, if the initializer has none |
/// | `auth` with `oauth2` | ``OnboardingInfoKey/oauth2AuthenticationParameters`` |
/// | `auth` with `saml2.web.post` | ``OnboardingInfoKey/samlAuthenticationParameters`` |
///
/// The discovery service itself, from which SAP's framework can download such a configuration, is not supported.
open class DiscoveryServiceConfigurationTransformer: ConfigurationTransforming {
  /// The key of the `SAPcpmsSettingsParameters`; ``OnboardingInfoKey/sapcpmsSettingsParameters`` by default.
  open var sapcpmsSettingsParametersKey = OnboardingInfoKey.sapcpmsSettingsParameters
  /// The key of the URL that asks for authentication; ``OnboardingInfoKey/authenticationURL`` by default.
  open var authenticationURLKey = OnboardingInfoKey.authenticationURL
  /// The key of the SAML parameters; ``OnboardingInfoKey/samlAuthenticationParameters`` by default.
  open var samlOnboardingInfoKey = OnboardingInfoKey.samlAuthenticationParameters
  /// The key of the OAuth 2.0 parameters; ``OnboardingInfoKey/oauth2AuthenticationParameters`` by default.
  open var oauthAuthorizationCodeGrantOnboardingInfoKey = OnboardingInfoKey.oauth2AuthenticationParameters
  private let applicationID: String?
  private let authenticationPath: String?

  /// Makes a transformer.
  ///
  /// - Parameters:
  ///   - applicationID: the app's identifier in Mobile Services; by default that of the configuration.
  ///   - authenticationPath: the path, such as a destination's name, that asks for authentication; nil, the default,
  ///     for the server itself.
  public init(applicationID: String? = nil, authenticationPath: String? = nil) {
    (self.applicationID, self.authenticationPath) = (applicationID, authenticationPath)
  }

  open func transform(config: Any) throws -> [OnboardingInfoKey: Any] {
    guard let values = config as? [String: Any] ?? (config as? NSDictionary) as? [String: Any] else {
      throw OnboardingError.invalidArgument("config", "\(type(of: config))", source: Self.name)
    }
    let backend = try Self.backend(values)
    guard let id = applicationID ?? values["applicationID"] as? String ?? values["appID"] as? String else {
      throw OnboardingError.missingArgument("applicationID", source: Self.name)
    }
    let settings = SAPcpmsSettingsParameters(backendURL: backend, applicationID: id)
    var info: [OnboardingInfoKey: Any] = [sapcpmsSettingsParametersKey: settings]
    info[authenticationURLKey] = authenticationPath.map { settings.url(destination: $0) } ?? backend
    for login in values["auth"] as? [[String: Any]] ?? [] {
      let parameters = login["config"] as? [String: Any] ?? [:]
      switch login["type"] as? String {
      case "oauth2": info[oauthAuthorizationCodeGrantOnboardingInfoKey] = try Self.oauth2(parameters)
      case "saml2.web.post": info[samlOnboardingInfoKey] = Self.saml(parameters, settings)
      default: break
      }
    }
    return info
  }

  private static let name = "DiscoveryServiceConfigurationTransformer"

  private static func backend(_ values: [String: Any]) throws -> URL {
    guard let host = values["host"] as? String, !host.isEmpty else {
      throw OnboardingError.missingArgument("host", source: name)
    }
    var parts = URLComponents()
    parts.scheme = values["protocol"] as? String ?? "https"
    parts.host = host
    parts.port = SAPcpmsSettings.int(values["port"])
    guard ["http", "https"].contains(parts.scheme ?? ""), let url = parts.url, url.host() != nil else {
      ForeignCalls.log.error("'\(host)' is not the name of a host: a port is the value of 'port'")
      throw OnboardingError.invalidArgument("host", host, source: name)
    }
    return url
  }

  private static func oauth2(_ values: [String: Any]) throws -> OAuth2AuthenticationParameters {
    func url(_ key: String, in values: [String: Any]) throws -> URL {
      guard let text = values[key] as? String else { throw OnboardingError.missingArgument(key, source: name) }
      guard let url = URL(string: text) else { throw OnboardingError.invalidArgument(key, text, source: name) }
      return url
    }
    let clients = values["oauth2.clients"] as? [[String: Any]] ?? []
    guard
      let client = clients.first(where: { ["authorization_code", nil].contains($0["grantType"] as? String) }),
      let id = client["clientID"] as? String
    else { throw OnboardingError.missingArgument("oauth2.clients", source: name) }
    let method = (values["oauth2.pkce"] as? [String: Any])?["codeChallengeMethod"] as? String
    let xsuaa = ["oauth2.xsuaaAuthorizationURL", "oauth2.xsuaaAuthorizationEndpoint"].compactMap {
      values[$0] as? String
    }
    return OAuth2AuthenticationParameters(
      authorizationEndpointURL: try url("oauth2.authorizationEndpoint", in: values), clientID: id,
      redirectURL: try url("redirectURL", in: client), tokenEndpointURL: try url("oauth2.tokenEndpoint", in: values),
      clientSecret: client["clientSecret"] as? String, xsuaaAuthorizationURL: xsuaa.first.flatMap { URL(string: $0) },
      codeChallengeMethod: method?.lowercased() == "plain" ? .plain : .s256)
  }

  /// The field's value and the page are those of Mobile Services, unless the configuration has others.
  private static func saml(
    _ values: [String: Any], _ settings: SAPcpmsSettingsParameters
  ) -> SAMLAuthenticationParameters {
    let standard = SAMLAuthenticationParameters(settingsParameters: settings)
    let header = values["saml2.web.post.authchallengeheader.name"] as? String ?? standard.challengeHeaderName
    var (page, finish) = (standard.authorizationEndpointURL, standard.finishEndpointURL)
    if let path = values["saml2.web.post.finish.endpoint.uri"] as? String {
      page = settings.url(destination: path)
      let parameter = values["saml2.web.post.finish.endpoint.redirectparam"] as? String ?? "finishEndpointParam"
      finish = page.appending(queryItems: [URLQueryItem(name: parameter, value: "someUnusedValue")])
    }
    return SAMLAuthenticationParameters(
      authorizationEndpointURL: page, finishEndpointURL: finish, challengeHeaderName: header,
      challengeHeaderValue: standard.challengeHeaderValue)
  }
}

extension OnboardingInfoKey {
  /// The `SAPcpmsLogSettings` of the server; missing if it has none.
  public static let sapcpmsLogSettings = Self("martlet.sapcpmsLogSettings")
  /// The `SAPcpmsUsagePolicy` of the server; missing if it has none, or if nothing may be collected.
  public static let sapcpmsUsagePolicy = Self("martlet.sapcpmsUsagePolicy")
}

/// Reads the settings of Mobile Services: the transformer of ``SAPcpmsSettingsDownloadStep`` by default. (SAP does not
/// publish the name of its own.)
///
/// | part of the settings | value in the context |
/// |---|---|
/// | `passwordPolicy` | ``OnboardingInfoKey/passcodePolicy`` |
/// | `logSettings` | ``OnboardingInfoKey/sapcpmsLogSettings`` |
/// | `usagePolicy` | ``OnboardingInfoKey/sapcpmsUsagePolicy`` |
///
/// ``SAPcpmsLockWipePolicyApplyStep`` reads `blockWipingPolicy` itself. A subclass may read further parts.
open class SettingsTransformer: ConfigurationTransforming {
  /// Makes a transformer.
  public init() {}

  /// Returns the policies by key.
  ///
  /// - Throws: ``OnboardingError`` if the settings are no dictionary, and `ConfigurationError` if a part of them cannot
  ///   be read: no policy is passed over silently.
  open func transform(config: Any) throws -> [OnboardingInfoKey: Any] {
    guard let settings = config as? [String: Any] else {
      throw OnboardingError.invalidArgument("config", "\(type(of: config))", source: "SettingsTransformer")
    }
    var info: [OnboardingInfoKey: Any] = [:]
    info[.passcodePolicy] = try PasscodePolicy(settings: settings)
    info[.sapcpmsLogSettings] = try SAPcpmsLogSettings(sapcpmsSettings: settings)
    info[.sapcpmsUsagePolicy] = try SAPcpmsUsagePolicy(sapcpmsSettings: settings)
    return info
  }
}
