public import Foundation
import MartletEngine
import MartletSemantics

/// Where an app's Mobile Services are, and what the app and the device are called there.
///
/// ```swift
/// let session = SAPURLSession()
/// let settings = SAPcpmsSettingsParameters(backendURL: url, applicationID: "com.example.app")
/// session.register(SAPcpmsObserver(settingsParameters: settings))
/// settings.url(destination: "orders")      // backendURL and the path that the destination has there
/// ```
public struct SAPcpmsSettingsParameters: Codable, Sendable, Hashable {
  /// Where Mobile Services are: scheme, host and port.
  public var backendURL: URL
  /// What the app is called there.
  public var applicationID: String
  /// What the device is called there; nil for nothing.
  public var deviceID: String?
  /// The app's version; nil for none.
  public var applicationVersion: String?
  /// The paths of destinations by their names; nil where they were not loaded: see ``SAPcpmsDestinations``.
  public var destinations: [String: String]?

  /// Makes parameters.
  ///
  /// - Parameters:
  ///   - backendURL: where Mobile Services are.
  ///   - applicationID: what the app is called there; ``defaultApplicationID`` by default.
  ///   - deviceID: what the device is called; ``defaultDeviceID`` by default.
  ///   - applicationVersion: the app's version; ``defaultApplicationVersion`` by default.
  ///   - destinations: the paths of destinations; none by default.
  public init(
    backendURL: URL, applicationID: String = Self.defaultApplicationID, deviceID: String? = Self.defaultDeviceID,
    applicationVersion: String? = Self.defaultApplicationVersion, destinations: [String: String]? = nil
  ) {
    self.backendURL = backendURL
    self.applicationID = applicationID
    self.deviceID = deviceID
    self.applicationVersion = applicationVersion
    self.destinations = destinations
  }

  /// The app's version as its bundle says (`CFBundleShortVersionString`); nil where there is none, as on Linux.
  public static var defaultApplicationVersion: String? {
    Bundle.main.infoDictionary?["CFBundleShortVersionString"] as? String
  }

  /// The bundle's identifier; the name of the program where there is none, as on Linux.
  public static var defaultApplicationID: String {
    Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
  }

  /// A name for this device and this app: the same at every start, and of no use to find out the machine's own. Computed
  /// once.
  ///
  /// It is made of ``defaultApplicationID`` and the machine's identifier (`/etc/machine-id`), or its host name where it has
  /// none: apps that share a machine and a name share it too.
  public static let defaultDeviceID: String = {
    let machine = (try? String(contentsOfFile: "/etc/machine-id", encoding: .utf8)) ?? ProcessInfo.processInfo.hostName
    let text = "\(defaultApplicationID) \(ASCII.trimmed(machine))"
    guard let hash = MessageDigest.hash(.sha256, Data(text.utf8)) else { return UUID().uuidString }
    return hash.prefix(16).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
  }()

  /// The URL of a destination: the backend's, with the path that the destination has, or else its name. A query stays.
  public func url(destination: String) -> URL {
    guard var parts = URLComponents(url: backendURL, resolvingAgainstBaseURL: true) else { return backendURL }
    let path = (destinations?[destination] ?? destination).split(separator: "/")
    while parts.path.hasSuffix("/") { parts.path.removeLast() }
    parts.path += "/" + path.joined(separator: "/")
    return parts.url ?? backendURL
  }
}
