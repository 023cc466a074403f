@_spi(Toolkit) import MartletSemantics
import Testing

@Suite(.timeLimit(.minutes(5)))
struct HTTPDateTests {
  /// 2024-02-29 12:00:00.
  private static let now = Date(timeIntervalSince1970: 1_709_208_000)

  // RFC 9110 §5.6.7: a recipient must accept all three formats.
  @Test(
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
      ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
      ("Sun Nov  6 08:49:37 1994", 784_111_777),
      ("Wed Nov 16 08:49:37 1994", 784_975_777),
      ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
      ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
      ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
      ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400),
      ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
      ("Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800),
      ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),  // A leap second is the second after it.
      ("  Sun, 06 Nov 1994 08:49:37 GMT\t", 784_111_777),
      ("sun, 06 NOV 1994 08:49:37 gmt", 784_111_777),  // RFC 9111 §4.2: without case.
      ("SUNDAY, 06-nov-94 08:49:37 GMT", 784_111_777),
      ("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777),  // The day of the week is not checked.
    ] as [(String, Int)])
  func dateIsRead(_ text: String, seconds: Int) {
    #expect(HTTPDate.parse(text, now: Self.now) == Date(timeIntervalSince1970: Double(seconds)))
  }

  @Test(arguments: [
    "", "0", "-1", "now", "Sun", "Sun,", "Sun, ", "784111777", "1994-11-06T08:49:37Z",
    "06 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37",
    "Sun, 06 Nov 1994 08:49:37 ",
    "Sun, 06 Nov 1994 08:49:37 PST",
    "Sun, 06 Nov 1994 08:49:37 +0000",
    "Sun, 06 Nov 1994 08:49:37 GMT+1",
    "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49 GMT",
    "Sun, 06 Nov 1994 8:49:37 GMT",
    "Sun, 06 Nov 94 08:49:37 GMT",
    "Sun, 06 Nov 19940 08:49:37 GMT",
    "Sun, 6 Nov 1994 08:49:37 GMT",
    "Sun,06 Nov 1994 08:49:37 GMT",
    "Sun, 06  Nov 1994 08:49:37 GMT",
    "Sun, 06-Nov-1994 08:49:37 GMT",
    "Xyz, 06 Nov 1994 08:49:37 GMT",
    "Su, 06 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nox 1994 08:49:37 GMT",
    "Sun, 06 November 1994 08:49:37 GMT",
    "Sun, 00 Nov 1994 08:49:37 GMT",
    "Sun, 31 Nov 1994 08:49:37 GMT",
    "Sun, 32 Dec 1994 08:49:37 GMT",
    "Wed, 29 Feb 2023 12:00:00 GMT",
    "Thu, 29 Feb 1900 12:00:00 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT",
    "Sun, 06 Nov 1994 08:60:37 GMT",
    "Sun, 06 Nov 1994 08:49:61 GMT",
    "Sun, -6 Nov 1994 08:49:37 GMT",
    "Sun, ٠٦ Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37 UTC",  // RFC 9111 §4.2: another zone than GMT
    "Sun, 06-Nov-94 08:49:37 GMT",
    "Sunday, 06 Nov 1994 08:49:37 GMT",
    "Sunday, 06-Nov-1994 08:49:37 GMT",
    "Sunday, 29-Feb-23 08:49:37 GMT",
    "Sunday Nov  6 08:49:37 1994",
    "Sun Nov 6 08:49:37 1994",
    "Sun Nov  6 08:49:37 1994 GMT",
    "Sun Nov  6 08:49:37 94",
    "Sun Nov 31 08:49:37 1994",
  ])
  func invalidDatesAreRefused(_ text: String) {
    #expect(HTTPDate.parse(text, now: Self.now) == nil)
  }

  // RFC 9110 §5.6.7: a two-digit year that appears to be more than 50 years in the future is the most recent year in
  // the past with the same last two digits. Now is 29 February 2024, noon.
  @Test(arguments: [
    ("Thursday, 29-Feb-24 12:00:00 GMT", "Thu, 29 Feb 2024 12:00:00 GMT"),
    ("Thursday, 01-Jan-70 00:00:00 GMT", "Wed, 01 Jan 2070 00:00:00 GMT"),
    ("Wednesday, 28-Feb-74 12:00:00 GMT", "Wed, 28 Feb 2074 12:00:00 GMT"),
    ("Friday, 01-Mar-74 12:00:00 GMT", "Fri, 01 Mar 1974 12:00:00 GMT"),
    ("Saturday, 31-Dec-99 23:59:59 GMT", "Fri, 31 Dec 1999 23:59:59 GMT"),
    ("Saturday, 01-Jan-00 00:00:00 GMT", "Sat, 01 Jan 2000 00:00:00 GMT"),
  ])
  func yearOfTwoDigitsIsAtMostFiftyYearsAhead(_ text: String, expected: String) throws {
    let date = try #require(HTTPDate.parse(text, now: Self.now))

    #expect(HTTPDate.format(date) == expected)
  }

  @Test func yearOfTwoDigitsMayBelongToTheNextCentury() throws {
    let now = try #require(HTTPDate.parse("Wed, 01 Jan 2098 00:00:00 GMT", now: Self.now))

    let date = try #require(HTTPDate.parse("Friday, 01-Jan-05 00:00:00 GMT", now: now))

    #expect(HTTPDate.format(date) == "Thu, 01 Jan 2105 00:00:00 GMT")
  }

  // RFC 9110 §5.6.7: a sender must generate IMF-fixdate.
  @Test(arguments: [
    (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
    (784_111_777.999, "Sun, 06 Nov 1994 08:49:37 GMT"),
    (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
    (-0.5, "Wed, 31 Dec 1969 23:59:59 GMT"),
    (-62_135_596_800, "Mon, 01 Jan 0001 00:00:00 GMT"),
    (1e300, "Fri, 31 Dec 9999 23:59:59 GMT"),
    (-Double.infinity, "Sat, 01 Jan 0000 00:00:00 GMT"),
    (Double.nan, "Thu, 01 Jan 1970 00:00:00 GMT"),
  ])
  func dateIsWrittenAsFixdate(_ seconds: Double, expected: String) {
    #expect(HTTPDate.format(Date(timeIntervalSince1970: seconds)) == expected)
  }

  @Test func everyDayOfFourCenturiesRoundTrips() throws {
    let first = try #require(CivilTime(year: 1899, month: 12, day: 31, hour: 23, minute: 59, second: 59))
    var previous = first
    var wrong: [CivilTime] = []

    for day in 1...146_100 {
      let date = first.date + Double(day) * 86_400
      let moment = CivilTime(date)
      let isNextDay = (previous.weekday + 1) % 7 == moment.weekday && moment.day == previous.day + 1
      let isNextMonth = (previous.weekday + 1) % 7 == moment.weekday && moment.day == 1 && previous.day >= 28
      if moment.date != date || !(isNextDay || isNextMonth) { wrong.append(moment) }
      previous = moment
    }

    #expect(wrong.isEmpty)
    #expect(first.weekday == 0)
    #expect((previous.year, previous.month, previous.day) == (2300, 1, 3))
  }
}
