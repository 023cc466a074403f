@_spi(Toolkit) import MartletSemantics
import MartletTesting

/// The state of a gateway, and its replies: the replies of a service, with the faults of the request.
struct GatewayState: Sendable {
  private typealias Fault = SAPGateway.Fault

  private let settings: SAPGateway.Settings
  private var services: ServiceState

  private static let faultField: FieldName = "X-SAP-Fault"
  private static let orders = """
    [{"ID":1,"Customer":"Anna","Status":"open","Total":"19.90"},
     {"ID":2,"Customer":"O'Neil","Status":"open","Total":"7.50"},
     {"ID":3,"Customer":"Ben","Status":"shipped","Total":"0.30"}]
    """

  init(_ settings: SAPGateway.Settings) {
    self.settings = settings
    services = ServiceState(.init(users: settings.users, media: settings.media))
    services.odata = [ODataService.Version.v2, .v4].map {
      ODataService(.init(version: $0, root: $0 == .v2 ? "/odata/v2" : "/odata/v4", sets: ["Orders": Self.orders]))
    }
    for fault in [Fault.blocked, .locked, .wiped] { services.blocked[fault.rawValue] = fault.messageCode }
    services.services.roles = ["anna": ["Orders.Read", "Orders.Write"], "ben": ["Orders.Read"]]
    services.services.settings.set(Self.policies(), at: "mobileservices/settingsExchange")
  }

  /// The settings of Mobile Services itself, in their published form.
  private static func policies(
    passcodes: String = #"{"passwordPolicyEnabled":"true","passwordPolicyMinLength":"8"}"#,
    locks: String = #"{"blockWipeEnabled":false,"blockDisconnectedPeriod":0,"wipeDisconnectedPeriod":0}"#
  ) -> String {
    let logs = #"{"featureEnabled":"true","logEnabled":"true","logEntryExpiry":"0","logLevel":"INFO"}"#
    let usage = #"{"dataCollectionEnabled":"true","uploadDataAfterDays":"1","crashLogUploadEnabled":"false"}"#
    return """
      {"passwordPolicy":\(passcodes),"logSettings":\(logs),"usagePolicy":\(usage),"blockWipingPolicy":\(locks)}
      """
  }

