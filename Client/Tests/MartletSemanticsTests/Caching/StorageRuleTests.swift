import MartletSemantics
import Testing

/// RFC 9111 §3.
struct StorageRuleTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var request = RequestHead(url: origin)
    var response: ResponseHead
    let isStored: Bool

    init(
      _ what: String, _ fields: HTTPFields, status: HTTPStatus = .ok, method: HTTPMethod = .get,
      asked: HTTPFields = [:], _ isStored: Bool
    ) {
      testDescription = what
      request.method = method
      request.fields = asked
      response = ResponseHead(status: status, fields: fields)
      self.isStored = isStored
    }
  }

  @Test(arguments: [
    Row("explicit freshness", [.cacheControl: "max-age=60"], true),
    Row("Expires", [.expires: moment(60)], true),
    Row("private, in a private cache", [.cacheControl: "private, max-age=60"], true),
    Row("private fields, in a private cache", [.cacheControl: "private=\"X\", max-age=60"], true),
    Row("no-store", [.cacheControl: "no-store"], false),
    Row("no-store in odd case", [.cacheControl: "No-StOrE"], false),
    Row("no-store beats max-age", [.cacheControl: "max-age=60, no-store", .expires: moment(60)], false),
    Row("no-store in the request", [.cacheControl: "max-age=60"], asked: [.cacheControl: "no-store"], false),
    Row("must-understand beats no-store", [.cacheControl: "max-age=60, no-store, must-understand"], true),
    Row(
      "must-understand for an unknown status", [.cacheControl: "max-age=60, no-store, must-understand"], status: 599,
      false),
    Row("no-cache with a validator", [.cacheControl: "no-cache", .eTag: "\"a\""], true),
    Row("no-cache without anything", [.cacheControl: "no-cache"], false),
    Row("nothing said and no validator", [:], false),
    Row("a tag alone", [.eTag: "\"a\""], true),
    Row("a date alone", [.lastModified: moment(-1000)], true),
    Row("max-age=0 without a validator", [.cacheControl: "max-age=0"], false),
    Row("max-age=0 with a validator", [.cacheControl: "max-age=0", .eTag: "\"a\""], true),
    Row("stale at once, but allowed for a while", [.cacheControl: "max-age=0, stale-if-error=60"], true),
    Row("Vary: *", [.cacheControl: "max-age=60", .vary: "*"], false),
    Row("Vary: Foo, *", [.cacheControl: "max-age=60", .vary: "Foo, *"], false),
    Row("Vary: , *", [.cacheControl: "max-age=60", .vary: "", .vary: "*"], false),
    Row(
      "an answer to credentials, in a private cache", [.cacheControl: "max-age=60"],
      asked: [.authorization: "Bearer t"], true),
    Row("a part", [.cacheControl: "max-age=60", .contentRange: "bytes 0-1/2"], status: 206, false),
    Row("304", [.cacheControl: "max-age=60"], status: 304, false),
    Row("412, about a condition", [.cacheControl: "max-age=60"], status: 412, false),
    Row("416, about a range", [.cacheControl: "max-age=60"], status: 416, false),
    Row("103", [.cacheControl: "max-age=60"], status: 103, false),
    Row("an unknown status with explicit freshness", [.cacheControl: "max-age=60"], status: 499, true),
    Row("500 with explicit freshness", [.cacheControl: "max-age=60"], status: 500, true),
    Row("302 with a tag alone", [.eTag: "\"a\""], status: 302, false),
    Row("302 with explicit freshness", [.cacheControl: "max-age=60"], status: 302, true),
    Row("403 with a date alone", [.lastModified: moment(-1000)], status: 403, false),
    Row("599 that is public, with a date", [.cacheControl: "public", .lastModified: moment(-1000)], status: 599, true),
    Row("HEAD", [.cacheControl: "max-age=60"], method: .head, false),
    Row("OPTIONS", [.cacheControl: "max-age=60"], method: .options, false),
    Row("POST", [.cacheControl: "max-age=60"], method: .post, false),
    Row("POST that answers for its target", [.cacheControl: "max-age=60", .contentLocation: "/"], method: .post, true),
    Row("POST that answers for another", [.cacheControl: "max-age=60", .contentLocation: "/b"], method: .post, false),
    Row("POST without explicit freshness", [.eTag: "\"a\"", .contentLocation: "/"], method: .post, false),
    Row("CDN-Cache-Control", ["CDN-Cache-Control": "max-age=60"], false),
  ])
  func responsesAreStoredIfAllowedAndUseful(row: Row) {
    #expect((StorageRule.refusal(of: row.response, to: row.request, receivedAt: arrival) == nil) == row.isStored)
  }

  struct Refusal: Sendable {
    let fields: HTTPFields
    var status = HTTPStatus.ok
    var asked: HTTPFields = [:]
    let rule: String
  }

  @Test(arguments: [
    Refusal(fields: [:], status: .notModified, rule: "RFC 9111 §4.3.2"),
    Refusal(fields: [:], status: .preconditionFailed, rule: "RFC 9111 §3"),
    Refusal(fields: [.contentRange: "bytes 0-1/2"], status: .partialContent, rule: "RFC 9111 §3.3"),
    Refusal(fields: [.cacheControl: "no-store"], rule: "RFC 9111 §5.2.2.5"),
    Refusal(fields: [.cacheControl: "must-understand"], status: 599, rule: "RFC 9111 §5.2.2.3"),
    Refusal(fields: [.cacheControl: "max-age=60"], asked: [.cacheControl: "no-store"], rule: "RFC 9111 §5.2.1.5"),
    Refusal(fields: [.vary: "*"], rule: "RFC 9111 §4.1"),
    Refusal(fields: [.cacheControl: "max-age=60"], asked: [.authorization: "Digest x"], rule: "RFC 9111 §3.5"),
    Refusal(fields: [.eTag: "\"a\""], status: 302, rule: "RFC 9111 §3"),
    Refusal(fields: [:], rule: "RFC 9111 §4.2"),
  ])
  func theReasonOfARefusalNamesItsRule(row: Refusal) {
    let response = ResponseHead(status: row.status, fields: row.fields)

    let refusal = StorageRule.refusal(of: response, to: RequestHead(row.asked), receivedAt: arrival)

    #expect(refusal.map { CacheReason($0).rule } == row.rule)
  }

  @Test func staleResponsesAreStoredIfTheCallerUsesThem() {
    let head = ResponseHead(status: .ok)

    let request = RequestHead(url: origin)
    #expect(StorageRule.refusal(of: head, to: request, receivedAt: arrival, wantsStale: true) == nil)
  }

  @Test func fieldsOfTheConnectionAreNotStored() {
    let fields: HTTPFields = [
      .connection: "a, B", "A": "1", "B": "2", "C": "3", "Keep-Alive": "5", "Proxy-Connection": "x", .te: "x",
      .transferEncoding: "chunked", .upgrade: "h2c", .trailer: "X", .proxyAuthenticate: "Basic",
      "Proxy-Authentication-Info": "x", .proxyAuthorization: "x", .setCookie: "a=b", .wwwAuthenticate: "Basic",
      .contentLength: "10",
    ]

    let stored = StorageRule.storedFields(of: fields)

    #expect(stored.map { $0.name } == ["C", .setCookie, .wwwAuthenticate, .contentLength])
  }
}
