@_spi(Toolkit) import MartletSemantics
import Testing

@Suite("ISO 8601 timestamps")
struct TimestampTests {
  @Test(arguments: [
    ("2009-07-24T19:20:30.45+01:00", 1_248_459_630.45), ("2009-07-24T18:20:30Z", 1_248_459_630),
    ("2009-07-24T18:20:30", 1_248_459_630), ("2009-07-24t18:20:30.000z", 1_248_459_630),
    ("2009-07-24 18:20", 1_248_459_600), ("2009-07-24T13:50:30-0430", 1_248_459_630),
    ("1969-12-31T23:59:59.500Z", -0.5),
  ])
  func timestampsOfOtherProgramsAreRead(text: String, seconds: Double) throws {
    let date = try #require(Timestamp.parse(text))

    #expect(abs(date.timeIntervalSince1970 - seconds) < 0.000_1)
  }

  @Test func timestampsRoundTrip() {
    for millisecond in 0..<1000 {
      let text = Timestamp.format(Date(timeIntervalSince1970: 1_248_459_630 + Double(millisecond) / 1000))

      #expect(Timestamp.parse(text).map(Timestamp.format) == text)
    }
  }

  @Test(arguments: [
    "", "2009", "2009-13-01T00:00Z", "2009-02-29T00:00Z", "2009-07-24T19:20:30+1", "2009-07-24T19:20:30Zx",
  ])
  func otherTextIsRefused(text: String) { #expect(Timestamp.parse(text) == nil) }

  @Test(arguments: [
    (0.0, "1970-01-01T00:00:00.000Z"), (1_248_459_630.456, "2009-07-24T18:20:30.456Z"),
    (-0.25, "1969-12-31T23:59:59.750Z"), (0.999_9, "1970-01-01T00:00:01.000Z"),
  ])
  func millisecondsAreWritten(seconds: Double, text: String) {
    #expect(Timestamp.format(Date(timeIntervalSince1970: seconds)) == text)
  }
}
