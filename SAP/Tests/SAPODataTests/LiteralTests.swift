@_spi(Toolkit) import SAPFoundation
import Foundation
import Testing

@testable import SAPOData

@Suite("OData literals")
struct LiteralTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let literal: ODataLiteral
    let v2: String
    let v4: String
    var testDescription: String { v2 }
  }

  static let id = UUID(uuid: (0x11, 0x11, 0x11, 0x11, 0x22, 0x22, 0x33, 0x33, 0x44, 0x44, 0xAB, 0, 0, 0, 0, 0xFF))
  static let date = Date(timeIntervalSince1970: 1_767_225_600.25)  // 2026-01-01T00:00:00.25Z

  static let cases: [Case] = [
    Case(literal: .null, v2: "null", v4: "null"),
    Case(literal: true, v2: "true", v4: "true"),
    Case(literal: 42, v2: "42", v4: "42"),
    Case(literal: .int64(.min), v2: "-9223372036854775808L", v4: "-9223372036854775808"),
    Case(literal: "O'Neil's", v2: "'O''Neil''s'", v4: "'O''Neil''s'"),
    Case(literal: "", v2: "''", v4: "''"),
    // The accent makes one `Character` of itself and the quotation mark.
    Case(literal: "a'\u{301} or 1 eq 1", v2: "'a''\u{301} or 1 eq 1'", v4: "'a''\u{301} or 1 eq 1'"),
    Case(
      literal: .decimal(decimal("12345678901234567890.123456789")), v2: "12345678901234567890.123456789M",
      v4: "12345678901234567890.123456789"),
    Case(literal: .double(1.5), v2: "1.5d", v4: "1.5"),
    Case(literal: .double(-.infinity), v2: "-INF", v4: "-INF"),
    Case(
      literal: .guid(id), v2: "guid'11111111-2222-3333-4444-ab00000000ff'", v4: "11111111-2222-3333-4444-ab00000000ff"),
    Case(literal: .dateTime(date), v2: "datetime'2026-01-01T00:00:00.25'", v4: "2026-01-01T00:00:00.25Z"),
    Case(
      literal: .dateTimeOffset(ODataDateTimeOffset(date, offset: 90)),
      v2: "datetimeoffset'2026-01-01T01:30:00.25+01:30'", v4: "2026-01-01T01:30:00.25+01:30"),
    Case(
      literal: .duration(.seconds(Int64.min)), v2: "time'-PT2562047788015215H30M8S'",
      v4: "duration'-PT2562047788015215H30M8S'"),
    Case(
      literal: .duration(.seconds(Int64.max)), v2: "time'PT2562047788015215H30M7S'",
      v4: "duration'PT2562047788015215H30M7S'"),
    Case(literal: .duration(.milliseconds(-1500)), v2: "time'-PT0H0M1.5S'", v4: "duration'-PT0H0M1.5S'"),
    Case(
      literal: .dateTimeOffset(ODataDateTimeOffset(date, offset: .min)),
      v2: "datetimeoffset'2025-12-31T00:01:00.25-23:59'", v4: "2025-12-31T00:01:00.25-23:59"),
    Case(literal: .day(ODataDay(date)), v2: "datetime'2026-01-01T00:00:00'", v4: "2026-01-01"),
    Case(literal: .time(time(13, 5)), v2: "time'PT13H5M0S'", v4: "13:05:00"),
    Case(literal: .duration(.seconds(-3661)), v2: "time'-PT1H1M1S'", v4: "duration'-PT1H1M1S'"),
    Case(literal: .binary(Data([0xFB, 0xFF, 0x01])), v2: "binary'FBFF01'", v4: "binary'-_8B'"),
    Case(literal: .member("Red", of: "Shop.Color"), v2: "Shop.Color'Red'", v4: "Shop.Color'Red'"),
    Case(literal: .raw("now()"), v2: "now()", v4: "now()"),
  ]

  @Test("A literal has the text of its version", arguments: cases)
  func literalHasTheTextOfItsVersion(row: Case) {
    #expect(row.literal.text(.v2) == row.v2)
    #expect(row.literal.text(.v4) == row.v4)
  }

  @Test func literalInABodyIsJSON() throws {
    let body: [String: ODataLiteral] = [
      "A": .null, "B": .decimal(1.5), "C": .int64(7), "D": .day(ODataDay(Self.date)), "E": "x", "F": 3, "G": .double(2),
      "H": .time(time(1, 2)),
    ]

    let v2 = try ODataEncoder.encode(body, ODataFormat(.v2)).json()
    let v4 = try ODataEncoder.encode(body, ODataFormat(.v4)).json()
    let plain = try ODataEncoder.encode(body, ODataFormat(.v4, quotesNumbers: false)).json()

    #expect(
      v2
        == #"{"A":null,"B":"1.5","C":"7","D":"/Date(1767225600000)/","E":"x","F":3,"G":"2.0","H":"PT1H2M0S"}"#)
    #expect(v4 == #"{"A":null,"B":"1.5","C":"7","D":"2026-01-01","E":"x","F":3,"G":2.0,"H":"01:02:00"}"#)
    #expect(plain == #"{"A":null,"B":1.5,"C":7,"D":"2026-01-01","E":"x","F":3,"G":2.0,"H":"01:02:00"}"#)
  }
}
