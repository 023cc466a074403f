import Martlet
import SAPFoundationTesting
import SAPPrograms
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A request with a fault, and the expected response.
struct FaultRow: Sendable, CustomTestStringConvertible {
  let fault: SAPGateway.Fault
  let target: String
  var method = HTTPMethod.get
  let status: HTTPStatus
  var field: (name: FieldName, value: String)?
  var text: String?

  var testDescription: String { fault.rawValue }

  static let app = "/mobileservices/application/com.example.shop"
  static let orders = "/odata/v4/Orders"
  static let picture = "/backend/Images('It''s%20coffee')/$value"
  static let logs = "\(app)/clientlogs/v1/runtime/log/application/com.example.shop"
  static let settings =
    "\(app)/Storage/v1/runtime/application/com.example.shop/global/mobileservices/settingsExchange"
  static let devices = "/mobileservices/push/v1/runtime/applications/com.example.shop/os/ios/devices/1"

  static let all: [FaultRow] = [
    .init(fault: .sessionTimedOut, target: orders, status: 400, text: "Session timed out"),
    .init(fault: .csrfRefused, target: orders, method: .post, status: 403, field: ("X-CSRF-Token", "Required")),
    .init(fault: .csrfNone, target: orders, method: .post, status: 201),
    .init(fault: .saml, target: orders, status: 200, field: ("com.sap.cloud.security.login", "login-request")),
    .init(fault: .oneTimeCode, target: orders, status: 200, field: ("x-smp-authentication", "otp-challenge")),
    .init(fault: .blocked, target: orders, status: 403, field: ("x-message-code", "TRAFFIC_BLOCKED")),
    .init(fault: .locked, target: orders, status: 403, field: ("x-message-code", "TRAFFIC_REG_LOCKED")),
    .init(fault: .wiped, target: orders, status: 403, field: ("x-message-code", "TRAFFIC_REG_WIPED")),
    .init(fault: .versionInactive, target: orders, status: 200, field: ("x-app-version-inactive", "true")),
    .init(fault: .logsInvalid, target: logs, method: .post, status: 400),
    .init(fault: .logsOff, target: logs, method: .post, status: 403),
    .init(fault: .logsUnknown, target: logs, method: .post, status: 404),
    .init(fault: .rolesMissing, target: "\(app)/roleservice/application/com.example.shop/v2/Me", status: 403),
    .init(
      fault: .rolesInvalid, target: "\(app)/roleservice/application/com.example.shop/v2/Me", status: 200,
      text: "[user"),
    .init(fault: .settingsMissing, target: settings, status: 404),
    .init(fault: .settingsInvalid, target: settings, status: 200, text: "[settings"),
    .init(fault: .policyStrict, target: settings, status: 200, text: #""passwordPolicyMinLength":"12""#),
    .init(fault: .policyInvalid, target: settings, status: 200, text: #""passwordPolicy":"on""#),
    .init(fault: .policyDisconnect, target: settings, status: 200, text: #""wipeDisconnectedPeriod":20"#),
    .init(fault: .destinationsMissing, target: "\(app)/endpoints", status: 404),
    .init(fault: .pushOff, target: devices, method: .post, status: 404),
    .init(fault: .mediaBrief, target: picture, status: 200, field: (.cacheControl, "private, max-age=5")),
    .init(fault: .mediaChecked, target: picture, status: 200, field: (.cacheControl, "private, no-cache")),
    .init(
      fault: .mediaStale, target: picture, status: 200,
      field: (.cacheControl, "private, max-age=0, stale-if-error=86400")),
    .init(fault: .mediaUnstored, target: picture, status: 200, field: (.cacheControl, "no-store")),
    .init(fault: .errorV2, target: orders, status: 400, text: #""message":{"lang":"en","value":"Only three"#),
    .init(fault: .errorV4, target: orders, status: 400, text: #""message":"Only three cups are left.""#),
    .init(fault: .errorXML, target: orders, status: 400, text: "<code>M_/011</code>"),
    .init(fault: .errorPage, target: orders, status: 500, field: (.contentType, "text/html")),
    .init(fault: .unavailable, target: orders, status: 503, field: ("Retry-After", "1")),
    .init(fault: .slow, target: orders, status: 200),
  ]

  /// Those whose tests need several requests, or get no response.
  static let others: Set<SAPGateway.Fault> = [
    .sessionExpired, .sessionShort, .sessionPerRequest, .csrfChanges, .tokenExpired, .refreshRefused, .warning,
    .truncated, .reset, .hangUp,
  ]
}

@Suite("Faults of the gateway", .timeLimit(.minutes(5)))
struct GatewayFaultTests {
  @Test func everyFaultHasARowOrATest() {
    #expect(Set(FaultRow.all.map(\.fault)).union(FaultRow.others) == Set(SAPGateway.Fault.allCases))
  }

  @Test(arguments: FaultRow.all)
  func aRequestGetsTheFaultThatItsFieldNames(_ row: FaultRow) async throws {
    let gateway = try GatewayRun()

    let (text, response) = try await gateway.send(row.method, row.target, ["X-SAP-Fault": row.fault.rawValue])

    #expect(response.status == row.status)
    if let field = row.field { #expect(response.fields[field.name] == field.value) }
    if let part = row.text { #expect(text.contains(part)) }
  }

  @Test(arguments: FaultRow.all.filter { $0.status != 200 || $0.field != nil })
  func withoutTheFaultTheReplyIsAnother(_ row: FaultRow) async throws {
    let gateway = try GatewayRun()

    let (_, response) = try await gateway.send(row.method, row.target)

    if let field = row.field, row.status == 200 || row.status == 403 && row.method == .get {
      #expect(response.fields[field.name] != field.value)
    } else {
      #expect(response.status != row.status || row.method == .post)
    }
  }

  @Test func aQueryChoosesFaultsAsAFieldDoes() async throws {
    let gateway = try GatewayRun()

    let (_, chosen) = try await gateway.send(.get, "\(FaultRow.orders)?sap-fault=version-inactive,locked")
    let (text, unknown) = try await gateway.send(.get, "/odata/v4?sap-fault=nonsense")

    #expect(chosen.status == 403)
    #expect(chosen.fields["x-message-code"] == "TRAFFIC_REG_LOCKED")
    #expect(chosen.fields["x-app-version-inactive"] == "true")
    #expect(unknown.status == 400)
    #expect(text == "there is no fault 'nonsense': GET / lists them\n")
  }

  @Test func faultsOfTheGatewayHoldForEveryRequest() async throws {
    let gateway = try GatewayRun(faults: [.unavailable])

    #expect(try await gateway.send(.get, FaultRow.orders).1.status == 503)
    #expect(try await gateway.send(.get, "/").1.status == 200)
  }

  @Test(arguments: [SAPGateway.Fault.reset, .hangUp, .truncated])
  func aBrokenConnectionIsAnError(_ fault: SAPGateway.Fault) async throws {
    let gateway = try GatewayRun()

    await #expect(throws: HTTPError.self) {
      _ = try await gateway.send(.get, FaultRow.orders, ["X-SAP-Fault": fault.rawValue])
    }
  }

  @Test(arguments: [("/odata/v2/Orders", FieldName("sap-message")), ("/odata/v4/Orders", "sap-messages")])
  func aWarningComesInTheFieldOfTheVersion(_ target: String, _ name: FieldName) async throws {
    let gateway = try GatewayRun()

    let (_, response) = try await gateway.send(.get, target, ["X-SAP-Fault": "warning"])

    #expect(response.status == 200)
    #expect(response.fields[name]?.contains("The stock is low.") == true)
  }

  // MARK: - Sessions and CSRF tokens

  @Test func anExpiredSessionHasNoUser() async throws {
    let gateway = try GatewayRun()
    let session = try await gateway.openSession()

    #expect(try await gateway.send(.get, FaultRow.orders, session.cookie, user: nil).1.status == 200)
    let expired = session.cookie.merging(["X-SAP-Fault": "session-expired"]) { $1 }
    #expect(try await gateway.send(.get, FaultRow.orders, expired, user: nil).1.status == 401)
    #expect(try await gateway.send(.get, FaultRow.orders, session.cookie, user: nil).1.status == 401)
  }

  @Test func aShortSessionEndsWithItsThirdRequest() async throws {
    let gateway = try GatewayRun()
    let fields = try await gateway.openSession().cookie.merging(["X-SAP-Fault": "session-short"]) { $1 }

    var statuses: [HTTPStatus] = []
    for _ in 1...3 { statuses.append(try await gateway.send(.get, FaultRow.orders, fields, user: nil).1.status) }

    #expect(statuses == [200, 200, 401])
  }

  @Test func eachRequestOpensASessionInWhichNoTokenFits() async throws {
    let gateway = try GatewayRun()
    let session = try await gateway.openSession()
    let fields = session.all.merging(["X-SAP-Fault": "session-per-request"]) { $1 }

    let (_, response) = try await gateway.send(.post, FaultRow.orders, fields)

    #expect(response.status == 403)
    #expect(response.fields["X-CSRF-Token"] == "Required")
    #expect(response.fields[.setCookie]?.hasPrefix("JSESSIONID=") == true)
    #expect(try await gateway.send(.post, FaultRow.orders, session.all).1.status == 201)
  }

  @Test func aTokenThatChangesServesOneWrite() async throws {
    let gateway = try GatewayRun()
    let session = try await gateway.openSession()
    let fields = session.all.merging(["X-SAP-Fault": "csrf-changes"]) { $1 }

    #expect(try await gateway.send(.post, FaultRow.orders, fields).1.status == 201)
    #expect(try await gateway.send(.post, FaultRow.orders, fields).1.fields["X-CSRF-Token"] == "Required")
    let renewed = try await gateway.send(.get, "/odata/v4", session.cookie.merging(["X-CSRF-Token": "Fetch"]) { $1 }).1
    let again = fields.merging(["X-CSRF-Token": renewed.fields["X-CSRF-Token"] ?? ""]) { $1 }
    #expect(try await gateway.send(.post, FaultRow.orders, again).1.status == 201)
  }

  @Test func aTokenStaysValidWithoutAFault() async throws {
    let gateway = try GatewayRun()
    let session = try await gateway.openSession()

    for _ in 1...3 { #expect(try await gateway.send(.post, FaultRow.orders, session.all).1.status == 201) }
    #expect(try await gateway.send(.post, FaultRow.orders).1.status == 403)
  }

  @Test(arguments: [("blocked", "TRAFFIC_BLOCKED"), ("locked", "TRAFFIC_REG_LOCKED"), ("wiped", "TRAFFIC_REG_WIPED")])
  func someUsersMayNotUseTheApp(_ user: String, _ code: String) async throws {
    let gateway = try GatewayRun()

    let (_, response) = try await gateway.send(.get, FaultRow.orders, user: user)

    #expect(response.status == 403)
    #expect(response.fields["x-message-code"] == code)
  }
}
