import Foundation
import SAPOData
import Testing

@Suite("OData servers of others", .timeLimit(.minutes(2)))
struct ODataServerTests {
  struct SalesOrder: Codable, Sendable {
    struct Item: Codable, Sendable {
      var SalesOrderItem: String?
      var Material: String
    }

    var SalesOrder: String?
    var SalesOrderType: String
    var SoldToParty: String
    var TotalNetAmount: Decimal?
    var SalesOrderDate: ODataDay?
    var PurchaseOrderByCustomer: String?
    var to_Item: [Item]?

    static func new(items: [Item]? = nil) -> SalesOrder {
      Self(
        SalesOrderType: "OR", SoldToParty: "1000001", PurchaseOrderByCustomer: "it's \"ü\" & 100%", to_Item: items)
    }
  }

  /// The same service in both versions.
  struct Service: Sendable, CustomTestStringConvertible {
    let version: ODataVersion
    var testDescription: String { "\(version)" }

    var set: ODataPath { version == .v2 ? "A_SalesOrder" : "SalesOrder" }

    func provider() throws -> OnlineODataProvider {
      let path =
        version == .v2
        ? "/sap/opu/odata/sap/API_SALES_ORDER_SRV"
        : "/sap/opu/odata4/sap/api_salesorder/srvd_a2x/sap/api_salesorder/0001"
      return try MockSAP.shared.get().provider(path, version)
    }
  }

  static let services = [Service(version: .v2), Service(version: .v4)]

