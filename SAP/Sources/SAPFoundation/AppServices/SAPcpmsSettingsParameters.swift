@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// The URL of an app's Mobile Services, and the identifiers of the app and the device there.
///
/// ```swift
/// let session = SAPURLSession()
/// let settings = SAPcpmsSettingsParameters(backendURL: url, applicationID: "com.example.app")
/// session.register(SAPcpmsObserver(settingsParameters: settings))
/// settings.url(destination: "orders")      // backendURL and the destination's path
/// ```
public struct SAPcpmsSettingsParameters: Codable, Sendable, Hashable {
  /// The URL of Mobile Services: scheme, host and port.
  public var backendURL: URL
  /// The app's identifier.
  public var applicationID: String
  /// The device's identifier; nil for none.
  public var deviceID: String?
  /// The app's version; nil for none.
  public var applicationVersion: String?
  /// The paths of destinations by their names; nil if they were not loaded: see ``SAPcpmsDestinations``.
  public var destinations: [String: String]?

  /// Makes parameters.
  ///
  /// - Parameters:
  ///   - backendURL: the URL of Mobile Services.
  ///   - applicationID: the app's identifier; ``defaultApplicationID`` by default.
  ///   - deviceID: the device's identifier; ``defaultDeviceID`` by default.
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

  /// The version in the app's bundle (`CFBundleShortVersionString`); nil if there is none, as on Linux.
  public static var defaultApplicationVersion: String? {
    Bundle.main.infoDictionary?["CFBundleShortVersionString"] as? String
  }

  /// The bundle's identifier; if there is none, as on Linux, the program's name.
  public static var defaultApplicationID: String { ProgramFolder.program }

  /// An identifier for this device and this app, the same at every start. It does not reveal the machine's own
  /// identifier. It is computed once.
  ///
  /// It is a hash of ``defaultApplicationID`` and the machine's identifier (`/etc/machine-id`), or the host name if the
  /// machine has no identifier. Apps with the same name on the same machine have the same identifier.
  public static let defaultDeviceID: String = {
    let machine = (try? String(contentsOfFile: "/etc/machine-id", encoding: .utf8)) ?? ProcessInfo.processInfo.hostName
    let text = "\(defaultApplicationID) \(ASCII.trimmed(machine))"
    guard let hash = MessageDigest.hash(.sha256, Data(text.utf8)) else { return UUID().uuidString }
    return hash.prefix(16).hexadecimal
  }()

  /// Returns the URL of a destination: the backend's URL with the destination's path, or with its name if the path is
  /// not known. A query is kept. Segments `.` and `..` of a path are left out.
  public func url(destination: String) -> URL {
    guard var parts = URLComponents(url: backendURL, resolvingAgainstBaseURL: true) else { return backendURL }
    let path = (destinations?[destination] ?? destination).split(separator: "/").filter { $0 != "." && $0 != ".." }
    while parts.path.hasSuffix("/") { parts.path.removeLast() }
    parts.path += "/" + path.joined(separator: "/")
    return parts.url ?? backendURL
  }

  /// Returns the URL of a destination, as ``url(destination:)`` does; nil if ``destinations`` does not have it.
  public func url(forDestination destination: String) -> URL? {
    destinations?[destination] == nil ? nil : url(destination: destination)
  }

  /// Returns a URL of the backend's host. A path of ``backendURL`` itself is not part of it.
  ///
  /// - Parameters:
  ///   - path: the path, percent-encoded.
  ///   - query: the query, percent-encoded.
  func hostURL(_ path: String, query: String? = nil) -> URL {
    var parts = URLComponents(url: backendURL, resolvingAgainstBaseURL: true)
    parts?.percentEncodedPath = path
    parts?.percentEncodedQuery = query
    return parts?.url ?? backendURL
  }

  /// ``applicationID`` as a segment of a path.
  var applicationSegment: String { PercentEncoding.pathSegment.encode(applicationID) }

  /// ``deviceID`` as a segment of a path or a value in a query; nil if there is none. One that is empty, `.` or `..`
  /// would name another place.
  var deviceSegment: String? {
    guard let deviceID, !["", ".", ".."].contains(deviceID) else { return nil }
    return PercentEncoding.queryComponent.encode(deviceID)
  }
}

