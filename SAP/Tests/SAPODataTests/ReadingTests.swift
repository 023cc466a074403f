import Foundation
import MartletTesting
import SAPFoundationTesting
import SAPOData
import Testing

@Suite("Reading entities", .timeLimit(.minutes(5)))
struct ReadingTests {
  @Test("A page has values, tags and the count", arguments: ODataVersion.allCases)
  func pageHasValuesTagsAndTheCount(version: ODataVersion) async throws {
    let shop = try Shop(version)

    let query = ODataQuery().filter(ODataProperty("Status") == "open").top(2).withCount()
    let page = try await shop.provider.page(of: Order.self, in: "Orders", query)

    #expect(page.values.map(\.ID) == [1, 2])
    #expect(page.values.first?.Price == decimal("1.10"))
    #expect(page.values.first?.Items == [.init(name: "Tea")])
    #expect(page.count == 3)
    #expect(page.entities.first?.etag == "W/\"1\"")
    let request = try #require(shop.server.requests.first)
    #expect(request.query?.hasPrefix("sap-client=100&$filter=") == true)
    #expect(request.fields[version == .v2 ? "DataServiceVersion" : "OData-MaxVersion"] != nil)
  }

  @Test("Pages are followed to the last one", arguments: ODataVersion.allCases)
  func pagesAreFollowedToTheLastOne(version: ODataVersion) async throws {
    let shop = try Shop(version, pageSize: 2, orders: 5)

    var sizes: [Int] = []
    for try await page in shop.provider.pages(of: Order.self, in: "Orders") { sizes.append(page.entities.count) }

    #expect(sizes == [2, 2, 1])
    #expect(try await shop.provider.pages(of: Order.self, in: "Orders").collect(upTo: 5).count == 5)
    let error = await #expect(throws: ODataError.self) {
      try await shop.provider.pages(of: Order.self, in: "Orders").collect(upTo: 4)
    }
    #expect(error?.kind == .tooManyPages)
    #expect(shop.server.requests.allSatisfy { $0.query?.contains("sap-client=100") == true })
  }

  @Test("Links that lead in a cycle, or too far, end the read", arguments: ["same", "new"])
  func linksThatLeadInACircleOrTooFarEndTheRead(kind: String) async throws {
    let (provider, server) = try OnlineODataProvider.answered { request in
      let number = kind == "new" ? "\(Int(request.query?.dropFirst(2) ?? "0").map { $0 + 1 } ?? 0)" : "1"
      return .json(#"{"value":[],"@odata.nextLink":"Orders?n=\#(number)"}"#)
    }
    provider.serviceOptions.limits.pages = 10

    let error = await #expect(throws: ODataError.self) {
      for try await _ in provider.pages(of: Order.self, in: "Orders") {}
    }

    #expect(error?.kind == .tooManyPages)
    #expect(server.requests.count == (kind == "new" ? 10 : 2))
  }

  @Test func changesHaveAsManyPagesAsTheLimit() async throws {
    let (provider, _) = try OnlineODataProvider.answered { request in
      request.query == "n=1"
        ? .json(#"{"value":[],"@odata.nextLink":"Orders?n=2"}"#) : .json(#"{"value":[]}"#)
    }
    provider.serviceOptions.limits.pages = 2

    var count = 0
    for try await _ in provider.changes(of: Order.self, since: ODataLink(rawValue: "Orders?n=1")) { count += 1 }

    #expect(count == 2)
  }

  @Test func linkToAnotherOriginIsNotFollowed() async throws {
    let stranger = try ThirdParty()
    let link = stranger.url.absoluteString
    let (provider, _) = try OnlineODataProvider.answered { _ in .json(#"{"value":[],"@odata.nextLink":"\#(link)"}"#) }

    let error = await #expect(throws: ODataError.self) {
      for try await _ in provider.pages(of: Order.self, in: "Orders") {}
    }

    #expect(error?.kind == .foreignLink)
    #expect(stranger.requests.isEmpty)
  }

  @Test("An entity is read by its key, and by its link", arguments: ODataVersion.allCases)
  func entityIsReadByItsKeyAndByItsLink(version: ODataVersion) async throws {
    let shop = try Shop(version)

    let order = try await shop.provider.entity(Order.self, at: shop.order)

    #expect(order.value.Status == "open")
    #expect(order.etag == "W/\"1\"")
    #expect((order.id != nil) == (version == .v2))
    if let id = order.id {
      #expect(try await shop.provider.entity(Order.self, at: ODataPath(id)).value == order.value)
    }
    let items = try await shop.provider.page(of: Order.Item.self, in: shop.order.appending("Items"))
    #expect(items.values == [.init(name: "Tea")])
  }

  @Test("Null is nil for an optional type, and an error for any other", arguments: ODataVersion.allCases)
  func nullIsNilForAnOptionalTypeAndAnErrorForAnyOther(version: ODataVersion) async throws {
    let (provider, _) = try OnlineODataProvider.answered(version) { _ in
      version == .v4 ? .status(.noContent) : .json(#"{"d":null}"#)
    }
    let path = ODataPath("Orders").key(1).appending("Follower")

    #expect(try await provider.entity(Order?.self, at: path).value == nil)
    #expect(try await provider.call("Best", returning: Order?.self) == nil)
    #expect(try await provider.run("Count", returning: Int?.self) == nil)
    let noEntity = await #expect(throws: ODataError.self) { try await provider.entity(Order.self, at: path) }
    let noNumber = await #expect(throws: ODataError.self) { try await provider.run("Count", returning: Int.self) }
    for error in [noEntity, noNumber] { #expect(error?.message.contains("optional") == true) }
    #expect(noEntity?.kind == .invalidResponse)
    #expect(noNumber?.kind == .resultNotRead)
  }

  @Test func entityOfV4MayHaveAPropertyNamedD() async throws {
    struct Line: Decodable, Sendable {
      let c: Int
      let d: Int
    }
    let (provider, _) = try OnlineODataProvider.answered { _ in .json(#"{"@odata.etag":"1","c":1,"d":2}"#) }

    let line = try await provider.entity(Line.self, at: ODataPath("Lines").key(1))

    #expect(line.value.c == 1)
    #expect(line.value.d == 2)
    #expect(line.etag == "1")
  }

  @Test("The preferences of a read are sent in both versions", arguments: ODataVersion.allCases)
  func preferencesOfAReadAreSentInBothVersions(version: ODataVersion) async throws {
    let shop = try Shop(version)

    _ = try await shop.provider.page(of: Order.self, in: "Orders", ODataQuery().pageSize(2).trackingChanges())

    #expect(shop.server.requests.first?.fields["Prefer"] == "odata.track-changes, odata.maxpagesize=2")
  }

  @Test("The count is a number", arguments: ODataVersion.allCases)
  func countIsANumber(version: ODataVersion) async throws {
    let shop = try Shop(version, orders: 4)

    #expect(try await shop.provider.count(in: "Orders") == 4)
    #expect(try await shop.provider.count(in: "Orders", ODataQuery().filter(ODataProperty("ID") == 2)) == 1)
  }

  @Test("A function returns a value", arguments: ODataVersion.allCases)
  func functionReturnsAValue(version: ODataVersion) async throws {
    let shop = try Shop(version)

    #expect(try await shop.provider.call("CountOf", ["Set": "Orders"], returning: Int.self) == 3)
    let target = try #require(shop.server.requests.first?.target)
    #expect(
      target
        == (version == .v2
          ? "/odata/CountOf?sap-client=100&Set='Orders'"
          : "/odata/CountOf(Set='Orders')?sap-client=100"))
  }

  @Test("Changes have what is new, changed and removed", arguments: ODataVersion.allCases)
  func changesHaveWhatIsNewChangedAndRemoved(version: ODataVersion) async throws {
    let shop = try Shop(version)
    let first = try await shop.provider.page(of: Order.self, in: "Orders", ODataQuery().trackingChanges())
    let link = try #require(first.deltaLink)
    try await shop.provider.update(["Status": "paid"], at: ODataPath("Orders").key(2))
    try await shop.provider.create(Order(Status: "new"), in: "Orders")
    try await shop.provider.delete(ODataPath("Orders").key(3))

    // the link can be kept in a file
    let kept = try JSONDecoder().decode([ODataLink].self, from: JSONEncoder().encode([link]))
    var pages: [ODataPage<Order>] = []
    for try await page in shop.provider.changes(of: Order.self, since: kept[0]) { pages.append(page) }

    #expect(pages.flatMap(\.values).map(\.Status) == ["paid", "new"])
    #expect(pages.flatMap(\.removed).map(\.reason) == (version == .v4 ? ["deleted"] : []))
    #expect(pages.flatMap(\.removed).map(\.key) == (version == .v4 ? [["ID": "3"]] : []))
    #expect(pages.last?.deltaLink != nil && pages.last?.deltaLink != link)
  }

  @Test func linksBetweenEntitiesAreLeftOutOfChanges() async throws {
    let (provider, _) = try OnlineODataProvider.answered { _ in
      let links = ["$link", "$deletedLink"].map { kind in
        ##"{"@odata.context":"#Orders/\##(kind)","source":"Orders(1)","relationship":"Items","target":"Items(2)"}"##
      }
      return .json(#"{"value":[\#(links.joined(separator: ",")),{"ID":1,"Status":"open"}]}"#)
    }

    let page = try await provider.page(of: Order.self, in: "Orders")

    #expect(page.values.map(\.ID) == [1])
    #expect(page.removed.isEmpty)
  }

  @Test func removalOfV40IsRead() async throws {
    let (provider, _) = try OnlineODataProvider.answered { _ in
      .json(
        ##"{"value":[{"@odata.context":"#Orders/$deletedEntity","id":"Orders(7)","reason":"changed"}],"@odata.count":0}"##
      )
    }

    let page = try await provider.page(of: Order.self, in: "Orders")

    #expect(page.entities.isEmpty)
    #expect(page.removed.map(\.id) == [ODataLink(rawValue: "Orders(7)")])
    #expect(page.removed.map(\.reason) == ["changed"])
  }
}
