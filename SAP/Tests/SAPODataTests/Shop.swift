import Foundation
import MartletTesting
import SAPFoundationTesting
import SAPOData

struct Order: Codable, Sendable, Equatable {
  struct Item: Codable, Sendable, Equatable { var name: String }

  var ID: Int?
  var Status: String
  var Price: Decimal?
  var Items: [Item]?
}

/// A service with orders, its server, and a provider for it.
struct Shop {
  let service: ODataService
  let server: LoopbackServer
  let provider: OnlineODataProvider

  init(
    _ version: ODataVersion, pageSize: Int = 100, requiresTags: Bool = false, refusedMethods: Set<String> = [],
    orders: Int = 3
  ) throws {
    let list = (1...orders).map { #"{"ID":\#($0),"Status":"open","Price":"\#($0).10","Items":[{"name":"Tea"}]}"# }
    let service = ODataService(
      .init(
        version: version == .v2 ? .v2 : .v4, sets: ["Orders": "[" + list.joined(separator: ",") + "]"],
        pageSize: pageSize, requiresTags: requiresTags, refusedMethods: refusedMethods))
    let server = try LoopbackServer { service.reply(to: $0.received) }
    provider = OnlineODataProvider(
      serviceName: "Shop", serviceRoot: server.url("/odata?sap-client=100"), sapURLSession: .keeping(server))
    provider.serviceOptions.dataVersion = version
    (self.service, self.server) = (service, server)
  }

  let order = ODataPath("Orders").key(1)
}

extension SAPURLSession {
  private final class Keeper: SAPURLSessionObserving {
    let server: LoopbackServer
    init(_ server: LoopbackServer) { self.server = server }
  }

  /// A session that keeps its server running.
  static func keeping(_ server: LoopbackServer) -> SAPURLSession {
    let session = SAPURLSession()
    session.register(Keeper(server))
    return session
  }
}

extension OnlineODataProvider {
  /// A provider for a server that answers every request so.
  static func answered(
    _ version: ODataVersion = .v4, by respond: @escaping LoopbackServer.Responder
  ) throws -> (OnlineODataProvider, LoopbackServer) {
    let server = try LoopbackServer(respond: respond)
    let provider = OnlineODataProvider(serviceRoot: server.url("/odata"), sapURLSession: .keeping(server))
    provider.serviceOptions.dataVersion = version
    return (provider, server)
  }
}

/// A number without loss.
func decimal(_ text: String) -> Decimal {
  guard let number = Decimal(string: text) else { preconditionFailure("'\(text)' is no number") }
  return number
}

func time(_ hour: Int, _ minute: Int, _ second: Int = 0) -> ODataTime {
  guard let time = ODataTime(hour: hour, minute: minute, second: second) else { preconditionFailure("no time") }
  return time
}
