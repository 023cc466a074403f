import Foundation
@_spi(Toolkit) import SAPFoundation
import Testing

@_spi(Toolkit) @testable import SAPOData

@Suite("OData values")
struct CodingTests {
  struct Everything: Codable, Equatable {
    struct Item: Codable, Equatable { var name: String }

    var id: Int64
    var price: Decimal
    var weight: Double
    var at: Date
    var offset: ODataDateTimeOffset
    var day: ODataDay
    var time: ODataTime
    var length: Duration
    var key: UUID
    var bytes: Data
    var isOpen: Bool
    var count: Int
    var note: String?
    var items: [Item]
  }

  static let value = Everything(
    id: 9_007_199_254_740_993, price: decimal("0.1234567890123456789"), weight: 1.5,
    at: Date(timeIntervalSince1970: 1_767_225_600.125),
    offset: ODataDateTimeOffset(Date(timeIntervalSince1970: 1_767_225_600), offset: -330),
    day: ODataDay(Date(timeIntervalSince1970: 1_772_236_800)), time: time(13, 5, 7),
    length: .milliseconds(93_784_500), key: LiteralTests.id, bytes: Data([0xFB, 0xFF, 0x01]), isOpen: true, count: -3,
    note: nil, items: [.init(name: "Tea")])

  static let formats = [ODataFormat(.v2), ODataFormat(.v4), ODataFormat(.v4, quotesNumbers: false)]

  @Test("A value comes back as it was written", arguments: formats)
  func valueComesBackAsItWasWritten(format: ODataFormat) throws {
    let json = try ODataEncoder.encode(Self.value, format)

    let read = try ODataDecoder.decode(Everything.self, from: ODataJSON(Data(json.json().utf8)))

    #expect(read == Self.value)
  }

  @Test("An offset of a day or more is written as one that can be read", arguments: formats, [Int.min, 1440, .max])
  func offsetOfADayOrMoreIsWrittenAsOneThatCanBeRead(format: ODataFormat, offset: Int) throws {
    let date = Date(timeIntervalSince1970: 1_767_225_600)

    let json = try ODataEncoder.encode(ODataDateTimeOffset(date, offset: offset), format)
    let read = try ODataDecoder.decode(ODataDateTimeOffset.self, from: json)

    #expect(read == ODataDateTimeOffset(date, offset: offset < 0 ? -1439 : 1439))
  }