extension SAPcpmsSettingsParameters: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The application and the backend, without the device, and without user information and query of the URL.
  public var description: String { "\(applicationID) at \(backendURL.redacted)" }

  /// The description alone.
  public var customMirror: Mirror { Mirror(self, children: ["settings": description]) }

  /// The description.
  public var debugDescription: String { "SAPcpmsSettingsParameters: \(description)" }
}

/// Loads the destinations of an app, with names and paths, from Mobile Services.
///
/// ```swift
/// let session = SAPURLSession()
/// SAPcpmsDestinations(sapURLSession: session, settingsParameters: settings).load { destinations, error in
///   print(destinations ?? [:], error?.localizedDescription ?? "")
/// }
/// ```
///
/// SAP does not publish the URL and the format of the service. By default the URL is
/// `…/mobileservices/application/ID/endpoints` below the backend. The response has to be a JSON object of names and
/// paths, or an array of objects with `name` and `path`. The other initializer takes any URL.
open class SAPcpmsDestinations {
  private let session: SAPURLSession
  private let url: URL
  private let remoteURL: URL?

  /// Makes a loader for URLs.
  ///
  /// - Parameters:
  ///   - sapURLSession: sends the requests.
  ///   - destinationsServiceUrl: the service of the app's destinations.
  ///   - remoteDestinationsEndpointUrl: a service of further destinations, in the same format; none by default. (SAP
  ///     publishes the parameter, and not its effect.) A destination of the app replaces one with its name.
  public init(sapURLSession: SAPURLSession, destinationsServiceUrl: URL, remoteDestinationsEndpointUrl: URL? = nil) {
    session = sapURLSession
    url = destinationsServiceUrl
    remoteURL = remoteDestinationsEndpointUrl
  }

  /// Makes a loader for the destinations of the settings' app at their backend.
  public convenience init(sapURLSession: SAPURLSession, settingsParameters: SAPcpmsSettingsParameters) {
    let path = "/mobileservices/application/\(settingsParameters.applicationSegment)/endpoints"
    self.init(sapURLSession: sapURLSession, destinationsServiceUrl: settingsParameters.hostURL(path))
  }

  /// Loads the destinations. The handler is called once, on the session's `delegateQueue`, with the destinations or an
  /// error, which is a ``SAPURLError``.
  open func load(completionHandler: @escaping @Sendable ([String: String]?, (any Error)?) -> Void) {
    let done = { @Sendable (destinations: [String: String]?, error: (any Error)?) in
      completionHandler(destinations, error.map { SAPURLError($0) })
    }
    session.send(URLRequest(service: url), Self.read) { [session, remoteURL] destinations, error in
      guard let destinations, let remoteURL else { return done(destinations, error) }
      session.send(URLRequest(service: remoteURL), Self.read) { others, error in
        done(others.map { $0.merging(destinations) { $1 } }, error)
      }
    }
  }

  /// Loads the destinations. Cancelling ends the wait, and not the request.
  ///
  /// - Throws: ``SAPURLError``.
  public func load() async throws -> [String: String] {
    try await firstResult { load(completionHandler: $0) } ?? [:]
  }

  /// Loads the destinations into settings. The handler is called once, on the session's `delegateQueue`, with the
  /// settings or a ``SAPURLError``. (SAP publishes that there is such a method, and not its name.)
  public func load(
    into settingsParameters: SAPcpmsSettingsParameters,
    completionHandler: @escaping @Sendable (SAPcpmsSettingsParameters?, (any Error)?) -> Void
  ) {
    load { destinations, error in
      var settings = settingsParameters
      settings.destinations = destinations
      completionHandler(destinations == nil ? nil : settings, error)
    }
  }

  private struct Destination: Decodable {
    let name: String
    let path: String
  }

  private static func read(_ data: Data, _ response: URLResponse?) throws -> [String: String] {
    guard let response else { throw SAPURLError.unknown }
    let data = try SAPURLError.checked(data, response)
    if let list = try? JSONDecoder().decode([Destination].self, from: data) {
      return Dictionary(list.map { ($0.name, $0.path) }) { first, _ in first }
    }
    return try JSONDecoder().decode([String: String].self, from: data)
  }
}

extension SAPcpmsDestinations: CustomReflectable {
  /// A mirror without user information and queries of the URLs.
  public var customMirror: Mirror {
    Mirror(self, children: ["url": url.redacted, "remoteURL": remoteURL?.redacted as Any])
  }
}
