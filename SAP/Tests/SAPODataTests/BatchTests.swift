import Foundation
import MartletTesting
import SAPFoundationTesting
import Testing

@testable import SAPOData

@Suite("Batches", .timeLimit(.minutes(5)))
struct BatchTests {
  struct Kind: Sendable, CustomTestStringConvertible {
    let version: ODataVersion
    let format: ServiceOptions.BatchFormat
    var testDescription: String { "\(version), \(format)" }
  }

  static let kinds = [
    Kind(version: .v2, format: .multipart), Kind(version: .v4, format: .multipart), Kind(version: .v4, format: .json),
  ]

  private func shop(_ kind: Kind, requiresTags: Bool = false) throws -> Shop {
    let shop = try Shop(kind.version, requiresTags: requiresTags)
    shop.provider.serviceOptions.batchFormat = kind.format
    return shop
  }

  @Test("Each part has its result", arguments: kinds)
  func eachPartHasItsResult(kind: Kind) async throws {
    let shop = try shop(kind)

    var batch = ODataBatch()
    let orders = batch.read(Order.self, in: "Orders", ODataQuery().top(2))
    let (created, updated) = batch.changeSet { changes in
      let created = changes.create(Order(Status: "neu – ü"), in: "Orders", returning: Order.self)
      changes.create(["name": "Mate"], in: changes.path(of: created).appending("Items"))
      return (created, changes.update(["Status": "paid"], at: ODataPath("Orders").key(2)))
    }
    let order = batch.read(Order.self, at: ODataPath("Orders").key(2))
    let result = try await shop.provider.send(batch)

    #expect(try result.value(of: orders).values.map(\.ID) == [1, 2])
    #expect(try result.value(of: created).value.Status == "neu – ü")
    #expect(try result.value(of: updated).status == .noContent)
    #expect(try result.value(of: order).value.Status == "paid")
    #expect(shop.service.value("Orders", 4, "Items") == #"[{"name":"Mate"}]"#)
    #expect(shop.server.requests.count == 1)
  }

  @Test("A change set that fails changes nothing, and each part has its error", arguments: kinds)
  func changeSetThatFailsChangesNothingAndEachPartHasItsError(kind: Kind) async throws {
    let shop = try shop(kind)

    var batch = ODataBatch()
    let parts = batch.changeSet { changes in
      [
        changes.create(Order(Status: "new"), in: "Orders"), changes.create(Order(Status: "invalid"), in: "Orders"),
        changes.delete(ODataPath("Orders").key(1)),
      ]
    }
    let count = batch.read(Order.self, in: "Orders")
    let missing = batch.read(Order.self, at: ODataPath("Orders").key(99))
    let result = try await shop.provider.send(batch)

    for part in parts {
      let error = #expect(throws: ODataServiceError.self) { try result.value(of: part) }
      #expect(error?.message == "Status 'invalid' is not allowed")
    }
    #expect(try result.value(of: count).values.count == 3)
    let error = #expect(throws: ODataServiceError.self) { try result.value(of: missing) }
    #expect(error?.status == .notFound)
    #expect(shop.service.count("Orders") == 3)
  }

  @Test("Conflicts are found in batches, too", arguments: kinds)
  func conflictsAreFoundInBatchesToo(kind: Kind) async throws {
    let shop = try shop(kind, requiresTags: true)

    var batch = ODataBatch()
    let wrong = batch.changeSet { $0.delete(ODataPath("Orders").key(1), ifMatch: "W/\"77\"") }
    let missing = batch.changeSet { $0.delete(ODataPath("Orders").key(1)) }
    let result = try await shop.provider.send(batch)

    #expect(throws: ODataError.self) { try result.value(of: wrong) }
    let error = #expect(throws: ODataError.self) { try result.value(of: missing) }
    #expect(error?.kind == .preconditionRequired)
  }

