import MartletSemantics
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ResumeRuleTests {
  private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
  private static let secondBefore = "Sun, 06 Nov 1994 08:49:36 GMT"
  private let now = Date(timeIntervalSince1970: 784_111_777)

  // RFC 9110 §8.8.2.2, §8.8.3, §13.1.5, §14.3.
  @Test(
    arguments: [
      ("a strong entity tag", [.eTag: #""a""#], #""a""#),
      ("an empty entity tag is strong", [.eTag: #""""#], #""""#),
      ("a weak entity tag never", [.eTag: #"W/"a""#], nil),
      ("nor what is no entity tag", [.eTag: "a"], nil),
      ("nor a tag with a space", [.eTag: #""a b""#], nil),
      ("nor two", [.eTag: #""a""#, .eTag: #""b""#], nil),
      ("a date a second before the response's", [.lastModified: secondBefore, .date: date], secondBefore),
      ("not one of the same second", [.lastModified: date, .date: date], nil),
      ("not one after it", [.lastModified: date, .date: secondBefore], nil),
      ("not without the response's date", [.lastModified: secondBefore], nil),
      ("not one that is none", [.lastModified: "yesterday", .date: date], nil),
      ("the tag where there are both", [.eTag: #""a""#, .lastModified: secondBefore, .date: date], #""a""#),
      ("no date beside a weak tag", [.eTag: #"W/"a""#, .lastModified: secondBefore, .date: date], nil),
      ("nothing", [:], nil),
      ("no ranges", [.eTag: #""a""#, .acceptRanges: "none"], nil),
      ("ranges", [.eTag: #""a""#, .acceptRanges: "bytes"], #""a""#),
      ("a coding", [.eTag: #""a""#, .contentEncoding: "gzip"], nil),
      ("no coding", [.eTag: #""a""#, .contentEncoding: "identity"], #""a""#),
    ] as [(String, HTTPFields, String?)])
  func validatorIsStrongOrNone(_ sentence: String, fields: HTTPFields, validator: String?) {
    #expect(ResumeRule.validator(of: ResponseHead(status: .ok, fields: fields), now: now) == validator)
    #expect(ResumeRule.validator(of: ResponseHead(status: .notFound, fields: fields), now: now) == nil)
  }

  @Test(
    arguments: [
      ("bytes 0-499/1234", 0...499, 1234), ("bytes 500-1233/1234", 500...1233, 1234), ("bytes 0-0/1", 0...0, 1),
      ("Bytes 1-2/*", 1...2, nil), ("bytes */1234", nil, 1234), ("bytes */0", nil, 0),
    ] as [(String, ClosedRange<Int64>?, Int64?)])
  func contentRangeIsRead(_ text: String, bytes: ClosedRange<Int64>?, size: Int64?) throws {
    let range = try #require(ContentRange(text))
    #expect(range.bytes == bytes)
    #expect(range.size == size)
  }

  // RFC 9110 §14.4: a last byte before the first, or a size that is not larger than the last byte, is invalid.
  @Test(arguments: [
    "", "bytes", "bytes */*", "bytes 5-4/10", "bytes 0-9/9", "bytes 0-9/", "bytes -9/10", "bytes 0-/10", "lines 0-9/10",
    "bytes 0-9", "bytes=0-9/10", "bytes +0-9/10", "bytes 0-9/-1", "bytes 0-99999999999999999999/*", "bytes 0-1, 2-3/9",
  ])
  func invalidContentRangesAreNil(_ text: String) { #expect(ContentRange(text) == nil) }

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let status: HTTPStatus
    let fields: HTTPFields
    let decision: ResumeRule.Decision

    init(_ sentence: String, _ status: HTTPStatus, _ fields: HTTPFields, _ decision: ResumeRule.Decision) {
      testDescription = sentence
      self.status = status
      self.fields = fields
      self.decision = decision
    }
  }

  /// 100 of 300 bytes have been received, with the tag "a".
  @Test(arguments: [
    Row("the rest", 206, [.contentRange: "bytes 100-299/300", .eTag: #""a""#], .append(size: 300)),
    Row("the rest of an untold size", 206, [.contentRange: "bytes 100-299/*", .eTag: #""a""#], .append(size: 300)),
    Row(
      "more than its range", 206,
      [.contentRange: "bytes 100-199/300", .contentLength: "200", .eTag: #""a""#], .restart),
    Row(
      "as much as its range", 206,
      [.contentRange: "bytes 100-199/300", .contentLength: "100", .eTag: #""a""#], .append(size: 300)),
    Row("a part of the rest", 206, [.contentRange: "bytes 100-199/300", .eTag: #""a""#], .append(size: 300)),
    Row("another tag", 206, [.contentRange: "bytes 100-299/300", .eTag: #""b""#], .restart),
    Row("the tag made weak", 206, [.contentRange: "bytes 100-299/300", .eTag: #"W/"a""#], .restart),
    Row("no tag", 206, [.contentRange: "bytes 100-299/300"], .restart),
    Row("another size", 206, [.contentRange: "bytes 100-299/301", .eTag: #""a""#], .restart),
    Row("another place", 206, [.contentRange: "bytes 101-299/300", .eTag: #""a""#], .restart),
    Row("from the beginning", 206, [.contentRange: "bytes 0-299/300", .eTag: #""a""#], .restart),
    Row("no place", 206, [.eTag: #""a""#], .restart),
    Row("several places", 206, [.contentType: "multipart/byteranges; boundary=B", .eTag: #""a""#], .restart),
    Row("a coding", 206, [.contentRange: "bytes 100-299/300", .eTag: #""a""#, .contentEncoding: "gzip"], .restart),
    Row("the whole", 200, [.eTag: #""b""#], .whole),
    Row("the whole, with the same tag: ranges are refused", 200, [.eTag: #""a""#], .whole),
    Row("nothing missing, says a 416", 416, [.contentRange: "bytes */100"], .restart),
    Row("another size in a 416", 416, [.contentRange: "bytes */300"], .restart),
    Row("a 416 without a size", 416, [:], .restart),
    Row("an error", 503, [:], .other), Row("not found", 404, [:], .other), Row("unauthorised", 401, [:], .other),
    Row("a redirect", 302, [:], .other),
  ])
  func responsesContinueReplaceOrRestartADownload(_ row: Row) {
    let point = ResumePoint(count: 100, validator: #""a""#, size: 300)
    #expect(ResumeRule.decide(ResponseHead(status: row.status, fields: row.fields), after: point) == row.decision)
  }

  /// 100 bytes of an unknown size have been received, with a date.
  @Test(arguments: [
    Row("complete", 416, [.contentRange: "bytes */100"], .complete),
    Row("complete, and the same", 416, [.contentRange: "bytes */100", .lastModified: secondBefore], .complete),
    Row("complete, but another", 416, [.contentRange: "bytes */100", .lastModified: date], .restart),
    Row("too much", 416, [.contentRange: "bytes */99"], .restart),
    Row("a 416 with bytes", 416, [.contentRange: "bytes 0-99/100"], .restart),
    Row("the rest", 206, [.contentRange: "bytes 100-299/300", .lastModified: secondBefore], .append(size: 300)),
    Row(
      "as much as the server likes to send, of nobody knows how much", 206,
      [.contentRange: "bytes 100-199/*", .lastModified: secondBefore], .restart),
    Row("the rest of another", 206, [.contentRange: "bytes 100-299/300", .lastModified: date], .restart),
    Row("the rest without a date", 206, [.contentRange: "bytes 100-299/300", .eTag: #""a""#], .restart),
  ])
  func responsesAreComparedWithTheDate(_ row: Row) {
    let point = ResumePoint(count: 100, validator: Self.secondBefore, size: nil)
    #expect(ResumeRule.decide(ResponseHead(status: row.status, fields: row.fields), after: point) == row.decision)
  }

  @Test(
    arguments: [(200, .whole), (206, .other), (204, .whole), (416, .other), (404, .other)]
      as [(Int, ResumeRule.Decision)])
  func aRequestForEverythingGetsTheWholeBody(_ status: Int, _ decision: ResumeRule.Decision) throws {
    let head = ResponseHead(status: HTTPStatus(status), fields: [.contentRange: "bytes 0-1/2"])
    #expect(ResumeRule.decide(head, after: nil) == decision)
  }

  @Test func theRestIsRequestedWithTheValidator() {
    let point = ResumePoint(count: 100, validator: #""a""#, size: nil)
    #expect(point.fields == [.range: "bytes=100-", .ifRange: #""a""#])
  }
}