  @Test(arguments: services)
  func queriesOfMockSAPAreRead(service: Service) async throws {
    let provider = try service.provider()
    let query = ODataQuery()
      .filter(ODataProperty("SalesOrderType") == "OR" && ODataProperty("SoldToParty").hasPrefix("1"))
      .filter(ODataProperty("TotalNetAmount") > .decimal(1))
      .orderBy(.descending("SalesOrder")).select("SalesOrder", "SalesOrderType", "SoldToParty", "TotalNetAmount")
      .expand("to_Item").top(3).withCount()

    let page = try await provider.page(of: SalesOrder.self, in: service.set, query)

    #expect(page.values.count == 3)
    #expect(page.values.map { $0.SalesOrder ?? "" } == page.values.map { $0.SalesOrder ?? "" }.sorted(by: >))
    #expect(page.values.allSatisfy { $0.to_Item?.isEmpty == false && $0.TotalNetAmount ?? 0 > 0 })
    let count = try #require(page.count)
    #expect(
      try await provider.count(in: service.set, ODataQuery().filter(ODataProperty("SalesOrderType") == "OR")) >= count)
  }

  @Test(arguments: services)
  func orderLivesInMockSAP(service: Service) async throws {
    let provider = try service.provider()
    try await provider.acquireToken()

    let created = try await provider.create(
      SalesOrder.new(items: [.init(Material: "TG11")]), in: service.set, returning: SalesOrder.self)
    let path = service.set.key(.string(try #require(created.value.SalesOrder)))
    let order = try await provider.entity(SalesOrder.self, at: path, ODataQuery().expand("to_Item"))
    #expect(order.value.PurchaseOrderByCustomer == "it's \"ü\" & 100%")
    #expect(order.value.to_Item?.map(\.Material) == ["TG11"])
    #expect(order.value.SalesOrderDate != nil)

    let missing = await #expect(throws: ODataError.self) { try await provider.delete(path) }
    #expect(missing?.kind == .preconditionRequired)
    let stale = await #expect(throws: ODataError.self) {
      try await provider.update(["PurchaseOrderByCustomer": "x"], at: path, ifMatch: "W/\"other\"")
    }
    #expect(stale?.kind == .preconditionFailed)
    try await provider.update(["PurchaseOrderByCustomer": "y"], at: path, ifMatch: order.etag)
    let changed = try await provider.entity(SalesOrder.self, at: path)
    #expect(changed.value.PurchaseOrderByCustomer == "y")

    try await provider.delete(path, ifMatch: changed.etag)
    let gone = await #expect(throws: ODataServiceError.self) { try await provider.entity(SalesOrder.self, at: path) }
    #expect(gone?.status == .notFound)
  }

  @Test(arguments: services)
  func batchOfMockSAPHasAResultForEachPart(service: Service) async throws {
    let provider = try service.provider()

    var batch = ODataBatch()
    let orders = batch.read(SalesOrder.self, in: service.set, ODataQuery().top(2))
    let created = batch.changeSet { changes in
      [
        changes.create(SalesOrder.new(), in: service.set, returning: SalesOrder.self),
        changes.create(SalesOrder.new(), in: service.set, returning: SalesOrder.self),
      ]
    }
    let failing = batch.changeSet { changes in
      let order = changes.create(SalesOrder.new(), in: service.set)
      return [order, changes.delete(service.set.key("none"), ifMatch: "*")]
    }
    batch.continuesOnError = true
    provider.serviceOptions.checkVersion = false  // batches of its V4 have V2's field
    let result = try await provider.send(batch)

    #expect(try result.value(of: orders).values.count == 2)
    #expect(Set(try created.map { try result.value(of: $0).value.SalesOrder }).count == 2)
    for part in failing { #expect(throws: ODataServiceError.self) { try result.value(of: part) } }
  }

  @Test(arguments: services)
  func deltaOfMockSAPHasWhatChanged(service: Service) async throws {
    let provider = try service.provider()
    var last: ODataLink?
    for try await page in provider.pages(of: SalesOrder.self, in: service.set, ODataQuery().trackingChanges()) {
      last = page.deltaLink
    }
    let created = try await provider.create(SalesOrder.new(), in: service.set, returning: SalesOrder.self)

    var changed: [String?] = []
    for try await page in provider.changes(of: SalesOrder.self, since: try #require(last)) {
      changed += page.values.map(\.SalesOrder)
    }

    #expect(changed.contains(created.value.SalesOrder))
  }

  // MARK: - odatapy

  struct Product: Codable, Sendable, Equatable {
    struct Part: Codable, Sendable, Equatable {
      var ID: Int
      var Name: String
    }

    var ID: Int
    var Name: String
    var Price: Decimal?
    var Big: Int64?
    var At: Date?
    var Day: ODataDay?
    var Clock: ODataTime?
    var Length: Duration?
    var Key: UUID?
    var Bytes: Data?
    var Parts: [Part]?

    static func new(_ id: Int) -> Product {
      Product(
        ID: id, Name: "it's \"ü\"", Price: Decimal(string: "1234567890123456.123456789012345678"),
        Big: 9_007_199_254_740_993, At: Date(timeIntervalSince1970: 1_767_225_600.125),
        Day: ODataDay(year: 2026, month: 2, day: 28), Clock: ODataTime(hour: 13, minute: 5, second: 7),
        Length: .milliseconds(93_784_500), Key: UUID(), Bytes: Data([0xFB, 0xFF, 1]),
        Parts: [Part(ID: id, Name: "part")])
    }
  }

  @Test("Values of odatapy come back without loss", arguments: [true, false])
  func valuesOfODataPyComeBackWithoutLoss(quotesNumbers: Bool) async throws {
    let server = try ODataPy()
    let provider = try server.provider()
    provider.serviceOptions.ieee754Compatible = quotesNumbers
    let product = Product.new(20)

    try await provider.create(product, in: "Products")
    let path = ODataPath("Products").key(20)
    let read = try await provider.entity(Product.self, at: path, ODataQuery().expand("Parts"))
    let filter =
      ODataProperty("Price") == .decimal(product.Price ?? 0) && ODataProperty("Big") == .int64(product.Big ?? 0)
      && ODataProperty("Key") == .guid(product.Key ?? UUID()) && ODataProperty("Name") == "it's \"ü\""
      && ODataProperty("Day") == .day(product.Day ?? ODataDay(.distantPast))
      && ODataProperty("At") == .dateTime(product.At ?? .distantPast)
      && ODataProperty("Parts").any { $0["Name"] == "part" }

    #expect(read.value == product)
    #expect(try await provider.page(of: Product.self, in: "Products", ODataQuery().filter(filter)).values.count == 1)
    try await provider.update(["Name": .null, "Price": .decimal(1)] as [String: ODataLiteral], at: path)
    #expect(
      try await provider.page(of: [String: String?].self, in: "Products", ODataQuery().select("Name")).count == nil)
    try await provider.delete(path)
    #expect(try await provider.count(in: "Products") == 7)
  }

  @Test func pagesAndChangesOfODataPyAreFollowed() async throws {
    let server = try ODataPy()
    let provider = try server.provider()

    var sizes: [Int] = []
    var delta: ODataLink?
    for try await page in provider.pages(of: Product.self, in: "Products", ODataQuery().pageSize(3).trackingChanges()) {
      sizes.append(page.values.count)
      delta = page.deltaLink
    }
    try await provider.delete(ODataPath("Products").key(2))
    try await provider.update(["Name": "new"], at: ODataPath("Products").key(3))
    let changes = provider.changes(of: Product.self, since: try #require(delta))
    var (changed, removed): ([Int], [ODataLink?]) = ([], [])
    for try await page in changes {
      changed += page.values.map(\.ID)
      removed += page.removed.map(\.id)
    }

    #expect(sizes == [3, 3, 1])
    #expect(changed == [3])
    #expect(removed.count == 1)
    #expect(removed.first??.rawValue.hasSuffix("Products(2)") == true)
  }

  @Test func mediaOfODataPyGoUpAndDown() async throws {
    let server = try ODataPy()
    let provider = try server.provider()
    let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) })

    let receipt = try await provider.createMedia(.data(bytes), type: "image/png", in: "Pictures")
    let path = ODataPath(try #require(receipt.location)).appending("$value")
    let media = try await provider.download(path)
    var received = Data()
    for try await chunk in media { received.append(chunk) }

    #expect(received == bytes)
    #expect(media.type == "image/png")
  }

  @Test(arguments: ServiceOptions.BatchFormat.allCases)
  func batchOfODataPyHasAResultForEachPart(format: ServiceOptions.BatchFormat) async throws {
    let server = try ODataPy()
    let provider = try server.provider(format)

    var batch = ODataBatch()
    let products = batch.read(Product.self, in: "Products", ODataQuery().top(2))
    let created = batch.changeSet { changes in
      let product = changes.create(Product.new(30), in: "Products", returning: Product.self)
      changes.update(["Name": "later"], at: changes.path(of: product))
      return product
    }
    let failing = batch.changeSet { changes in
      [changes.delete(ODataPath("Products").key(1)), changes.delete(ODataPath("Products").key(99))]
    }
    batch.continuesOnError = true
    let result = try await provider.send(batch)

    #expect(try result.value(of: products).values.map(\.ID) == [1, 2])
    #expect(try result.value(of: created).value.Big == 9_007_199_254_740_993)
    #expect(try await provider.entity(Product.self, at: ODataPath("Products").key(30)).value.Name == "later")
    for part in failing { #expect(throws: ODataServiceError.self) { try result.value(of: part) } }
    #expect(try await provider.entity(Product.self, at: ODataPath("Products").key(1)).value.ID == 1)
  }
}
