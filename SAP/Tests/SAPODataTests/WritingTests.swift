import Foundation
import MartletTesting
import SAPFoundationTesting
import SAPOData
import Testing

@Suite("Writing entities", .timeLimit(.minutes(5)))
struct WritingTests {
  @Test("A created entity has its nested ones", arguments: ODataVersion.allCases)
  func createdEntityHasItsNestedOnes(version: ODataVersion) async throws {
    let shop = try Shop(version)
    let new = Order(Status: "new", Price: decimal("19.90"), Items: [.init(name: "Mate")])

    let created = try await shop.provider.create(new, in: "Orders", returning: Order.self)
    let receipt = try await shop.provider.create(new, in: "Orders")

    #expect(created.value.ID == 4)
    #expect(created.value.Items == new.Items)
    #expect(shop.service.value("Orders", 4, "Price") == "\"19.9\"")
    #expect(receipt.location?.rawValue.hasSuffix("/odata/Orders(5)") == true)
    #expect(receipt.status == (version == .v2 ? 201 : 204))
    #expect(receipt.etag != nil)
  }

  @Test func entityThatTheServiceDidNotReturnIsReadByItsLocation() async throws {
    let (provider, server) = try OnlineODataProvider.answered { request in
      request.method == .get
        ? .json(#"{"ID":9,"Status":"new"}"#) : .status(.noContent, fields: ["OData-EntityId": "Orders(9)"])
    }

    let created = try await provider.create(Order(Status: "new"), in: "Orders", returning: Order.self)

    #expect(created.value.ID == 9)
    #expect(server.requests.map(\.target) == ["/odata/Orders", "/odata/Orders(9)"])
    #expect(server.requests.first?.fields["Prefer"] == "return=representation")
  }

  @Test(
    "An update has the method of its version",
    arguments: [
      (ODataVersion.v2, ODataUpdate.partial, "MERGE"), (.v4, .partial, "PATCH"), (.v2, .whole, "PUT"),
      (.v4, .whole, "PUT"), (.v2, .patch, "PATCH"),
    ])
  func updateHasTheMethodOfItsVersion(version: ODataVersion, method: ODataUpdate, name: String) async throws {
    let shop = try Shop(version, requiresTags: true)
    let order = try await shop.provider.entity(Order.self, at: shop.order)

    try await shop.provider.update(
      ["Status": "paid", "Price": .null] as [String: ODataLiteral], at: shop.order, by: method, ifMatch: order.etag)

    #expect(shop.server.requests.last?.method.rawValue == name)
    #expect(shop.service.value("Orders", 1, "Status") == "\"paid\"")
    #expect(shop.service.value("Orders", 1, "Price") == "null")
    #expect((shop.service.value("Orders", 1, "Items") == nil) == (method == .whole))
  }

  @Test("A method that a proxy refuses goes through the tunnel", arguments: ["MERGE", "DELETE"])
  func methodThatAProxyRefusesGoesThroughTheTunnel(method: String) async throws {
    let shop = try Shop(.v2, refusedMethods: ["MERGE", "DELETE"])
    await #expect(throws: ODataServiceError.self) {
      try await shop.provider.update(["Status": "paid"], at: shop.order)
    }

    shop.provider.networkOptions.tunneledMethods.append("MERGE")
    _ = shop.provider.networkOptions.tunneledMethods.append("DELETE")
    if method == "MERGE" {
      try await shop.provider.update(["Status": "paid"], at: shop.order)
      #expect(shop.service.value("Orders", 1, "Status") == "\"paid\"")
    } else {
      try await shop.provider.delete(shop.order)
      #expect(shop.service.count("Orders") == 2)
    }

    let request = try #require(shop.server.requests.last)
    #expect(request.method == .post)
    #expect(request.fields["X-HTTP-Method"] == method)
  }

