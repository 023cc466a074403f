import MartletSemantics
import MartletTesting
import Synchronization

/// What Mobile Services keeps for an app and its users, beside its destinations, and the replies of these services.
///
/// The paths are the published ones, below `/mobileservices`:
/// - `POST application/ID/clientlogs/v1/runtime/log/application/ID` takes log lines (204); 400 for lines of another
///   format, 403 if uploads are switched off.
/// - `GET application/ID/roleservice/application/ID/v2/Me` is the user, in SCIM 2.0.
/// - `application/ID/Storage/v1/runtime/application/ID/…` are the settings; see ``SettingsLevels``.
/// - `POST push/v1/runtime/applications/ID/os/SYSTEM/devices/DEVICE` registers a device, DELETE ends that.
struct AppServices: Sendable {
  var takesLogs = true
  var logs: [String] = []
  /// The roles by user.
  var roles: [String: [String]] = [:]
  var settings = SettingsLevels()
  /// The bodies of registrations by device.
  var devices: [String: String] = [:]

  /// Returns the reply to a request; nil if it is for none of these services.
  mutating func reply(to request: ReceivedRequest, of user: String) -> Reply? {
    let names = request.path.split(separator: "/").map { PercentEncoding.pathSegment.decode($0) }
    guard names.first == "mobileservices", names.count > 4 else { return nil }
    switch names[1] {
    case "push": return registration(names, request)
    case "application" where names[3] == "clientlogs": return upload(names, request)
    case "application" where names[3] == "roleservice": return self.user(user, names, request)
    case "application"
    where names[3] == "Storage" && names.count > 8 && names[4...6] == ["v1", "runtime", "application"]:
      return settings.reply(to: request, Array(names.dropFirst(8)), of: user)
    default: return nil
    }
  }

  private mutating func registration(_ names: [String], _ request: ReceivedRequest) -> Reply? {
    guard names.count >= 9, names[2...4] == ["v1", "runtime", "applications"], names[6] == "os", names[8] == "devices"
    else { return nil }
    let device = names.count > 9 ? names[9] : "device-\(devices.count + 1)"
    switch request.method {
    case .post where request.text.contains(#""pushToken""#):
      devices[device] = request.text
      return .status(.created)
    case .post: return .status(.badRequest)
    case .delete: return devices.removeValue(forKey: device) == nil ? .status(.notFound) : .status(.noContent)
    default: return .status(.methodNotAllowed)
    }
  }

  private mutating func upload(_ names: [String], _ request: ReceivedRequest) -> Reply? {
    guard names.dropFirst(4) == ["v1", "runtime", "log", "application", names[2]] else { return nil }
    guard request.method == .post else { return .status(.methodNotAllowed) }
    guard takesLogs else { return .forbidden }
    guard request.text.split(separator: "\n").allSatisfy(Self.isLogLine) else { return .status(.badRequest) }
    logs.append(request.text)
    return .status(.noContent)
  }

  /// Whether a text is `#Date#Severity#CorrelationId#Source#Location#Message#`, where a backslash escapes `#`.
  private static func isLogLine(_ line: Substring) -> Bool {
    var fields: [String] = []
    var isEscaped = false
    for character in line {
      if character == "#", !isEscaped {
        fields.append("")
      } else if !fields.isEmpty {
        fields[fields.count - 1].append(character)
      }
      isEscaped = character == "\\" && !isEscaped
    }
    return line.hasPrefix("#") && line.hasSuffix("#") && fields.count == 7 && fields[0].contains("T")
      && ["DEBUG", "INFO", "WARN", "ERROR", "FATAL"].contains(fields[1])
  }

  private struct SCIMUser: Encodable {
    struct Name: Encodable { let familyName, givenName: String }
    struct Value: Encodable { let value: String }
    let schemas = ["urn:ietf:params:scim:schemas:core:2.0:User"]
    let id, userName: String
    let name: Name
    let emails: [Value]
    let roles: [String]
    let detail: [String: [String]]
  }

  private func user(_ user: String, _ names: [String], _ request: ReceivedRequest) -> Reply? {
    guard names.dropFirst(4) == ["application", names[2], "v2", "Me"] else { return nil }
    guard request.method == .get else { return .status(.methodNotAllowed) }
    let user = user.isEmpty ? "anonymous" : user
    let described = SCIMUser(
      id: "id-\(user)", userName: user, name: .init(familyName: "Example", givenName: user.capitalized),
      emails: [.init(value: "\(user)@example.com")], roles: roles[user] ?? [], detail: ["Groups": ["staff"]])
    return try? .json(encoding: described)
  }
}

extension MobileServices {
  /// The bodies of log uploads, in order.
  public var uploadedLogs: [String] { state.value.withLock { $0.services.logs } }

  /// Whether logs may be uploaded; true by default. Otherwise an upload gets 403.
  public var takesLogs: Bool {
    get { state.value.withLock { $0.services.takesLogs } }
    set { state.value.withLock { $0.services.takesLogs = newValue } }
  }

  /// Sets the roles of a user; without users in the settings, that of `anonymous`.
  public func setRoles(_ roles: [String], of user: String) { state.value.withLock { $0.services.roles[user] = roles } }

  /// Sets the app's settings at a path, such as `mobileservices/settingsExchange`; no path means all. A text that is
  /// not JSON removes them.
  public func setSettings(_ json: String, at path: String = "") {
    state.value.withLock { $0.services.settings.set(json, at: path) }
  }

  /// The bodies of the registrations for push notifications, by device.
  public var registeredDevices: [String: String] { state.value.withLock { $0.services.devices } }

  /// Whether all responses say that the app's version is inactive (`x-app-version-inactive: true`); false by default.
  public var isVersionInactive: Bool {
    get { state.value.withLock { $0.isVersionInactive } }
    set { state.value.withLock { $0.isVersionInactive = newValue } }
  }

  /// Locks the app of a user, or of all: 403 with `x-message-code: TRAFFIC_REG_LOCKED`. ``unblock()`` ends it.
  public func lock(_ user: String? = nil) { block(user, "TRAFFIC_REG_LOCKED") }

  /// Wipes the app of a user, or of all: 403 with `x-message-code: TRAFFIC_REG_WIPED`. ``unblock()`` ends it.
  public func wipe(_ user: String? = nil) { block(user, "TRAFFIC_REG_WIPED") }
}
