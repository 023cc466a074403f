public import MartletEngine
@_spi(Toolkit) public import MartletSemantics

/// Adds the fields that identify app and device to Mobile Services: `X-SMP-APPID`, `X-SMP-DEVICEID` and
/// `X-SMP-APPVERSION`.
///
/// ```swift
/// let session = SAPURLSession()
/// session.register(SAPcpmsObserver(settingsParameters: settings))     // for the settings' backend alone
/// session.register(SAPcpmsObserver(applicationID: "com.example.app"))  // for whatever host the app asks
/// ```
///
/// The fields are not sent to another origin after a redirect. (SAP documents them for each request of the session,
/// which would identify the device to every third party.) With settings or backends, they are sent to those origins
/// only. If a request already has a field, its value is not changed. The name of the version's field is not published,
/// so you can set it.
public final class SAPcpmsObserver: SAPURLSessionObserving {
  /// The servers to which the fields are sent.
  public enum Audience: Sendable, Hashable {
    /// Every server that the app addresses, but no other origin after a redirect.
    case asked
    /// The origins of these URLs, and their subdomains if `subdomains` includes them.
    case backends([URL], subdomains: DefaultFieldsInterceptor.Subdomains = .excluded)
  }

  /// The app's identifier in Mobile Services.
  public let applicationID: String
  /// The device's identifier; none is sent if nil.
  public let deviceID: String?
  /// The app's version; none is sent if nil.
  public let applicationVersion: String?
  let interceptor: any Interceptor
  private let audience: Audience
  private let versionField: FieldName

  /// Makes an observer.
  ///
  /// - Parameters:
  ///   - applicationID: the app's identifier in Mobile Services.
  ///   - deviceID: the device's identifier; ``SAPcpmsSettingsParameters/defaultDeviceID`` by default.
  ///   - applicationVersion: the app's version; none by default.
  ///   - audience: the servers to which the fields are sent; by default the servers that the app addresses.
  ///   - versionField: the field of the version; `X-SMP-APPVERSION` by default.
  public init(
    applicationID: String, deviceID: String? = SAPcpmsSettingsParameters.defaultDeviceID,
    applicationVersion: String? = nil, audience: Audience = .asked, versionField: FieldName = "X-SMP-APPVERSION"
  ) {
    self.applicationID = applicationID
    self.deviceID = deviceID
    self.applicationVersion = applicationVersion
    self.audience = audience
    self.versionField = versionField
    var fields: HTTPFields = ["X-SMP-APPID": applicationID]
    if let deviceID { fields["X-SMP-DEVICEID"] = deviceID }
    if let applicationVersion { fields[versionField] = applicationVersion }
    interceptor =
      switch audience {
      case .asked: DefaultFieldsInterceptor(fields)
      case .backends(let urls, let subdomains): DefaultFieldsInterceptor(fields, for: urls, subdomains: subdomains)
      }
  }

  /// Makes an observer for the backend of the settings only.
  public convenience init(settingsParameters: SAPcpmsSettingsParameters) {
    self.init(
      applicationID: settingsParameters.applicationID, deviceID: settingsParameters.deviceID,
      applicationVersion: settingsParameters.applicationVersion, audience: .backends([settingsParameters.backendURL]))
  }

  /// Returns an observer with the same properties.
  public func copy() -> Any? {
    SAPcpmsObserver(
      applicationID: applicationID, deviceID: deviceID, applicationVersion: applicationVersion, audience: audience,
      versionField: versionField)
  }
}

extension SAPcpmsObserver: InterceptingObserver {}

extension SAPcpmsObserver.Audience: CustomStringConvertible, CustomReflectable {
  /// The servers, without user information and queries of the URLs.
  public var description: String {
    switch self {
    case .asked: "asked"
    case .backends(let urls, let subdomains):
      "\(urls.map(\.redacted).joined(separator: ", ")), subdomains \(subdomains)"
    }
  }

  /// The description alone.
  public var customMirror: Mirror { Mirror(self, children: ["audience": description]) }
}
