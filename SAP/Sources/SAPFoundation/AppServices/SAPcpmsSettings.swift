@_spi(Toolkit) import MartletSemantics

/// Reads, stores and deletes settings on Mobile Services: those of the app, of the user, and of one device of the user.
///
/// ```swift
/// let session = SAPURLSession()
/// let service = SAPcpmsSettings(sapURLSession: session, settingsParameters: settings)
/// service.load(for: .user, keyPath: "appearance/theme") { values, error in print(values?["color"] ?? "none") }
/// ```
///
/// The settings of a target are a tree. A key path names a part of it: a configuration, and properties within it,
/// separated by slashes. Mobile Services keeps its own settings in `mobileservices/settingsExchange`
/// (``loadSAPcpmsSettings(completionHandler:)``); many of their numbers and Booleans are texts, such as `"8"` and
/// `"false"`, which ``int(_:)`` and ``bool(_:)`` read.
///
/// SAP publishes the initializers, `load`, and the URLs of app and user. The labels of the other methods and the URL of
/// a device (`…/currentuser/devices/ID`) are not published. Loading the settings of a user or a device also asks for
/// the settings of the levels above (`overwrite=true`).
open class SAPcpmsSettings {
  /// Whose settings they are. (SAP's guide also names the cases after the initializer's URLs.)
  public enum SettingsTarget: Sendable, Hashable, CaseIterable {
    /// The settings of the app, which all users share.
    case application
    /// The settings of the signed-in user.
    case user
    /// The settings of the user on this device.
    case device

    /// ``application``.
    public static let applicationSettings = Self.application
    /// ``user``.
    public static let userSettings = Self.user
    /// ``device``.
    public static let deviceSettings = Self.device
  }

  private let session: SAPURLSession
  private let urls: [SettingsTarget: URL]

  /// Makes a client for the app of the settings.
  public convenience init(sapURLSession: SAPURLSession, settingsParameters: SAPcpmsSettingsParameters) {
    let app = settingsParameters.applicationSegment
    let root = "/mobileservices/application/\(app)/Storage/v1/runtime/application/\(app)"
    let device = settingsParameters.deviceSegment
    self.init(
      sapURLSession: sapURLSession, applicationSettingsURL: settingsParameters.hostURL("\(root)/global"),
      userSettingsURL: settingsParameters.hostURL("\(root)/currentuser"),
      deviceSettingsURL: device.map { settingsParameters.hostURL("\(root)/currentuser/devices/\($0)") })
  }

  /// Makes a client for URLs. Settings without a URL fail with ``SAPcpmsSettingsError/missingValueForSettingsTarget``.
  public init(
    sapURLSession: SAPURLSession, applicationSettingsURL: URL, userSettingsURL: URL? = nil,
    deviceSettingsURL: URL? = nil
  ) {
    session = sapURLSession
    var urls = [SettingsTarget.application: applicationSettingsURL]
    (urls[.user], urls[.device]) = (userSettingsURL, deviceSettingsURL)
    self.urls = urls
  }

  /// Loads settings. The handler is called once, on the session's `delegateQueue`.
  ///
  /// - Parameters:
  ///   - target: whose settings; the user's by default.
  ///   - keyPath: a part of them; all by default.
  ///   - completionHandler: gets the settings, or a ``SAPcpmsSettingsError``. If the part is a single value, it gets a
  ///     dictionary with its name.
  open func load(
    for target: SettingsTarget = .user, keyPath: String? = nil,
    completionHandler: @escaping @Sendable ([String: Any]?, (any Error)?) -> Void
  ) {
    send(SAPURLSession.HTTPMethod.get, target, keyPath, nil, completionHandler)
  }

  /// Loads the app's settings of Mobile Services itself: policies of passcodes, logs and usage.
  open func loadSAPcpmsSettings(completionHandler: @escaping @Sendable ([String: Any]?, (any Error)?) -> Void) {
    load(for: .application, keyPath: "mobileservices/settingsExchange", completionHandler: completionHandler)
  }

  /// Stores settings in place of those at the key path (PUT). The handler is called once, on the session's
  /// `delegateQueue`, with nil or a ``SAPcpmsSettingsError``.
  ///
  /// - Parameters:
  ///   - settings: values of JSON.
  ///   - target: whose settings; the user's by default.
  ///   - keyPath: the part that is replaced; all by default.
  ///   - completionHandler: gets the error, if any.
  open func store(
    _ settings: [String: Any], for target: SettingsTarget = .user, keyPath: String? = nil,
    completionHandler: @escaping @Sendable ((any Error)?) -> Void
  ) {
    guard JSONSerialization.isValidJSONObject(settings),
      let data = try? JSONSerialization.data(withJSONObject: settings)
    else {
      let error = SAPcpmsSettingsError.malformed(type: .invalidType, description: "the settings are not JSON")
      return session.callbacks.add { completionHandler(error) }
    }
    send(SAPURLSession.HTTPMethod.put, target, keyPath, data) { completionHandler($1) }
  }

  /// Deletes settings. The handler is called once, on the session's `delegateQueue`, with nil or a
  /// ``SAPcpmsSettingsError``.
  open func delete(
    for target: SettingsTarget = .user, keyPath: String? = nil,
    completionHandler: @escaping @Sendable ((any Error)?) -> Void
  ) {
    send(SAPURLSession.HTTPMethod.delete, target, keyPath, nil) { completionHandler($1) }
  }

