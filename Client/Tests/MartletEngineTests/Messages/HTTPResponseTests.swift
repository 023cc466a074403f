import MartletSemantics
import Testing

@testable import MartletEngine

/// A response is a value, although its copies share their parts.
@Suite(.timeLimit(.minutes(5)))
struct HTTPResponseTests {
  private func response() throws -> HTTPResponse {
    let url = try #require(URL(string: "https://host.example/a"))
    let head = ResponseHead(status: .ok, fields: ["X-A": "1"], version: .http2)
    return HTTPResponse(url: url, networkHead: head, body: ResponseBody(Data([1])))
  }

  @Test func aChangedCopyLeavesTheOriginalAsItWas() throws {
    let original = try response()
    var copy = original

    copy.fields["X-A"] = "2"
    copy.fields.append("3", for: "X-B")
    copy.status = .notFound
    copy.url = try #require(URL(string: "https://host.example/b"))
    copy.source = .cache
    copy.networkHead = nil
    copy.history = [AttemptRecord(request: RequestHead(url: original.url), response: nil, reason: "redirect")]

    #expect(original.head == ResponseHead(status: .ok, fields: ["X-A": "1"], version: .http2))
    #expect(original.networkHead == original.head)
    #expect(original.url.path == "/a")
    #expect(original.source == .network)
    #expect(original.history.isEmpty)
    #expect(copy.head == ResponseHead(status: .notFound, fields: ["X-A": "2", "X-B": "3"], version: .http2))
    #expect(copy.networkHead == nil)
    #expect(copy.url.path == "/b")
    #expect(copy.source == .cache)
    #expect(copy.history.count == 1)
  }

  @Test func aReplacedBodyIsThatOfTheCopyOnly() async throws {
    let original = try response()
    var copy = original

    copy.body = ResponseBody(Data([2, 3]))

    #expect(try await original.body.collect(upTo: 10) == Data([1]))
    #expect(try await copy.body.collect(upTo: 10) == Data([2, 3]))
  }
}
