import Foundation
import MartletTesting
import SAPFoundationTesting
import SAPOData
import Testing

@Suite("Changes that the service confirms", .timeLimit(.minutes(5)))
struct ConfirmationTests {
  struct Change: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let make: @Sendable (OnlineODataProvider) async throws -> Void
  }

  static let order = ODataPath("Orders").key(1)
  static let media = ODataContent.data(Data("picture".utf8))
  static let changes = [
    Change(testDescription: "create") { try await $0.create(Order(Status: "new"), in: "Orders") },
    Change(testDescription: "update") { try await $0.update(["Status": "paid"], at: order) },
    Change(testDescription: "delete") { try await $0.delete(order) },
    Change(testDescription: "run") { try await $0.run("Ship") },
    Change(testDescription: "createMedia") { try await $0.createMedia(media, type: "image/png", in: "Images") },
    Change(testDescription: "replaceMedia") { try await $0.replaceMedia(media, type: "image/png", at: "Image") },
  ]

  private static func entity(_ status: HTTPStatus) -> Reply { .json(#"{"ID":7,"Status":"new"}"#, status: status) }

  struct Answer: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let reply: Reply
  }

  private static let page = "<!DOCTYPE html><html><title>Log on</title></html>"
  static let unconfirmed = [
    Answer(testDescription: "a page", reply: .data(Data(page.utf8), type: "text/html;charset=utf-8")),
    Answer(testDescription: "a page with 201", reply: .data(Data(page.utf8), type: "text/html", status: .created)),
    Answer(
      testDescription: "a page without a type",
      reply: .raw("HTTP/1.1 200 OK\r\nContent-Length: \(page.utf8.count)\r\n\r\n" + page)),
    Answer(testDescription: "a text", reply: .text("OK")),
    Answer(testDescription: "a list", reply: .json("[]")),
    Answer(testDescription: "202", reply: .status(202)),
    Answer(testDescription: "206", reply: entity(206)),
    Answer(testDescription: "a redirect", reply: .redirect(to: "/odata/login")),
    Answer(testDescription: "a redirect with 303", reply: .redirect(to: "/odata/login", status: .seeOther)),
    Answer(
      testDescription: "an error in XML",
      reply: .data(Data("<error><code>x</code></error>".utf8), type: "application/xml")),
  ]

  @Test("An answer that is not the service's is an error", arguments: changes, unconfirmed)
  func answerThatIsNotTheServicesIsAnError(change: Change, answer: Answer) async throws {
    let (provider, _) = try OnlineODataProvider.answered { $0.path == "/odata/login" ? Self.entity(.ok) : answer.reply }
    // DELETE and PUT keep their method after 302.
    guard answer.testDescription != "a redirect" || ["create", "run", "createMedia"].contains(change.testDescription)
    else { return }

    let error = await #expect(throws: ODataError.self) { try await change.make(provider) }

    #expect(error?.kind == .invalidResponse)
    #expect(error?.message.contains("did not confirm the change") == true)
  }

  @Test("A redirect to another server confirms nothing", arguments: changes, [302, 307])
  func redirectToAnotherServerConfirmsNothing(change: Change, status: Int) async throws {
    let login = try LoopbackServer { _ in .json(#"{"ID":7}"#) }
    let target = login.url("/login").absoluteString
    let (provider, _) = try OnlineODataProvider.answered { _ in .redirect(to: target, status: HTTPStatus(status)) }

    await #expect(throws: ODataError.self) { try await change.make(provider) }
  }

  @Test("An error with status 200 is the service's error", arguments: changes)
  func errorWithStatus200IsTheServicesError(change: Change) async throws {
    let (provider, _) = try OnlineODataProvider.answered { _ in
      .json(#"{"error":{"code":"ZX/100","message":{"lang":"de","value":"Gesperrt"}}}"#)
    }

    let error = await #expect(throws: ODataServiceError.self) { try await change.make(provider) }

    #expect(error?.code == "ZX/100")
    #expect(error?.message == "Gesperrt")
  }

  @Test func errorWithStatus200IsNoEntity() async throws {
    struct Note: Codable, Sendable { var text: String? }
    let (provider, _) = try OnlineODataProvider.answered { request in
      .json(request.path.hasSuffix("Plain") ? #"{"error":"x","text":"a"}"# : #" {"error" : {"code":"ZX/1"}}"#)
    }

    await #expect(throws: ODataServiceError.self) { try await provider.entity(Note.self, at: "Note") }
    await #expect(throws: ODataServiceError.self) { try await provider.count(in: "Notes") }
    #expect(try await provider.entity(Note.self, at: "Plain").value.text == "a")
  }

  static let confirmed: [Answer] = [
    Answer(testDescription: "204", reply: .status(.noContent)),
    Answer(testDescription: "200 without content", reply: .status(.ok)),
    Answer(testDescription: "201 without content", reply: .status(.created)),
    Answer(testDescription: "200 with the entity", reply: entity(.ok)),
    Answer(testDescription: "201 with the entity", reply: entity(.created)),
    Answer(testDescription: "V2's wrapper", reply: .json(#"{"d":{"ID":7}}"#)),
    Answer(testDescription: "Atom", reply: .data(Data("<entry/>".utf8), type: "application/atom+xml;type=entry")),
    Answer(testDescription: "a redirect that keeps the method", reply: .redirect(to: "/odata/moved", status: 307)),
  ]

  @Test("Every answer that OData allows confirms a change", arguments: changes, confirmed)
  func everyAnswerThatODataAllowsConfirmsAChange(change: Change, answer: Answer) async throws {
    let (provider, _) = try OnlineODataProvider.answered { $0.path == "/odata/moved" ? Self.entity(.ok) : answer.reply }

    try await change.make(provider)
  }

  @Test func pageConfirmsNoPartOfABatch() async throws {
    let (provider, _) = try OnlineODataProvider.answered { _ in
      .data(
        Data("--b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>\r\n--b--".utf8),
        type: "multipart/mixed;boundary=b")
    }
    var batch = ODataBatch()
    let part = batch.changeSet { $0.delete("Orders") }

    let result = try await provider.send(batch)

    let error = #expect(throws: ODataError.self) { try result.value(of: part) }
    #expect(error?.kind == .invalidResponse)
  }

  @Test func loginPageIsNoServiceWithoutTokens() async throws {
    let (provider, _) = try OnlineODataProvider.answered { _ in .data(Data(Self.page.utf8), type: "text/html") }

    let error = await #expect(throws: ODataError.self) { try await provider.acquireToken() }

    #expect(error?.kind == .invalidResponse)
  }

  // MARK: - Results that cannot be read

  @Test(
    "A created entity that cannot be read leaves its receipt",
    arguments: [
      Reply.status(.created).with("OData-EntityId", "Orders(9)"),
      .json(#"{"ID":"none"}"#, status: .created).with("OData-EntityId", "Orders(9)"),
      .raw("HTTP/1.1 201 Created\r\nOData-EntityId: Orders(9)\r\nContent-Length: 99\r\n\r\n{\"ID\""),
    ])
  func createdEntityThatCannotBeReadLeavesItsReceipt(reply: Reply) async throws {
    let (provider, server) = try OnlineODataProvider.answered { $0.method == .get ? .status(.forbidden) : reply }

    let error = await #expect(throws: ODataError.self) {
      try await provider.create(Order(Status: "new"), in: "Orders", returning: Order.self)
    }

    #expect(error?.kind == .resultNotRead)
    #expect(error?.receipt?.status == .created)
    #expect(error?.receipt?.location?.rawValue == "Orders(9)")
    #expect(error?.underlyingError != nil)
    #expect(server.requests.count { $0.method == .post } == 1)
  }

  @Test func entityWithoutALocationLeavesItsReceipt() async throws {
    let (provider, _) = try OnlineODataProvider.answered { _ in .status(.noContent) }

    let error = await #expect(throws: ODataError.self) {
      try await provider.create(Order(Status: "new"), in: "Orders", returning: Order.self)
    }

    #expect(error?.receipt?.status == .noContent)
  }

  @Test func actionWhoseResultCannotBeReadLeavesItsReceipt() async throws {
    let (provider, _) = try OnlineODataProvider.answered { _ in .json(#"{"value":"x"}"#) }

    let error = await #expect(throws: ODataError.self) { try await provider.run("Ship", returning: Int.self) }

    #expect(error?.kind == .resultNotRead)
    #expect(error?.underlyingError is DecodingError)
  }

  @Test func partWhoseEntityCannotBeReadLeavesItsReceipt() async throws {
    let (provider, _) = try OnlineODataProvider.answered { _ in
      .json(#"{"responses":[{"id":"1","status":201,"headers":{"Location":"Orders(9)"}}]}"#)
    }
    provider.serviceOptions.batchFormat = .json
    var batch = ODataBatch()
    let part = batch.changeSet { $0.create(Order(Status: "new"), in: "Orders", returning: Order.self) }

    let result = try await provider.send(batch)

    let error = #expect(throws: ODataError.self) { try result.value(of: part) }
    #expect(error?.receipt?.location?.rawValue == "Orders(9)")
  }
}
