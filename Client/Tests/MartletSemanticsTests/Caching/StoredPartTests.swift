import MartletSemantics
import Testing

/// RFC 9111 §3.3 and §3.4, RFC 9110 §15.3.7.
struct StoredPartTests {
  private static func part(_ range: String, tag: String = "\"a\"") throws -> StoredPart {
    let fields: HTTPFields = [.contentRange: "bytes \(range)", .eTag: tag]
    return try #require(StoredPart(of: ResponseHead(status: .partialContent, fields: fields), receivedAt: arrival))
  }

  @Test(
    arguments: [
      (206, [.contentRange: "bytes 0-4/10", .eTag: "\"a\""], true),
      (206, [.contentRange: "bytes 0-4/10", .eTag: "\"a\"", .contentLength: "5"], true),
      (206, [.contentRange: "bytes 0-4/10", .lastModified: moment(-60), .date: moment(0)], true),
      (200, [.contentRange: "bytes 0-4/10", .eTag: "\"a\""], false), (206, [.eTag: "\"a\""], false),
      (206, [.contentRange: "bytes 0-4/10"], false), (206, [.contentRange: "bytes 0-4/10", .eTag: "W/\"a\""], false),
      (206, [.contentRange: "bytes 0-4/10", .lastModified: moment(0), .date: moment(0)], false),
      (206, [.contentRange: "bytes 0-4/10", .lastModified: moment(-60)], false),
      (206, [.contentRange: "bytes 0-4/*", .eTag: "\"a\""], false),
      (206, [.contentRange: "lines 0-4/10", .eTag: "\"a\""], false),
      (206, [.contentRange: "bytes 4-0/10", .eTag: "\"a\""], false),
      (206, [.contentRange: "bytes 0-4/10", .contentRange: "bytes 5-9/10", .eTag: "\"a\""], false),
      (206, [.contentRange: "bytes 0-4/10", .eTag: "\"a\"", .contentLength: "6"], false),
      (206, [.contentRange: "bytes 0-4/10", .eTag: "\"a\"", .contentEncoding: "gzip"], false),
      (206, [.contentRange: "bytes 0-9223372036854775807/9223372036854775807", .eTag: "\"a\""], false),
    ] as [(HTTPStatus, HTTPFields, Bool)])
  func onePartWithAStrongValidatorCanBeStored(status: HTTPStatus, fields: HTTPFields, canBeStored: Bool) {
    let head = ResponseHead(status: status, fields: fields)

    #expect((StoredPart(of: head, receivedAt: arrival) != nil) == canBeStored)
  }

  @Test(
    arguments: [
      ("0-4/10", "5-9/10", 0..<10), ("5-9/10", "0-4/10", 0..<10), ("0-4/10", "3-6/10", 0..<7),
      ("0-9/10", "3-6/10", 0..<10), ("0-4/10", "6-9/10", nil), ("6-9/10", "0-4/10", nil), ("0-4/10", "5-9/11", nil),
    ] as [(String, String, Range<Int64>?)])
  func partsThatTouchAreJoined(one: String, other: String, range: Range<Int64>?) throws {
    #expect(try Self.part(one).joined(with: Self.part(other))?.range == range)
    #expect(try Self.part(one).joined(with: Self.part(other, tag: "\"b\"")) == nil)
  }

  @Test(
    arguments: [("0-4/10", "bytes=5-"), ("4-9/10", "bytes=0-3"), ("4-5/10", nil)] as [(String, String?)])
  func theRestIsRequestedIfItIsOneRange(part: String, range: String?) throws {
    let fields = try Self.part(part).fieldsForRest

    #expect(fields?[.range] == range)
    #expect(fields?[.ifRange] == (range == nil ? nil : "\"a\""))
  }

