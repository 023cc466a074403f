import SAPOData

struct Order: Codable, Sendable {
  var ID: Int64
  var Total: Decimal
}

guard let root = URL(string: "http://127.0.0.1:1/odata") else { fatalError("no URL") }
let provider = OnlineODataProvider(serviceName: "Shop", serviceRoot: root, sapURLSession: SAPURLSession())
provider.serviceOptions.checkVersion = false
_ = provider.networkOptions.tunneledMethods.append("MERGE")
do {
  let query = ODataQuery().filter(ODataProperty("Total") > .decimal(1)).top(1)
  print(try await provider.page(of: Order.self, in: "Orders", query).values)
} catch {
  print(type(of: error))
}