  @Test func gatewayWritesV2AndItIsRead() throws {
    let text = #"""
      {"id":"9007199254740993","price":"0.1234567890123456789","weight":"1.5","at":"\/Date(1767225600125)\/",
      "offset":"/Date(1767225600000-0330)/","day":"/Date(1772236800000)/","time":"PT13H05M07S","length":"P1DT2H3M4.5S",
      "key":"11111111-2222-3333-4444-AB00000000FF","bytes":"+/8B","isOpen":true,"count":-3,"note":null,
      "items":{"results":[{"name":"Tea"}]},"__metadata":{"uri":"x"}}
      """#

    #expect(try ODataDecoder.decode(Everything.self, from: ODataJSON(Data(text.utf8))) == Self.value)
  }

  @Test func linkToWhatWasNotExpandedIsNil() throws {
    struct Order: Decodable { var items: [String]? }

    let json = try ODataJSON(Data(#"{"items":{"__deferred":{"uri":"http://x"}}}"#.utf8))

    #expect(try ODataDecoder.decode(Order.self, from: json).items == nil)
  }

  @Test(
    "Decimals are read without loss or not at all",
    arguments: [
      ("79228162514264337593543950335", true), ("0.00000000000000000000000000000000000001", true),
      ("1e3", true), ("-12.50", true), ("99999999999999999999999999999999999999", true),
      ("999999999999999999999999999999999999999", false), ("0.123456789012345678901234567890123456789", false),
      ("+1.5", true), ("0012.30", true), ("-007", true), ("00", true), ("+0.5e-2", true),
      ("12abc", false), ("", false), ("NaN", false), ("0x10", false), ("+", false), ("+-1", false), ("1.", false),
      (".5", false), ("٣", false), ("0٣", false), (" 1", false),
    ])
  func decimalsAreReadWithoutLossOrNotAtAll(text: String, isRead: Bool) throws {
    let read = try? ODataDecoder.decode(Decimal.self, from: .string(text))

    #expect((read != nil) == isRead)
    if isRead { #expect(read == Decimal(string: text)) }
    #expect(try ODataDecoder.decode(String.self, from: .number(text)) == text)
  }

  @Test(
    "Numbers have a sign and zeros before them",
    arguments: [
      ("+1.5", 1.5, nil), ("0012.30", 12.3, nil), ("-0.5", -0.5, nil), ("+7", 7, 7), ("007.0", 7, 7), ("-00", 0, 0),
      ("0x10", nil, nil), ("1e400", nil, nil), ("infinity", nil, nil), ("+", nil, nil), ("", nil, nil),
    ] as [(String, Double?, Int?)])
  func numbersHaveASignAndZerosBeforeThem(text: String, double: Double?, whole: Int?) {
    #expect((try? ODataDecoder.decode(Double.self, from: .string(text))) == double)
    #expect((try? ODataDecoder.decode(Int.self, from: .string(text))) == whole)
  }

  @Test("A time may be the end of the day", arguments: ["24:00:00", "24:00", "PT24H", "PT24H00M00S", "P1D"])
  func timeMayBeTheEndOfTheDay(text: String) throws {
    let read = try ODataDecoder.decode(ODataTime.self, from: .string(text))

    #expect(read == time(24, 0) && read > time(23, 59, 59))
    for format in Self.formats {
      #expect(try ODataDecoder.decode(ODataTime.self, from: ODataEncoder.encode(read, format)) == read)
    }
    #expect(ODataTime(hour: 24, minute: 0, second: 1) == nil)
    #expect(ODataTime(sinceMidnight: .seconds(86_400) + .nanoseconds(1)) == nil)
  }

  @Test(
    "The end of a day is the beginning of the next",
    arguments: [
      ("2026-02-28T24:00:00Z", "2026-03-01T00:00:00Z"), ("2026-02-28T24:00:00.000", "2026-03-01T00:00:00Z"),
      ("2026-02-28T24:00:00+02:00", "2026-02-28T22:00:00Z"), ("2026-02-28T24:00:01Z", nil),
      ("2026-02-28T24:30:00Z", nil), ("9999-12-31T24:00:00Z", nil), ("2026-02-30T24:00:00Z", nil),
    ])
  func endOfADayIsTheBeginningOfTheNext(text: String, expected: String?) {
    #expect(ODataTimeText.readDate(text)?.date == expected.flatMap { ODataTimeText.readDate($0)?.date })
  }

  /// Copying the members for each new one would take minutes.
  @Test(.timeLimit(.minutes(1))) func objectWithVeryManyMembersIsWritten() throws {
    let members = Dictionary(uniqueKeysWithValues: (0..<100_000).map { ("member \($0)", $0) })

    guard case .object(let written) = try ODataEncoder.encode(members, ODataFormat(.v4)) else {
      Issue.record("no object")
      return
    }

    #expect(written.count == 100_000)
  }

  @Test("Whole numbers do not overflow", arguments: ["9223372036854775808", "1.5", "x"])
  func wholeNumbersDoNotOverflow(text: String) {
    #expect(throws: DecodingError.self) { try ODataDecoder.decode(Int64.self, from: .string(text)) }
  }

  @Test func errorNamesThePropertyAndNotItsValue() throws {
    struct Order: Decodable { var items: [CodingTests.Everything.Item] }
    let json = try ODataJSON(Data(#"{"items":[{"name":"a"},{"name":["secret"]}]}"#.utf8))

    let error = #expect(throws: DecodingError.self) { try ODataDecoder.decode(Order.self, from: json) }

    guard case .typeMismatch(_, let context)? = error else {
      Issue.record("\(error as Any)")
      return
    }
    #expect(context.codingPath.map(\.stringValue) == ["items", "[1]", "name"])
    #expect(!context.debugDescription.contains("secret"))
  }

  @Test(
    "Dates outside the years 0 to 9999 and offsets of a day are refused",
    arguments: [
      ("/Date(9223372036854775807)/", false), ("/Date(253402300800000)/", false), ("/Date(-62167219200001)/", false),
      ("/Date(0+9223372036854775807)/", false), ("/Date(0-1440)/", false), ("2026-01-01T00:00:00+24:00", false),
      ("/Date(253402300799999+1439)/", true), ("/Date(-62167219200000-1439)/", true),
      ("2026-01-01T00:00:00+14:00", true),
    ])
  func datesOutsideTheYears0To9999AreRefused(text: String, isRead: Bool) {
    #expect((ODataTimeText.readDate(text) != nil) == isRead)
  }

  @Test(
    "Dates outside the years 0 to 9999 are clamped when they are written",
    arguments: [
      (Double.infinity, "/Date(253402300799999)/", "9999-12-31T23:59:59"),
      (1e300, "/Date(253402300799999)/", "9999-12-31T23:59:59"),
      (-1e300, "/Date(-62167219200000)/", "0000-01-01T00:00:00"), (Double.nan, "/Date(0)/", "1970-01-01T00:00:00"),
    ] as [(Double, String, String)])
  func datesOutsideTheYears0To9999AreClamped(seconds: Double, v2: String, v4: String) {
    let date = Date(timeIntervalSince1970: seconds)

    #expect(ODataTimeText.ticks(date) == v2)
    #expect(ODataTimeText.dateTime(date).hasPrefix(v4))
  }

  @Test(
    "Durations are read exactly",
    arguments: [
      ("PT0S", Duration.zero), ("P1D", .seconds(86_400)), ("-PT1M", .seconds(-60)), ("PT0.000000001S", .nanoseconds(1)),
      ("23:59:59.999", .milliseconds(86_399_999)), ("07:08", .seconds(25_680)), ("PT36H", .seconds(129_600)),
    ] as [(String, Duration)])
  func durationsAreReadExactly(text: String, duration: Duration) {
    #expect(ODataTimeText.readDuration(text) == duration)
  }

  @Test(
    "What is no duration is refused",
    arguments: [
      "", "P", "PT", "P1Y", "P1M", "PT1", "1:2:3:4", "PT1H1H", "P-1D", ":", "PT0.٠٠٠٠٠٠٠٠٠٠S", "PT٣S", "٠٧:٠٨",
    ])
  func whatIsNoDurationIsRefused(text: String) { #expect(ODataTimeText.readDuration(text) == nil) }

  @Test(
    "JSON is read with its digits",
    arguments: [
      (#"{"a":[1,2.50,-0.0e10],"b":"\u00e9\ud83d\ude00\n\/"}"#, #"{"a":[1,2.50,-0.0e10],"b":"é😀\n/"}"#),
      ("[]", "[]"), ("\u{FEFF}{\"x\":{}}", #"{"x":{}}"#), (" null ", "null"),
    ])
  func jsonIsReadWithItsDigits(text: String, written: String) throws {
    #expect(try ODataJSON(Data(text.utf8)).json() == written)
  }

  @Test func deepAndBrokenJSONIsRefused() {
    let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
    for text in [deep, "{", "{\"a\":}", "[1 2]", "\"\u{1}\"", ""] {
      #expect(throws: ODataError.self) { try ODataJSON(body: Data(text.utf8)) }
    }
    #expect(throws: ODataError.self) { try ODataJSON(body: Data([0x22, 0xFF, 0x22])) }
  }

  @Test func ownTypesAreCodableForOtherCoders() throws {
    let data = try JSONEncoder().encode([Self.value.day])

    #expect(String(decoding: data, as: UTF8.self) == #"["2026-02-28"]"#)
    #expect(try JSONDecoder().decode([ODataDay].self, from: data) == [Self.value.day])
  }
}
