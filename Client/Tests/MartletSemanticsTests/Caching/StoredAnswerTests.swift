import MartletSemantics
import Testing

/// RFC 9111 §4.3.2, §5.1, RFC 9110 §13 and §14.
struct StoredAnswerTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let stored: HTTPFields
    let asks: HTTPFields
    let status: HTTPStatus

    init(_ what: String, _ stored: HTTPFields, _ asks: HTTPFields, _ status: HTTPStatus) {
      testDescription = what
      self.stored = stored
      self.asks = asks
      self.status = status
    }
  }

  private func answer(_ stored: StoredResponse, _ request: RequestHead, isConfirmed: Bool = false) -> StoredAnswer {
    StoredAnswer(
      of: stored, length: 10, to: request, at: arrival.addingTimeInterval(5.9), isConfirmed: isConfirmed)
  }

  @Test(arguments: [
    Row("no condition", [.eTag: "\"a\""], [:], 200),
    Row("the tag", [.eTag: "\"a\""], [.ifNoneMatch: "\"a\""], 304),
    Row("another tag", [.eTag: "\"a\""], [.ifNoneMatch: "\"b\""], 200),
    Row("one of several tags", [.eTag: "\"a\""], [.ifNoneMatch: "\"1\", \"a\", \"2\""], 304),
    Row("a tag with a comma", [.eTag: "\"a,b\""], [.ifNoneMatch: "\"a,b\""], 304),
    Row("weak against strong", [.eTag: "\"a\""], [.ifNoneMatch: "W/\"a\""], 304),
    Row("strong against weak", [.eTag: "W/\"a\""], [.ifNoneMatch: "\"a\""], 304),
    Row("any tag", [.eTag: "\"a\""], [.ifNoneMatch: "*"], 304),
    Row("a quoted tag and none", [.eTag: "\"a\""], [.ifNoneMatch: "a"], 200),
    Row("the date", [.lastModified: moment(-100)], [.ifModifiedSince: moment(-100)], 304),
    Row("a later date", [.lastModified: moment(-100)], [.ifModifiedSince: moment(-50)], 304),
    Row("an earlier date", [.lastModified: moment(-100)], [.ifModifiedSince: moment(-200)], 200),
    Row("a date, against Date", [.date: moment(-5)], [.ifModifiedSince: moment(-5)], 304),
    Row("a date before Date", [.date: moment(-5)], [.ifModifiedSince: moment(-3000)], 200),
    Row("no date at all", [.lastModified: moment(-100)], [.ifModifiedSince: "yesterday"], 200),
    Row(
      "the tag decides before the date", [.eTag: "\"a\"", .lastModified: moment(-100)],
      [.ifNoneMatch: "\"b\"", .ifModifiedSince: moment(0)], 200),
    Row(
      "the tag decides even where the date is older", [.eTag: "\"a\"", .lastModified: moment(-100)],
      [.ifNoneMatch: "\"a\"", .ifModifiedSince: moment(-500)], 304),
    Row("a range", [:], [.range: "bytes=2-4"], 206),
    Row("a range beyond the end", [:], [.range: "bytes=10-"], 416),
    Row("a range beyond the end with another tag", [.eTag: "\"a\""], [.range: "bytes=10-", .ifRange: "\"b\""], 200),
    Row("several ranges", [:], [.range: "bytes=0-1,3-4"], 200),
    Row("a range with its tag", [.eTag: "\"a\""], [.range: "bytes=2-4", .ifRange: "\"a\""], 206),
    Row("a range with another tag", [.eTag: "\"a\""], [.range: "bytes=2-4", .ifRange: "\"b\""], 200),
    Row("a range with a weak tag", [.eTag: "W/\"a\""], [.range: "bytes=2-4", .ifRange: "W/\"a\""], 200),
    Row("a range with its date", [.lastModified: moment(-100)], [.range: "bytes=2-4", .ifRange: moment(-100)], 206),
    Row("a range with a later date", [.lastModified: moment(-100)], [.range: "bytes=2-4", .ifRange: moment(-50)], 200),
    Row(
      "a range with a date too young to be strong", [.lastModified: moment(0)],
      [.range: "bytes=2-4", .ifRange: moment(0)], 200),
    Row("an unknown unit", [:], [.range: "lines=2-4"], 200),
    Row("a condition before a range", [.eTag: "\"a\""], [.range: "bytes=2-4", .ifNoneMatch: "\"a\""], 304),
  ])
  func conditionsAndRangesOfTheCaller(row: Row) {
    #expect(answer(StoredResponse(row.stored), RequestHead(row.asks)).head.status == row.status)
  }

  @Test(
    arguments: [
      ("bytes=0-1", .part(0..<2)), ("bytes=1-", .part(1..<10)), ("bytes=-1", .part(9..<10)),
      ("bytes=-100", .part(0..<10)),
      ("BYTES=0-0", .part(0..<1)), ("bytes=8-99", .part(8..<10)), ("bytes=8-99999999999999999999", .part(8..<10)),
      ("bytes= 0-1 ", .part(0..<2)), ("bytes=10-", .unsatisfiable), ("bytes=-0", .unsatisfiable),
      ("bytes=0-1, 4-5", .other),
      ("bytes=5-2", .whole), ("bytes=a-b", .whole), ("bytes=-", .whole), ("bytes=5", .whole), ("bytes", .whole),
      ("seconds=1-2", .whole), ("bytes=", .whole),
    ] as [(String, RangeRule.Request)])
  func rangesOfTenBytes(field: String, expected: RangeRule.Request) {
    #expect(RangeRule.read([.range: field], length: 10) == expected)
  }

  /// RFC 9110 §14.1.2.
  @Test(
    arguments: [("bytes=-5", .whole), ("bytes=0-", .unsatisfiable), ("bytes=-0", .unsatisfiable)]
      as [(String, RangeRule.Request)])
  func rangesOfNoBytes(field: String, expected: RangeRule.Request) {
    #expect(RangeRule.read([.range: field], length: 0) == expected)
  }

  @Test func a206HasContentRange() {
    let part = answer(StoredResponse([.contentLength: "10", .eTag: "\"a\""]), RequestHead([.range: "bytes=2-4"]))

    #expect(part.range == 2..<5)
    #expect(part.head.fields[.contentRange] == "bytes 2-4/10")
    #expect(part.head.fields[.contentLength] == "3")
    #expect(part.head.fields[.eTag] == "\"a\"")
  }

  @Test func rangesOfDecodedBodiesAreUpToTheOrigin() {
    let request = RequestHead([.range: "bytes=0-1"])

    #expect(!StoredAnswer.canAnswer(request, with: StoredResponse([:], isDecoded: true), length: 10))
    #expect(StoredAnswer.canAnswer(request, with: StoredResponse([:]), length: 10))
  }

  @Test func a304KeepsTheFieldsThatCachesNeed() {
    let stored = StoredResponse([
      .eTag: "\"a\"", .cacheControl: "max-age=5", .contentLength: "10", .contentType: "text/plain", .vary: "X",
    ])

    let answer = answer(stored, RequestHead([.ifNoneMatch: "\"a\""]))

    #expect(answer.range.isEmpty)
    #expect(answer.head.fields.map { $0.name } == [.eTag, .cacheControl, .vary, .age])
  }

  @Test func responsesHaveAnAge() {
    #expect(answer(StoredResponse([.age: "30"]), RequestHead([:])).head.fields[values: .age] == ["35"])
    #expect(answer(StoredResponse([:]), RequestHead([:])).head.fields[.age] == "5")
  }

  @Test func aHEADHasNoBody() {
    let answer = answer(StoredResponse([.contentLength: "10"]), RequestHead([:], .head))

    #expect(answer.range.isEmpty)
    #expect(answer.head.fields[.contentLength] == "10")
  }

  @Test func fieldsThatNeedValidationAreOmittedBefore() {
    let stored = StoredResponse([.cacheControl: "max-age=60, no-cache=\"A, b\"", "A": "1", "B": "2", "C": "3"])

    #expect(answer(stored, RequestHead([:])).head.fields.map { $0.name } == [.cacheControl, "C", .age])
    #expect(answer(stored, RequestHead([:]), isConfirmed: true).head.fields["A"] == "1")
  }
}