  @Test("A change that overtook another has an error with a remedy", arguments: ODataVersion.allCases)
  func changeThatOvertookAnotherHasAnErrorWithARemedy(version: ODataVersion) async throws {
    let shop = try Shop(version, requiresTags: true)
    let order = try await shop.provider.entity(Order.self, at: shop.order)
    shop.service.change("Orders", 1, ["Status": "lost"])

    let changed = await #expect(throws: ODataError.self) {
      try await shop.provider.update(["Status": "paid"], at: shop.order, ifMatch: order.etag)
    }
    let missing = await #expect(throws: ODataError.self) { try await shop.provider.delete(shop.order) }
    try await shop.provider.delete(shop.order, ifMatch: "*")

    #expect(changed?.kind == .preconditionFailed)
    #expect(changed?.serviceError?.status == 412)
    #expect(changed?.errorDescription?.contains("read it again") == true)
    #expect(missing?.kind == .preconditionRequired)
    #expect(missing?.errorDescription?.contains("ifMatch") == true)
    #expect(shop.service.count("Orders") == 2)
  }

  @Test("An action changes its entity", arguments: ODataVersion.allCases)
  func actionChangesItsEntity(version: ODataVersion) async throws {
    let shop = try Shop(version)

    let order = try await shop.provider.run("Ship", ["ID": 2], returning: Order.self)
    if version == .v4 { try await shop.provider.run("Shop.Ship", on: shop.order) }

    #expect(order.Status == "shipped")
    #expect(order.ID == 2)
    #expect((shop.service.value("Orders", 1, "Status") == "\"shipped\"") == (version == .v4))
  }

  @Test("A refusal is the service's own error", arguments: ODataVersion.allCases)
  func refusalIsTheServicesOwnError(version: ODataVersion) async throws {
    let shop = try Shop(version)

    let error = await #expect(throws: ODataServiceError.self) {
      try await shop.provider.create(Order(Status: "invalid"), in: "Orders")
    }

    #expect(error?.code == "ZS/400")
    #expect(error?.message == "Status 'invalid' is not allowed")
  }

  @Test func warningOfASuccessIsInItsReceipt() async throws {
    let (provider, _) = try OnlineODataProvider.answered(.v2) { _ in
      Reply.status(.noContent).with(sapMessage: "Only three are left", severity: "warning")
    }

    let receipt = try await provider.update(["A": 1], at: ODataPath("Orders").key(1))

    #expect(receipt.messages.map(\.message) == ["Only three are left"])
  }

  // MARK: - Media

  @Test("Media go up and down", arguments: ODataVersion.allCases, ["data", "file", "stream"])
  func mediaGoUpAndDown(version: ODataVersion, kind: String) async throws {
    let shop = try Shop(version)
    let bytes = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0) })
    let folder = try TemporaryFolder()
    let file = folder.url.appending(path: "picture")
    try bytes.write(to: file)
    let content: ODataContent =
      switch kind {
      case "data": .data(bytes)
      case "file": .file(file)
      default: .stream(length: 200_000) { InputStream(url: file) }
      }

    let receipt = try await shop.provider.createMedia(content, type: "image/png", in: "Images", name: "Zürich 100%")
    let path = ODataPath(try #require(receipt.location))
    let media = try await shop.provider.download(path.appending("$value"))
    var received = Data()
    for try await chunk in media { received.append(chunk) }
    try await shop.provider.replaceMedia(
      .data(Data("new".utf8)), type: "text/plain", at: path.appending("$value"), ifMatch: media.etag)
    let replaced = try await shop.provider.download(path.appending("$value"))

    #expect(received == bytes)
    #expect(media.type == "image/png")
    #expect(media.length == 200_000)
    #expect(replaced.type == "text/plain")
    #expect(shop.service.value("Images", 1, "Name") == "\"Zürich 100%\"")
    let error = await #expect(throws: ODataServiceError.self) {
      _ = try await shop.provider.download(shop.order.appending("$value"))
    }
    #expect(error?.status == .notFound)
  }

  @Test func mediaAreNotCollected() async throws {
    let (provider, _) = try OnlineODataProvider.answered { _ in .repeating(Data("x".utf8), length: 1 << 40) }
    provider.serviceOptions.limits.responseBytes = 10

    var count = 0
    for try await chunk in try await provider.download("Film") {
      count += chunk.count
      if count > 1 << 20 { break }
    }

    #expect(count > 1 << 20)
  }
}
