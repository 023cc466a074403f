@_spi(Toolkit) import MartletSemantics

/// Loads who the user is, and the user's roles, from Mobile Services.
///
/// ```swift
/// let session = SAPURLSession()
/// let user = try await SAPcpmsUserRoles(sapURLSession: session, settingsParameters: settings).load()
/// print(user.userName, user.roles)
/// ```
///
/// The service is `GET …/roleservice/application/ID/v2/Me`; its response is a user of SCIM 2.0 (RFC 7643 §4.1).
/// Requests of a user who has none of the app's roles get 403.
open class SAPcpmsUserRoles {
  private let session: SAPURLSession
  private let url: URL

  /// Makes a loader for the URL of a role service.
  public init(sapURLSession: SAPURLSession, roleServiceUrl: URL) {
    session = sapURLSession
    url = roleServiceUrl
  }

  /// Makes a loader for the app of the settings.
  public convenience init(sapURLSession: SAPURLSession, settingsParameters: SAPcpmsSettingsParameters) {
    let app = settingsParameters.applicationSegment
    let path = "/mobileservices/application/\(app)/roleservice/application/\(app)/v2/Me"
    self.init(sapURLSession: sapURLSession, roleServiceUrl: settingsParameters.hostURL(path))
  }

  /// Loads the user. The handler is called once, on the session's `delegateQueue`, with the user or an error: a
  /// ``SAPcpmsUserRolesError``, or the session's.
  open func load(completionHandler: @escaping @Sendable (SAPcpmsUserInfo?, (any Error)?) -> Void) {
    session.send(URLRequest(service: url), SAPcpmsUserInfo.init(_:_:), completionHandler)
  }

  /// Loads the user.
  ///
  /// - Throws: ``SAPcpmsUserRolesError``, or the session's error.
  public func load() async throws -> SAPcpmsUserInfo {
    try await session.value(of: URLRequest(service: url), SAPcpmsUserInfo.init(_:_:))
  }

  /// A user of Mobile Services. (SAP publishes what it contains, and the names `id`, `userName`, `roles` and `others`.)
  public struct SAPcpmsUserInfo: Sendable, Hashable {
    /// The identifier.
    public let id: String
    /// The name for signing in.
    public let userName: String
    /// The roles; empty if the app has no access control.
    public let roles: [String]
    /// The family name; nil if the service does not send it.
    public let familyName: String?
    /// The given name; nil if the service does not send it.
    public let givenName: String?
    /// The addresses for mail.
    public let emails: [String]
    /// All other fields with their values, such as `Groups`.
    public let others: [String: [String]]

    init(_ data: Data, _ response: URLResponse?) throws {
      guard let response = response as? HTTPURLResponse else { throw SAPcpmsUserRolesError.invalidServerResponse }
      guard (200...299).contains(response.statusCode) else {
        throw SAPcpmsUserRolesError.invalidHTTPStatus(statusCode: response.statusCode)
      }
      if let login = SAPLoginRequiredError(response) { throw login }
      guard let fields = try? JSONSerialization.jsonObject(with: data) as? [String: Any] else {
        throw SAPcpmsUserRolesError.malformed(type: .invalidType, description: "the response is not a JSON object")
      }
      id = try Self.text("id", in: fields)
      userName = try Self.text("userName", in: fields)
      let name = fields["name"] as? [String: Any]
      familyName = name?["familyName"] as? String
      givenName = name?["givenName"] as? String
      roles = Self.texts(fields["roles"])
      emails = Self.texts(fields["emails"])
      let known: Set = ["schemas", "id", "userName", "name", "roles", "emails", "detail"]
      let details = fields["detail"] as? [String: Any] ?? [:]
      others = fields.filter { !known.contains($0.key) }.merging(details) { $1 }.mapValues(Self.texts)
    }

    private static func text(_ key: String, in fields: [String: Any]) throws -> String {
      guard let value = fields[key] else {
        throw SAPcpmsUserRolesError.malformed(type: .missingKey, description: "there is no '\(key)'")
      }
      guard let text = value as? String else {
        throw SAPcpmsUserRolesError.malformed(type: .invalidType, description: "'\(key)' is not a text")
      }
      return text
    }

    /// The texts in a value: itself, or its elements. SCIM's elements may be objects with a `value` (RFC 7643 §2.4).
    private static func texts(_ value: Any?) -> [String] {
      switch value {
      case let list as [Any]: list.flatMap { texts($0) }
      case let object as [String: Any]: texts(object["value"])
      case let text as String: [text]
      case let number as NSNumber: ["\(number)"]
      default: []
      }
    }
  }
}

extension SAPcpmsUserRoles: CustomReflectable {
  /// A mirror without user information and query of the URL.
  public var customMirror: Mirror { Mirror(self, children: ["url": url.redacted]) }
}

/// The error of loading a user.
public enum SAPcpmsUserRolesError: SAPError, Sendable, Hashable {
  /// See ``SAPcpmsMalformedType``.
  public typealias MalformedType = SAPcpmsMalformedType

  /// The response is not one of HTTP.
  case invalidServerResponse
  /// The service refused the request: with 403 if the user has none of the app's roles.
  case invalidHTTPStatus(statusCode: Int)
  /// The response is not a user.
  case malformed(type: MalformedType, description: String)

  /// The problem.
  public var description: String {
    switch self {
    case .invalidServerResponse: "The response about the user is not an HTTP response."
    case .invalidHTTPStatus(let status): "The user was not loaded: status \(status)."
    case .malformed(_, let description): "The response about the user cannot be read: \(description)."
    }
  }

  /// The description.
  public var errorDescription: String? { description }
}