  /// Loads settings; see ``load(for:keyPath:completionHandler:)``.
  ///
  /// - Throws: ``SAPcpmsSettingsError``, or `URLError.cancelled`.
  public func load(
    for target: SettingsTarget = .user, keyPath: String? = nil
  ) async throws -> sending [String: Any] {
    do {
      let (request, name) = try request(SAPURLSession.HTTPMethod.get, target, keyPath, nil)
      return try await session.value(of: request) { try Self.values(in: $0, $1, name) }
    } catch { throw Self.settingsError(error) }
  }

  /// Stores settings; see ``store(_:for:keyPath:completionHandler:)``. Cancelling ends the wait, and not the request.
  ///
  /// - Throws: ``SAPcpmsSettingsError``.
  public func store(
    _ settings: [String: Any], for target: SettingsTarget = .user, keyPath: String? = nil
  ) async throws {
    let _: Void? = try await firstResult { done in
      store(settings, for: target, keyPath: keyPath) { done(nil, $0) }
    }
  }

  /// Deletes settings; see ``delete(for:keyPath:completionHandler:)``. Cancelling ends the wait, and not the request.
  ///
  /// - Throws: ``SAPcpmsSettingsError``.
  public func delete(for target: SettingsTarget = .user, keyPath: String? = nil) async throws {
    let _: Void? = try await firstResult { done in delete(for: target, keyPath: keyPath) { done(nil, $0) } }
  }

  /// Returns the Boolean in a setting: true, `"true"` or 1; nil if it is none.
  public static func bool(_ value: Any?) -> Bool? {
    if let value = value as? Bool { return value }
    return (value as? String).flatMap { Bool($0.lowercased()) }
  }

  /// Returns the number in a setting: 8 or `"8"`; nil if it is none.
  public static func int(_ value: Any?) -> Int? { value as? Int ?? (value as? String).flatMap { Int($0) } }

  private func send(
    _ method: String, _ target: SettingsTarget, _ keyPath: String?, _ body: Data?,
    _ completionHandler: @escaping @Sendable ([String: Any]?, (any Error)?) -> Void
  ) {
    do {
      let (request, name) = try request(method, target, keyPath, body)
      session.send(request, { try Self.values(in: $0, $1, name) }) { values, error in
        completionHandler(values, error.map(Self.settingsError))
      }
    } catch { session.callbacks.add { completionHandler(nil, error) } }
  }

  /// Returns a request, and the name of the setting that it is about.
  private func request(
    _ method: String, _ target: SettingsTarget, _ keyPath: String?, _ body: Data?
  ) throws -> (URLRequest, name: String) {
    guard var url = urls[target] else { throw SAPcpmsSettingsError.missingValueForSettingsTarget }
    let names = keyPath?.split(separator: "/") ?? []
    guard !names.contains("."), !names.contains("..") else {
      throw SAPcpmsSettingsError.malformed(
        type: .invalidType, description: "the key path has a part '.' or '..', which would name another place")
    }
    for name in names { url.append(path: name) }
    if method == SAPURLSession.HTTPMethod.get, target != .application {
      url.append(queryItems: [URLQueryItem(name: "overwrite", value: "true")])
    }
    return (URLRequest(method, service: url, json: body), names.last.map(String.init) ?? "")
  }

  private static func values(in data: Data, _ response: URLResponse?, _ name: String) throws -> [String: Any] {
    guard let response = response as? HTTPURLResponse else { throw SAPcpmsSettingsError.network }
    guard (200...299).contains(response.statusCode) else {
      throw SAPcpmsSettingsError.invalidHTTPStatus(statusCode: response.statusCode)
    }
    if let login = SAPLoginRequiredError(response) { throw login }
    guard !data.isEmpty else { return [:] }
    let value = try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
    guard let value else {
      throw SAPcpmsSettingsError.malformed(type: .invalidType, description: "the response is not JSON")
    }
    return value as? [String: Any] ?? [name: value]
  }

  /// The published error has no place for the session's, which is therefore logged.
  private static func settingsError(_ error: any Error) -> any Error {
    if error is SAPcpmsSettingsError || error is SAPLoginRequiredError { return error }
    if (error as? URLError)?.code == .cancelled { return error }
    if let error = error as? UnconfirmedChange {
      return SAPcpmsSettingsError.malformed(type: .invalidType, description: error.objection)
    }
    SessionLog.write(.warning, "SAPcpmsSettings", "the request failed: \(error)")
    return SAPcpmsSettingsError.network
  }
}

/// The error of loading, storing or deleting settings.
public enum SAPcpmsSettingsError: SAPError, Sendable, Hashable {
  /// See ``SAPcpmsMalformedType``.
  public typealias MalformedType = SAPcpmsMalformedType

  /// The settings, or the response, are not JSON; the key path has a part `.` or `..`; or the response to a change does
  /// not come from the service, as a login page does not.
  case malformed(type: MalformedType, description: String)
  /// The server cannot be reached. The log of the session has the reason.
  case network
  /// The service refused the request: with 404 if there are no such settings.
  case invalidHTTPStatus(statusCode: Int)
  /// There is no URL for the target: the parameters have no device identifier.
  case missingValueForSettingsTarget

  /// The problem, and the remedy if there is one.
  public var description: String {
    switch self {
    case .malformed(_, let description): "The settings cannot be read or written: \(description)."
    case .network: "The server of the settings cannot be reached."
    case .invalidHTTPStatus(let status): "The service refused the request for settings: status \(status)."
    case .missingValueForSettingsTarget: "There are no settings for this target: set the deviceID of the parameters."
    }
  }

  /// The description.
  public var errorDescription: String? { description }
}

extension SAPcpmsSettings: CustomReflectable {
  /// A mirror without user information and queries of the URLs.
  public var customMirror: Mirror { Mirror(self, children: ["urls": urls.mapValues(\.redacted)]) }
}
