import Foundation
import MartletTesting
import Testing

@testable import SAPOData

@Suite("Links of services", .timeLimit(.minutes(5)))
struct LinkTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let link: String
    let target: String
    var testDescription: String { link }
  }

  /// The root has `sap-client=100&sap-language=DE`. The targets are what arrives at the server.
  static let cases = [
    Case(link: "a b%20c", target: "/s/a%20b%20c"),
    Case(link: "Orders?$filter=a%20eq%20'x|y'", target: "/s/Orders?$filter=a%20eq%20'x%7Cy'"),
    Case(link: "Orders?n=M%C3%BCller ä", target: "/s/Orders?n=M%C3%BCller%20%C3%A4"),
    Case(link: "Orders?t=100%", target: "/s/Orders?t=100%25"),
    Case(link: "Orders?sap-language=DE&sap-client=100&t=1", target: "/s/Orders?sap-language=DE&sap-client=100&t=1"),
    Case(link: "Orders?sap%2Dclient=200", target: "/s/Orders?sap%2Dclient=200&sap-language=DE"),
    Case(link: "Orders?my-sap-client=100", target: "/s/Orders?my-sap-client=100&sap-client=100&sap-language=DE"),
    Case(link: "Orders?sap-client=1000", target: "/s/Orders?sap-client=1000&sap-language=DE"),
  ]

  @Test("A link keeps its escapes, and gets the root's options once", arguments: cases)
  func linkKeepsItsEscapesAndGetsTheRootsOptionsOnce(row: Case) throws {
    let root = try ODataRoot(#require(URL(string: "http://h/s?sap-client=100&sap-language=DE")))

    let url = try root.url(ODataLink(rawValue: row.link)).absoluteString

    let separator = row.target.contains("?") ? "&" : "?"
    #expect(
      url == "http://h" + row.target + (row.target.contains("sap-") ? "" : separator + "sap-client=100&sap-language=DE")
    )
  }

  @Test(
    "The next link of a response is resolved",
    arguments: [
      ("Items?p=2", "", "/odata/Orders(1)/Items?p=2"), ("?p=2", "", "/odata/Orders(1)/Items?p=2"),
      ("Orders(1)/Items?p=2", "../$metadata#Items", "/odata/Orders(1)/Items?p=2"),
      ("/odata/x|y?p=%41", "", "/odata/x%7Cy?p=%41"),
      ("Orders(1)/Items?p=2", "http://inner/odata/$metadata#Items", "/odata/Orders(1)/Items?p=2"),
    ])
  func nextLinkOfAResponseIsResolved(link: String, context: String, target: String) async throws {
    let (provider, server) = try OnlineODataProvider.answered { request in
      guard request.query == nil else { return .json(#"{"value":[]}"#) }
      let name = context.isEmpty ? "" : #""@odata.context":"\#(context)","#
      return .json(#"{\#(name)"value":[],"@odata.nextLink":"\#(link)"}"#)
    }

    let path = ODataPath("Orders").key(1).appending("Items")
    for try await _ in provider.pages(of: Order.self, in: path) {}

    #expect(server.requests.map(\.target) == ["/odata/Orders(1)/Items", target])
  }

  @Test func deltaLinkOfABatchIsResolvedToo() async throws {
    let (provider, server) = try OnlineODataProvider.answered { _ in
      .json(#"{"responses":[{"id":"1","status":200,"body":{"value":[],"@odata.deltaLink":"Items?d=1"}}]}"#)
    }
    provider.serviceOptions.batchFormat = .json
    var batch = ODataBatch()
    let part = batch.read(Order.self, in: ODataPath("Orders").key(1).appending("Items"))

    let page = try await provider.send(batch).value(of: part)

    #expect(page.deltaLink?.rawValue == server.url("/odata/Orders(1)/Items?d=1").absoluteString)
  }

  @Test(
    "Of a link with another origin the path may be used",
    arguments: [
      ("http://h/s/Orders?p=%41", "https://h/s/Orders?p=%41"), ("http://inner:8000/s/A b", "https://h/s/A%20b"),
      ("https://h/s/Orders", "https://h/s/Orders"), ("https://h:8443/x", "https://h/x"),
    ])
  func ofALinkWithAnotherOriginThePathMayBeUsed(link: String, url: String) throws {
    let root = try ODataRoot(#require(URL(string: "https://h/s")), followsLinksByPath: true)

    #expect(try root.url(ODataLink(rawValue: link)).absoluteString == url)
    #expect(throws: ODataError.self) { try root.url(ODataLink(rawValue: "mailto:a@h")) }
  }

  @Test func linksOfAServiceBehindAProxyAreFollowedIfTheCallerWantsIt() async throws {
    let (provider, server) = try OnlineODataProvider.answered { request in
      .json(
        request.query == nil ? #"{"value":[],"@odata.nextLink":"http://inner/odata/Orders?p=2"}"# : #"{"value":[]}"#)
    }
    provider.serviceOptions.followsLinksByPath = true

    for try await _ in provider.pages(of: Order.self, in: "Orders") {}

    #expect(server.requests.map(\.target) == ["/odata/Orders", "/odata/Orders?p=2"])
  }

  @Test(
    "No name leaves the service's root",
    arguments: [
      ODataPath(".."), ODataPath("."), ODataPath("Orders").appending(".."), ODataPath("Orders").key(1).appending("."),
    ])
  func noNameLeavesTheServicesRoot(path: ODataPath) async throws {
    let (provider, server) = try OnlineODataProvider.answered { _ in .status(.noContent) }
    var batch = ODataBatch()
    batch.changeSet { _ = $0.delete(path) }

    for error in [
      await #expect(throws: ODataError.self) { try await provider.delete(path) },
      await #expect(throws: ODataError.self) { try await provider.send(batch) },
    ] { #expect(error?.kind == .invalidRequest) }

    #expect(server.requests.isEmpty)
    #expect(try ODataRoot(server.url("/odata")).url(ODataPath("...").key(".."), [], .v4).path.hasSuffix("/...('..')"))
  }

  @Test func endlessEmptyPagesEndAfterTheNumberThatTheCallerAskedFor() async throws {
    let (provider, server) = try OnlineODataProvider.answered { request in
      let number = Int(request.query?.dropFirst(2) ?? "0") ?? 0
      return .json(#"{"value":[],"@odata.nextLink":"Orders?n=\#(number + 1)"}"#)
    }

    let error = await #expect(throws: ODataError.self) {
      try await provider.pages(of: Order.self, in: "Orders").collect(upTo: 5)
    }

    #expect(error?.kind == .tooManyPages)
    #expect(server.requests.count == 6)
  }
}
