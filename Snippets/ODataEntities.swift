// Entities of an OData service: read, page by page, changed with their tags, and in a batch.

import Foundation
import MartletTesting
import SAPFoundationTesting
import SAPOData

let service = ODataService(
  .init(
    version: .v4,
    sets: ["Orders": #"[{"ID":1,"Customer":"O'Neil","Total":"19.90"},{"ID":2,"Customer":"Anna","Total":"0.30"}]"#],
    pageSize: 1, requiresTags: true))
let server = try LoopbackServer { service.reply(to: $0.received) }
let root = server.url("/odata")

struct Order: Codable, Sendable {
  var ID: Int?
  var Customer: String
  var Total: Decimal
  var Status: String?
}

let session = SAPURLSession()
session.register(CSRFTokenObserver(rootUrl: root))
let provider = OnlineODataProvider(serviceName: "Shop", serviceRoot: root, sapURLSession: session)
provider.serviceOptions.dataVersion = .v4

let query = ODataQuery().filter(ODataProperty("Customer") == "O'Neil").orderBy(.descending("Total")).top(20)
let page = try await provider.page(of: Order.self, in: "Orders", query)
print(page.values.map(\.Total))

for try await page in provider.pages(of: Order.self, in: "Orders") {
  print(page.values.map(\.Customer))
}

let path = ODataPath("Orders").key(2)
let order = try await provider.entity(Order.self, at: path)
try await provider.update(["Status": "paid"], at: path, ifMatch: order.etag)

do {
  try await provider.update(["Status": "open"], at: path, ifMatch: order.etag)
} catch let error as ODataError where error.kind == .preconditionFailed {
  print("changed by someone else:", error.serviceError?.status ?? 0)
}

let changes: [String: ODataLiteral] = ["Status": .null, "Total": .decimal(Decimal(5) / 10)]
try await provider.update(changes, at: path, ifMatch: "*")

let created = try await provider.create(Order(Customer: "Ben", Total: 7), in: "Orders", returning: Order.self)
print(created.value.ID ?? 0, created.value.Total)

let picture = Data("a picture".utf8)
let receipt = try await provider.createMedia(.data(picture), type: "image/png", in: "Images", name: "coffee.png")
if let location = receipt.location {
  let media = try await provider.download(ODataPath(location).appending("$value"))
  for try await chunk in media { print(media.type ?? "", chunk.count) }
}

print(try await provider.call("CountOf", ["Set": "Orders"], returning: Int.self))
try await provider.run("Shop.Ship", on: path)

var batch = ODataBatch()
let orders = batch.read(Order.self, in: "Orders", ODataQuery().top(1))
let parts = batch.changeSet { changes in
  let order = changes.create(Order(Customer: "Cleo", Total: 3), in: "Orders", returning: Order.self)
  let item = changes.create(["Name": "Tea"], in: changes.path(of: order).appending("Items"))
  return (order: order, item: item)
}
let result = try await provider.send(batch)
print(try result.value(of: orders).values.count, try result.value(of: parts.order).value.Customer)

let first = try await provider.pages(of: Order.self, in: "Orders", ODataQuery().pageSize(100).trackingChanges())
  .reduce(nil as ODataLink?) { $1.deltaLink ?? $0 }
try await provider.delete(path, ifMatch: "*")
if let first {
  for try await page in provider.changes(of: Order.self, since: first) {
    print(page.values.count, "changed,", page.removed.map { $0.key["ID"] ?? "" }, "removed")
  }
}

// Prints:
// [19.9]
// ["O\'Neil"]
// ["Anna"]
// changed by someone else: 412 Precondition Failed
// 3 7
// image/png 9
// 3
// 1 Cleo
// 0 changed, ["2"] removed