  @Test func changeSetThatThrowsAddsNothing() {
    var batch = ODataBatch()
    _ = batch.read(Order.self, in: "Orders")

    do {
      try batch.changeSet { (changes: inout ODataBatch.ChangeSet) throws -> Void in
        changes.delete("Orders")
        throw CancellationError()
      }
      Issue.record("expected the closure's error")
    } catch { #expect(error is CancellationError) }
    batch.changeSet { changes in _ = changes.delete("Items") }

    #expect(batch.entries.map(\.id) == [1, 2])
    #expect(batch.entries.map(\.group) == [nil, 1])
  }

  @Test func batchHasLimits() async throws {
    let shop = try Shop(.v2)
    shop.provider.serviceOptions.limits.batchRequests = 2
    var batch = ODataBatch()
    #expect(try await shop.provider.send(batch).answers.isEmpty)
    for _ in 1...3 { _ = batch.read(Order.self, in: "Orders") }

    let tooMany = await #expect(throws: ODataError.self) { try await shop.provider.send(batch) }
    shop.provider.serviceOptions.limits.batchRequests = 3
    shop.provider.serviceOptions.batchFormat = .json
    let noJSON = await #expect(throws: ODataError.self) { try await shop.provider.send(batch) }

    #expect(tooMany?.message.contains("limits.batchRequests") == true)
    #expect(noJSON?.message.contains(".multipart") == true)
    #expect(shop.server.requests.isEmpty)
  }

  @Test("A tag cannot begin another request", arguments: ServiceOptions.BatchFormat.allCases)
  func tagCannotBeginAnotherRequest(format: ServiceOptions.BatchFormat) async throws {
    let shop = try Shop(.v4)
    shop.provider.serviceOptions.batchFormat = format
    var batch = ODataBatch()
    batch.changeSet { changes in
      _ = changes.delete(ODataPath("Orders").key(1), ifMatch: "*\r\n\r\nDELETE Orders(2) HTTP/1.1")
    }

    let error = await #expect(throws: ODataError.self) { try await shop.provider.send(batch) }

    #expect(error?.kind == .invalidRequest)
  }

  @Test func batchHasTheTextOfTheStandard() throws {
    var batch = ODataBatch()
    _ = batch.read(Order.self, in: "Orders", ODataQuery().top(1))
    batch.changeSet { changes in
      let order = changes.create(["Status": "new"], in: "Orders")
      changes.update(["Status": "paid"], at: changes.path(of: order), ifMatch: "*")
    }
    let root = try ODataRoot(#require(URL(string: "http://h/s?sap-client=1")))
    let writer = ODataBatchWriter(entries: batch.entries, root: root, format: ODataFormat(.v2))

    let text = String(decoding: try writer.multipart("batch_x"), as: UTF8.self)

    #expect(
      text
        == """
        --batch_x
        Content-Type: application/http
        Content-Transfer-Encoding: binary

        GET Orders?$top=1 HTTP/1.1
        Accept: application/json
        DataServiceVersion: 2.0
        MaxDataServiceVersion: 2.0


        --batch_x
        Content-Type: multipart/mixed;boundary=changeset_x_1

        --changeset_x_1
        Content-Type: application/http
        Content-Transfer-Encoding: binary
        Content-ID: 2

        POST Orders HTTP/1.1
        Accept: application/json
        DataServiceVersion: 2.0
        MaxDataServiceVersion: 2.0
        Content-Type: application/json
        Content-Length: 16

        {"Status":"new"}
        --changeset_x_1
        Content-Type: application/http
        Content-Transfer-Encoding: binary
        Content-ID: 3

        MERGE $2 HTTP/1.1
        Accept: application/json
        DataServiceVersion: 2.0
        MaxDataServiceVersion: 2.0
        Content-Type: application/json
        If-Match: *
        Content-Length: 17

        {"Status":"paid"}
        --changeset_x_1--
        --batch_x--

        """.replacing("\n", with: "\r\n"))
  }

  @Test("An answer without a part is refused", arguments: ["", "--c\r\n\r\nHTTP/1.1 200 OK\r\n\r\n{}\r\n--c--"])
  func answerWithoutAPartIsRefused(body: String) async throws {
    let (provider, _) = try OnlineODataProvider.answered { _ in
      .data(Data(body.utf8), type: body.isEmpty ? "text/plain" : "multipart/mixed; boundary=b")
    }
    var batch = ODataBatch()
    _ = batch.read(Order.self, in: "Orders")

    let error = await #expect(throws: ODataError.self) { try await provider.send(batch) }

    #expect(error?.kind == .invalidResponse)
  }

  /// A provider for a service that answers each JSON batch so.
  private func provider(answering json: String) throws -> OnlineODataProvider {
    let (provider, _) = try OnlineODataProvider.answered { _ in .json(json) }
    provider.serviceOptions.batchFormat = .json
    return provider
  }

  @Test func answerWithMoreResponsesThanRequestsIsRefused() async throws {
    let provider = try provider(answering: #"{"responses":[{"id":"1","status":204},{"id":"1","status":204}]}"#)
    var batch = ODataBatch()
    _ = batch.read(Order.self, in: "Orders")

    let error = await #expect(throws: ODataError.self) { try await provider.send(batch) }

    #expect(error?.kind == .invalidResponse)
    #expect(error?.message.contains("2 responses to 1 requests") == true)
  }

  @Test func responseNamedAfterAGroupIsThatOfItsRequests() async throws {
    let provider = try provider(
      answering: #"{"responses":[{"id":"g2","status":409},{"id":"1","status":204},{"id":"2","status":204}]}"#)
    var batch = ODataBatch()
    let done = batch.changeSet { changes in [changes.delete("A"), changes.delete("B")] }
    let failed = batch.changeSet { changes in [changes.delete("C"), changes.delete("D")] }

    let result = try await provider.send(batch)

    for part in done { #expect(try result.value(of: part).status == .noContent) }
    for part in failed {
      let error = #expect(throws: ODataServiceError.self) { try result.value(of: part) }
      #expect(error?.status == 409)
    }
  }

  @Test func failedChangeSetMayHaveOneResponseWithin() async throws {
    let inner = "--c\r\nContent-ID: 2\r\n\r\nHTTP/1.1 409 Conflict\r\n\r\nno\r\n--c--"
    let (provider, _) = try OnlineODataProvider.answered { _ in
      .data(
        Data("--b\r\nContent-Type: multipart/mixed;boundary=c\r\n\r\n\(inner)\r\n--b--".utf8),
        type: "multipart/mixed;boundary=b")
    }
    var batch = ODataBatch()
    let parts = batch.changeSet { changes in
      [changes.delete("A"), changes.delete("B"), changes.delete("C")]
    }

    let result = try await provider.send(batch)

    for part in parts {
      let error = #expect(throws: ODataServiceError.self) { try result.value(of: part) }
      #expect(error?.status == 409)
    }
  }

  @Test func partWithoutAnAnswerSaysSo() async throws {
    let (provider, _) = try OnlineODataProvider.answered { _ in
      .data(
        Data("before\n--b\nX: 1\n\nHTTP/1.1 200 OK\n\n{\"value\":[]}\n--b--\nafter".utf8),
        type: "multipart/mixed;boundary=b")
    }
    var batch = ODataBatch()
    let first = batch.read(Order.self, in: "Orders")
    let second = batch.read(Order.self, in: "Orders")

    let result = try await provider.send(batch)

    #expect(try result.value(of: first).values.isEmpty)
    let error = #expect(throws: ODataError.self) { try result.value(of: second) }
    #expect(error?.kind == .notExecuted)
  }
}