  enum Expected: Sendable { case store, whole, extend, update, complete, again, remove, ignore }

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The range of the caller; nil for the whole. The stored part is 2-5 of 10, or 0-5 for the whole.
    var asks: String?
    var status: HTTPStatus = .partialContent
    var range: String?
    var tag = "\"a\""
    var control = "max-age=60"
    let expected: Expected
  }

  @Test(arguments: [
    Row(testDescription: "the next bytes", asks: "6-9", range: "6-9/10", expected: .extend),
    Row(testDescription: "bytes around it", asks: "0-9", range: "0-9/10", expected: .extend),
    Row(testDescription: "bytes within it", asks: "3-4", range: "3-4/10", expected: .update),
    Row(testDescription: "bytes far from it", asks: "8-9", range: "8-9/10", expected: .store),
    Row(
      testDescription: "bytes of another representation", asks: "6-9", range: "6-9/10", tag: "\"b\"", expected: .store),
    Row(testDescription: "all bytes of another one", asks: "0-", range: "0-9/10", tag: "\"b\"", expected: .whole),
    Row(testDescription: "a weak tag", asks: "6-9", range: "6-9/10", tag: "W/\"a\"", expected: .ignore),
    Row(testDescription: "no-store", asks: "6-9", range: "6-9/10", control: "no-store", expected: .ignore),
    Row(testDescription: "the whole instead of a range", asks: "6-9", status: .ok, expected: .whole),
    Row(
      testDescription: "beyond the end", asks: "10-", status: .rangeNotSatisfiable, control: "no-store",
      expected: .ignore),
    Row(testDescription: "gone", asks: "6-9", status: .gone, control: "no-store", expected: .remove),
    Row(testDescription: "the rest", range: "6-9/10", expected: .complete),
    Row(testDescription: "the rest, not to be stored", range: "6-9/10", control: "no-store", expected: .complete),
    Row(testDescription: "less than the rest", range: "6-8/10", expected: .again),
    Row(testDescription: "more than the rest", range: "5-9/10", expected: .again),
    Row(testDescription: "the rest of another representation", range: "6-9/10", tag: "\"b\"", expected: .again),
    Row(testDescription: "the rest of a longer one", range: "6-10/11", expected: .again),
    Row(testDescription: "no rest", status: .rangeNotSatisfiable, expected: .again),
    Row(testDescription: "the whole instead of the rest", status: .ok, expected: .whole),
    Row(testDescription: "an error instead of the rest", status: .badGateway, control: "no-store", expected: .ignore),
  ])
  func aResponseIsCombinedWithTheStoredPart(row: Row) throws {
    var stored = StoredResponse(
      [.contentRange: row.asks == nil ? "bytes 0-5/10" : "bytes 2-5/10", .eTag: "\"a\"", .cacheControl: "max-age=60"],
      status: .partialContent)
    stored.head.fields[.contentType] = "text/plain"
    var request = RequestHead([:])
    request.fields[.range] = row.asks.map { "bytes=\($0)" }
    let plan = CachePlan.make(
      for: request, policy: .reloadRevalidatingCacheData, stored: [StoredCandidate(stored, length: 4)], at: arrival)
    var context = CacheUpdate.Context(
      request: request, sent: request, policy: .useProtocolCachePolicy, requestTime: arrival)
    context.part = stored
    if case .combine(_, let sent) = plan { context.sent = sent }
    if row.asks == nil { #expect(context.sent.fields[.range] == "bytes=6-") }
    var fields: HTTPFields = [.cacheControl: row.control, .eTag: row.tag]
    fields[.contentRange] = row.range.map { "bytes \($0)" }

    let update = CacheUpdate.of(
      ResponseHead(status: row.status, fields: fields), to: context, at: arrival, isDecoded: false)

    #expect(Self.kind(of: update) == row.expected)
    if case .known(.complete(let whole, let isStored)) = update {
      #expect(whole.head.status == .ok)
      #expect(whole.head.fields[.contentLength] == "10")
      #expect(whole.head.fields[.contentRange] == nil)
      #expect(whole.head.fields[.contentType] == "text/plain")
      #expect(isStored == (row.control != "no-store"))
    }
  }

  private static func kind(of update: CacheUpdate) -> Expected? {
    switch update {
    case .store(let stored): stored.part == nil ? .whole : .store
    case .known(.extend): .extend
    case .known(.update): .update
    case .known(.complete): .complete
    case .repeatWithoutConditions: .again
    case .known(.remove): .remove
    case .ignore: .ignore
    default: nil
    }
  }
}
