import Martlet
import MartletTesting
import SAPFoundationTesting
import SAPPrograms
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Services of the gateway", .timeLimit(.minutes(5)))
struct GatewayServiceTests {
  @Test func theListingNamesUsersResourcesAndFaults() async throws {
    let gateway = try GatewayRun()

    let (text, response) = try await gateway.send(.get, "/", user: nil)

    #expect(response.status == 200)
    #expect(response.fields[.contentType]?.hasPrefix("text/plain") == true)
    for fault in SAPGateway.Fault.allCases { #expect(text.contains("  \(fault.rawValue) ")) }
    for part in ["anna     secret", "/odata/v2", FaultRow.picture, FaultRow.logs, "the gateway has no TLS"] {
      #expect(text.contains(part))
    }
  }

  @Test func theListingIsJSONForAClientThatAcceptsIt() async throws {
    struct Listing: Decodable {
      struct Entry: Decodable { let name, summary: String }
      let users, resources, faults: [Entry]
    }
    let gateway = try GatewayRun()

    let (text, _) = try await gateway.send(.get, "/", ["Accept": "application/json"], user: nil)
    let listing = try JSONDecoder().decode(Listing.self, from: Data(text.utf8))

    #expect(listing.faults.map(\.name) == SAPGateway.Fault.allCases.map(\.rawValue))
    #expect(listing.users.map(\.name) == ["anna", "ben", "blocked", "locked", "wiped"])
  }

  @Test(arguments: ["evil.example", "127.0.0.1.evil.example:80", "localhost.evil.example"])
  func anotherHostIsRefused(_ host: String) async throws {
    let gateway = try GatewayRun()

    #expect(try await gateway.send(.get, "/", ["Host": host], user: nil).1.status == 421)
    #expect(try await gateway.send(.get, "/", ["Host": "LOCALHOST:1"], user: nil).1.status == 200)
  }

  @Test func theServicesAreThoseOfOneApp() async throws {
    let gateway = try GatewayRun()
    let line = "#2026-01-02T03:04:05.678Z#INFO##shop##hello#\n"
    let session = try await gateway.openSession()

    let statuses = [
      try await gateway.send(.post, FaultRow.logs, session.all, body: .text(line)).1.status,
      try await gateway.send(.post, FaultRow.logs, session.all, body: .text("hello")).1.status,
      try await gateway.send(
        .post, FaultRow.logs.replacing("com.example.shop", with: "other"), session.all, body: .text(line)
      ).1.status,
      try await gateway.send(.get, FaultRow.settings).1.status,
      try await gateway.send(.post, FaultRow.devices, session.all, body: .text(#"{"pushToken":"1"}"#)).1.status,
    ]

    #expect(statuses == [204, 400, 404, 200, 201])
  }

  @Test(arguments: ["/odata/v2", "/odata/v4"])
  func ordersAreReadCreatedAndChanged(_ root: String) async throws {
    let gateway = try GatewayRun()
    let session = try await gateway.openSession()

    #expect(try await gateway.send(.head, "\(root)/Orders").1.status == 200)
    #expect(try await gateway.send(.get, "\(root)/Orders/$count").0 == "3")
    let (_, created) = try await gateway.send(.post, "\(root)/Orders", session.all)
    let fields = session.all.merging(["Content-Type": "application/json", "If-Match": "W/\"0\""]) { $1 }
    let body = RequestBody.data(Data(#"{"Status":"paid"}"#.utf8))
    let (_, outdated) = try await gateway.send(.patch, "\(root)/Orders(4)", fields, body: body)
    let tagged = fields.merging(["If-Match": created.fields[.eTag] ?? ""]) { $1 }
    let (_, changed) = try await gateway.send(.patch, "\(root)/Orders(4)", tagged, body: body)

    #expect([created.status, outdated.status, changed.status] == [201, 412, 204])
    #expect(try await gateway.send(.get, "\(root)/Orders(4)").0.contains(#""Status":"paid""#))
  }

  @Test func aPictureIsCheckedByItsTag() async throws {
    let gateway = try GatewayRun()

    let (_, first) = try await gateway.send(.get, FaultRow.picture)
    let (_, second) = try await gateway.send(.get, FaultRow.picture, ["If-None-Match": first.fields[.eTag] ?? ""])

    #expect(first.fields[.cacheControl] == "private, max-age=86400")
    #expect(second.status == 304)
  }

  @Test func aCacheUsesAStalePictureWhileTheGatewayIsUnavailable() async throws {
    let gateway = try ExampleGateway.start()
    let session = HTTPSession()
    func picture(_ fault: String) async throws -> (Data, HTTPResponse) {
      var request = HTTPRequest(.get, gateway.url(FaultRow.picture), fields: ["X-SAP-Fault": fault])
      request.fields[.authorization] = "Basic " + Data("anna:secret".utf8).base64EncodedString()
      return try await session.data(for: request, expecting: .any)
    }

    let fresh = try await picture("media-stale")
    let stale = try await picture("unavailable")

    #expect(fresh.1.status == 200)
    #expect(stale.1.status == 200)
    #expect(stale.0 == fresh.0)
  }

  // MARK: - Tokens

  private struct Tokens: Decodable { let access_token, refresh_token: String }

  private func tokens(_ gateway: GatewayRun, _ form: [(name: String, value: String)]) async throws -> Tokens {
    let (text, response) = try await gateway.send(.post, "/oauth2/api/v1/token", user: nil, body: .form(form))
    #expect(response.status == 200)
    return try JSONDecoder().decode(Tokens.self, from: Data(text.utf8))
  }

  private func renewal(_ token: String) -> RequestBody {
    .form([(name: "grant_type", value: "refresh_token"), (name: "refresh_token", value: token)])
  }

  private static let password = [
    (name: "grant_type", value: "password"), (name: "username", value: "ben"), (name: "password", value: "secret"),
  ]

  @Test func aRefreshTokenWorksOnceAndItsReuseEndsTheGrant() async throws {
    let gateway = try GatewayRun()
    let first = try await tokens(gateway, Self.password)
    let second = try await tokens(
      gateway, [(name: "grant_type", value: "refresh_token"), (name: "refresh_token", value: first.refresh_token)])

    func status(_ access: String) async throws -> HTTPStatus {
      try await gateway.send(.get, FaultRow.orders, ["Authorization": "Bearer \(access)"], user: nil).1.status
    }
    #expect(try await status(first.access_token) == 401)
    #expect(try await status(second.access_token) == 200)

    let reused = try await gateway.send(
      .post, "/oauth2/api/v1/token", user: nil, body: renewal(first.refresh_token))
    #expect(reused.1.status == 400)
    #expect(reused.0 == #"{"error":"invalid_grant"}"#)
    #expect(try await status(second.access_token) == 401)
  }

  @Test func aLoginPageRedirectsWithACodeThatWorksOnce() async throws {
    let gateway = try GatewayRun()
    let query = "response_type=code&client_id=shop&redirect_uri=http://localhost:1/done&state=a%26b"
    var request = HTTPRequest(.get, gateway.gateway.url("/oauth2/api/v1/authorize?\(query)"))
    request.options.redirectPolicy = .manual
    request.fields[.authorization] = "Basic " + Data("anna:secret".utf8).base64EncodedString()
    let location = try await HTTPSession().data(for: request, expecting: .any).1.fields[.location] ?? ""
    let code = location.split(separator: "code=").last.map { String($0.prefix { $0 != "&" }) } ?? ""
    let form = [(name: "grant_type", value: "authorization_code"), (name: "code", value: code)]

    #expect(location.hasPrefix("http://localhost:1/done?code=code-"))
    #expect(location.hasSuffix("&state=a%26b"))
    _ = try await tokens(gateway, form)
    #expect(try await gateway.send(.post, "/oauth2/api/v1/token", user: nil, body: .form(form)).1.status == 400)
  }

  @Test func tokensCanBeExpiredAndRefused() async throws {
    let gateway = try GatewayRun()
    let issued = try await tokens(gateway, Self.password)

    let (_, expired) = try await gateway.send(
      .get, FaultRow.orders, ["Authorization": "Bearer \(issued.access_token)", "X-SAP-Fault": "token-expired"],
      user: nil)
    let (_, refused) = try await gateway.send(
      .post, "/oauth2/api/v1/token", ["X-SAP-Fault": "refresh-refused"], user: nil, body: renewal(issued.refresh_token))

    #expect(expired.status == 401)
    #expect(expired.fields[.wwwAuthenticate]?.contains("invalid_token") == true)
    #expect(refused.status == 400)
  }
}
