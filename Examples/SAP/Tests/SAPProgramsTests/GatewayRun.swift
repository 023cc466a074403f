import Martlet
import SAPFoundationTesting
import SAPPrograms

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A gateway, and a client that keeps no cookies and no responses.
struct GatewayRun {
  let gateway: SAPGateway
  private let session: HTTPSession

  init(faults: Set<SAPGateway.Fault> = []) throws {
    gateway = try ExampleGateway.start(faults: faults)
    var configuration = SessionConfiguration()
    configuration.cookies = nil
    configuration.cache = nil
    configuration.attemptLimit = 1
    session = HTTPSession(configuration: configuration)
  }

  /// A cookie and the CSRF token of its session.
  struct OpenSession {
    let cookie: [String: String]
    let all: [String: String]
  }

  func openSession() async throws -> OpenSession {
    let (_, response) = try await send(.get, "/odata/v4", ["X-CSRF-Token": "Fetch"])
    let cookie = ["Cookie": String((response.fields[.setCookie] ?? "").prefix { $0 != ";" })]
    return OpenSession(
      cookie: cookie, all: cookie.merging(["X-CSRF-Token": response.fields["X-CSRF-Token"] ?? ""]) { $1 })
  }

  /// Sends a request as a user, whose password is `secret`. A POST has an order as its body, unless it has another.
  func send(
    _ method: HTTPMethod, _ target: String, _ fields: [String: String] = [:], user: String? = "anna",
    body: RequestBody? = nil
  ) async throws -> (String, HTTPResponse) {
    let order = RequestBody.data(Data(#"{"Customer":"Cleo"}"#.utf8))
    var request = HTTPRequest(method, gateway.url(target), body: body ?? (method == .post ? order : .empty))
    if method == .post, body == nil { request.fields[.contentType] = "application/json" }
    if let user { request.fields[.authorization] = "Basic " + Data("\(user):secret".utf8).base64EncodedString() }
    for (name, value) in fields { request.fields[FieldName(stringLiteral: name)] = value }
    let (data, response) = try await session.data(for: request, expecting: .any)
    return (String(decoding: data, as: UTF8.self), response)
  }
}