  /// Replies of services that the published documentation does not describe, or that demand more than usual.
  private static func policyReply(to path: String, _ fault: Fault) -> Reply? {
    guard path.contains("/Storage/") else { return nil }
    switch fault {
    case .settingsInvalid: return .text("[settings", status: .ok)
    case .policyStrict:
      return .json(
        policies(
          passcodes: """
            {"passwordPolicyEnabled":"true","passwordPolicyMinLength":"12","passwordPolicyDigitRequired":"true",\
            "passwordPolicyRetryLimit":"3"}
            """))
    case .policyInvalid: return .json(policies(passcodes: #""on""#))
    case .policyDisconnect:
      return .json(
        policies(locks: #"{"blockWipeEnabled":"true","blockDisconnectedPeriod":1,"wipeDisconnectedPeriod":20}"#))
    default: return nil
    }
  }

  mutating func expireTokens() {
    services.tokens.expire()
    services.sessions = [:]
  }

  mutating func reply(to request: ReceivedRequest) -> Reply {
    guard request.fields[values: .host].allSatisfy(Self.isLocal) else {
      return .text("this gateway answers requests for localhost\n", status: .misdirectedRequest)
    }
    let names = Self.faultNames(in: request)
    if let unknown = names.first(where: { Fault(rawValue: $0) == nil }) {
      return .text("there is no fault '\(unknown)': GET / lists them\n", status: .badRequest)
    }
    if request.path == "/" { return GatewayListing(settings, request).reply }
    let faults = settings.faults.union(names.compactMap { Fault(rawValue: $0) })
    if let reply = Self.reply(insteadOf: request, faults) { return Self.reply(reply, with: faults, to: request) }
    services.faults = faults
    services.forgetOld()
    let reply =
      isOfAnotherApp(request)
      ? .text("there is no such app\n", status: .notFound)
      : services.tokenReply(to: request) ?? services.reply(to: request)
    return Self.reply(reply, with: faults, to: request)
  }

  private static func faultNames(in request: ReceivedRequest) -> [String] {
    let asked = PercentEncoding.form.pairs(in: request.query ?? "").filter { $0.name == "sap-fault" }.map(\.value)
    return (asked + request.fields[values: faultField]).flatMap { $0.split(separator: ",") }.map {
      String(ASCII.trimmed($0))
    }
  }

  /// Whether `Host` names this machine. A page in a browser can point its own name to 127.0.0.1 (DNS rebinding).
  private static func isLocal(_ host: String) -> Bool {
    var name = ASCII.lowercased(host)[...]
    if let colon = name.lastIndex(of: ":"), !name.hasSuffix("]") { name = name[..<colon] }
    return ["localhost", "127.0.0.1", "[::1]"].contains(name) || name.hasSuffix(".localhost")
  }

  private func isOfAnotherApp(_ request: ReceivedRequest) -> Bool {
    let names = request.path.split(separator: "/").map { PercentEncoding.pathSegment.decode($0) }
    guard names.first == "mobileservices",
      let index = names.firstIndex(where: { $0 == "application" || $0 == "applications" }), index + 1 < names.count
    else { return false }
    return names[index + 1] != settings.applicationID
  }

  // MARK: - Faults

  /// Returns the reply that a fault makes without the services; nil if there is none.
  private static func reply(insteadOf request: ReceivedRequest, _ faults: Set<Fault>) -> Reply? {
    for fault in faults.sorted(by: { $0.rawValue < $1.rawValue }) {
      if let reply = reply(insteadOf: request, fault) { return reply }
    }
    return nil
  }

  private static func reply(insteadOf request: ReceivedRequest, _ fault: Fault) -> Reply? {
    let path = request.path
    switch fault {
    case .sessionTimedOut: return .text("Session timed out", status: .badRequest)
    case .saml: return .samlLoginPage
    case .oneTimeCode: return .otpChallenge
    case .tokenExpired where request.fields[.authorization]?.hasPrefix("Bearer ") == true:
      return .status(
        .unauthorized, fields: [.wwwAuthenticate: #"Bearer realm="SAP Mobile Services", error="invalid_token""#])
    case .logsInvalid where path.contains("/clientlogs/"): return .status(.badRequest)
    case .logsOff where path.contains("/clientlogs/"): return .forbidden
    case .logsUnknown where path.contains("/clientlogs/"): return .status(.notFound)
    case .rolesMissing where path.contains("/roleservice/"): return .forbidden
    case .rolesInvalid where path.contains("/roleservice/"): return .text("[user", status: .ok)
    case .settingsMissing where path.contains("/Storage/"): return .status(.notFound)
    case .settingsInvalid, .policyStrict, .policyInvalid, .policyDisconnect: return policyReply(to: path, fault)
    case .destinationsMissing where path.hasSuffix("/endpoints"): return .status(.notFound)
    case .pushOff where path.contains("/push/"): return .status(.notFound)
    case .errorV2: return error(.v2)
    case .errorV4: return error(.v4)
    case .errorXML: return error(.xml)
    case .errorPage:
      return .data(
        Data("<html><head><title>Application Server Error</title></head><body>500</body></html>".utf8),
        type: "text/html", status: .internalServerError)
    case .unavailable: return .text("Service Unavailable", status: .serviceUnavailable).with("Retry-After", "1")
    case .reset: return .reset
    case .hangUp: return .hangUp
    default: return nil
    }
  }

  private static func error(_ form: Reply.ErrorForm) -> Reply {
    .odataError(form, status: .badRequest, code: "M_/011", message: "Only three cups are left.")
  }

  /// Returns a reply with the faults that change it.
  private static func reply(_ reply: Reply, with faults: Set<Fault>, to request: ReceivedRequest) -> Reply {
    var reply = reply
    if faults.contains(.versionInactive) { reply = reply.with("x-app-version-inactive", "true") }
    if faults.contains(.warning) {
      reply =
        request.path.hasPrefix("/odata/v4")
        ? reply.with(sapMessages: [(text: "The stock is low.", severity: 3)])
        : reply.with(sapMessage: "The stock is low.", severity: "warning")
    }
    if reply.fields[.cacheControl] != nil, request.path.hasPrefix("/backend/"),
      let rule = faults.compactMap(\.cacheControl).min()
    {
      reply.fields[.cacheControl] = rule
    }
    if faults.contains(.slow) { reply = reply.delayed(by: .seconds(2)) }
    if faults.contains(.truncated) { reply = reply.truncated(after: 10) }
    return reply
  }
}

extension ServiceState {
  /// Keeps a program that runs for days from growing.
  fileprivate mutating func forgetOld() {
    if sessions.count > 10_000 { sessions = [:] }
    if services.logs.count > 100 { services.logs.removeFirst() }
    if services.devices.count > 1_000 { services.devices = [:] }
    tokens.forgetOld()
  }
}
