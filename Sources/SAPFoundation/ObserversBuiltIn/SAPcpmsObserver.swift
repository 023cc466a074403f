public import Foundation
public import MartletEngine
public import MartletSemantics

/// Tells Mobile Services which app and which device ask: `X-SMP-APPID`, `X-SMP-DEVICEID` and `X-SMP-APPVERSION`.
///
/// ```swift
/// let session = SAPURLSession()
/// session.register(SAPcpmsObserver(settingsParameters: settings))     // for the settings' backend alone
/// session.register(SAPcpmsObserver(applicationID: "com.example.app"))  // for whatever host the app asks
/// ```
///
/// The fields never go where only a redirect leads: SAP documents them for each request of the session, which would tell every
/// third party who the device is. With settings, or backends, nobody else gets them at all. A field that a request has already
/// stays as it is. The name of the version's field is not published; it can be chosen.
public final class SAPcpmsObserver: SAPURLSessionObserving {
  /// Which servers are told.
  public enum Audience: Sendable, Hashable {
    /// Every server that the app asks by itself, and none that a redirect leads to.
    case asked
    /// The origins of these URLs, and the hosts below them if `subdomains` says so.
    case backends([URL], subdomains: DefaultFieldsInterceptor.Subdomains = .excluded)
  }

  /// The app, as Mobile Services know it.
  public let applicationID: String
  /// The device; nil is not sent.
  public let deviceID: String?
  /// The app's version; nil is not sent.
  public let applicationVersion: String?
  package let interceptor: any Interceptor
  private let audience: Audience
  private let versionField: FieldName

  /// Makes an observer.
  ///
  /// - Parameters:
  ///   - applicationID: the app, as Mobile Services know it.
  ///   - deviceID: the device; ``SAPcpmsSettingsParameters/defaultDeviceID`` by default.
  ///   - applicationVersion: the app's version; none by default.
  ///   - audience: which servers are told; by default those that the app asks.
  ///   - versionField: the field that carries the version; `X-SMP-APPVERSION` by default.
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

  /// Makes an observer that tells the backend of the settings, and nobody else.
  public convenience init(settingsParameters: SAPcpmsSettingsParameters) {
    self.init(
      applicationID: settingsParameters.applicationID, deviceID: settingsParameters.deviceID,
      applicationVersion: settingsParameters.applicationVersion, audience: .backends([settingsParameters.backendURL]))
  }

  /// An observer that says the same.
  public func copy() -> Any? {
    SAPcpmsObserver(
      applicationID: applicationID, deviceID: deviceID, applicationVersion: applicationVersion, audience: audience,
      versionField: versionField)
  }
}

extension SAPcpmsObserver: InterceptingObserver {}
