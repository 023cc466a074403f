import MartletSemantics
import Testing

/// RFC 6265bis §5.1.1, §5.6.1 and §5.6.2.
@Suite
struct CookieDateTests {
  private static let day = 784_111_777.0  // Sun, 06 Nov 1994 08:49:37 GMT

  @Test(arguments: [
    "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    "06 Nov 1994 08:49:37", "6 nov 94 8:49:37", "Nov-6-1994;08:49:37", "08:49:37 6 November 1994",
    "1994 Nov 06 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 PST", "Sun, 06 Nov 1994 08:49:37 +0200",
    "\tSun,,06,,NOVember,,1994,,08:49:37,,", "06th Nov 1994AD 08:49:37Z", "6 Nov 1994 08:49:37.999",
    "Mon, 06 Nov 1994 08:49:37 GMT", "06 Nov Dec 1994 08:49:37",
    "foo 06 Nov 1994 bar 08:49:37 baz", "06 Nov 1994 08:49:37 1995",
  ])
  func dateIsReadInAnyOrder(_ text: String) {
    #expect(CookieDate.parse(text)?.timeIntervalSince1970 == Self.day)
  }

  @Test(arguments: [
    "", "Sun", "06 Nov 1994", "06 Nov 08:49:37", "Nov 1994 08:49:37", "06 1994 08:49:37", "06 Nov 1994 08:49",
    "31 Feb 2024 08:49:37", "29 Feb 2023 08:49:37", "00 Nov 1994 08:49:37", "32 Nov 1994 08:49:37",
    "06 Nov 1994 24:00:00", "06 Nov 1994 08:60:00", "06 Nov 1994 08:49:60", "06 Nov 1600 08:49:37",
    "06 Nov 19940 08:49:37", "006 Nov 1994 08:49:37", "06 Nov 1994 008:49:37", "06 Nov 1994 08:049:37",
    "06 Nov 1994 08:49:037", "94 Nov 6 08:49:37", "06 No 1994 08:49:37", "06 Nov 9 08:49:37", "6é Nov 1994 8:49:é37",
    "06 Nov 1994 8:49 :37", "06-Nov-1994-08-49-37",
  ])
  func whatIsNoDateIsNone(_ text: String) {
    #expect(CookieDate.parse(text) == nil)
  }

  @Test(arguments: [
    ("69", 2069), ("70", 1970), ("99", 1999), ("00", 2000), ("069", 2069), ("099", 1999), ("1601", 1601),
    ("0070", 1970),
    ("9999", 9999),
  ])
  func yearOfTwoDigitsBelongsToACentury(_ text: String, year: Int) throws {
    let date = try #require(CookieDate.parse("01 Jan \(text) 00:00:00"))
    #expect(CivilTime(date).year == year)
  }

  private static let now = Date(timeIntervalSince1970: 1_800_000_000)

  @Test(arguments: [
    ("Max-Age=10", 10.0), ("max-age=10", 10), ("Max-Age = 10 ", 10), ("Max-Age=010", 10),
    ("Max-Age=34560000", 34_560_000),
    ("Max-Age=34560001", 34_560_000), ("Max-Age=99999999999999999999999999999999", 34_560_000),
    ("Expires=Fri, 15 Jan 2027 08:00:10 GMT", 10), ("Expires=\"Fri, 15 Jan 2027 08:00:10 GMT\"", 10),
    ("Expires=Fri, 31 Dec 9999 23:59:59 GMT", 34_560_000),
    ("Max-Age=10; Expires=Sun, 06 Nov 1994 08:49:37 GMT", 10),
    ("Expires=Sun, 06 Nov 1994 08:49:37 GMT; Max-Age=10", 10),
    ("Max-Age=5; Max-Age=10", 10), ("Max-Age=10; Max-Age=x", 10), ("Max-Age=10; Max-Age=", 10),
    ("Expires=Fri, 15 Jan 2027 08:00:10 GMT; Expires=never", 10),
    ("Max-Age=x; Expires=Fri, 15 Jan 2027 08:00:10 GMT", 10),
    ("Expires=Fri, 15 Jan 2027 08:00:05 GMT; Expires=Fri, 15 Jan 2027 08:00:10 GMT", 10),
  ])
  func lifetimeIsThatOfMaxAgeOrElseExpires(_ attributes: String, seconds: TimeInterval) throws {
    #expect(try SetCookie("a=b; \(attributes)", now: Self.now).expires == Self.now.addingTimeInterval(seconds))
  }

  @Test(arguments: [
    "Max-Age", "Max-Age=", "Max-Age=x", "Max-Age=1x", "Max-Age=+1", "Max-Age=1.5", "Max-Age=-", "Max-Age=--1",
    "Max-Age=\"10\"", "Max-Age=1 0", "Expires", "Expires=", "Expires=tomorrow", "Expires=0", "MaxAge=1",
  ])
  func whatCannotBeReadLeavesASessionCookie(_ attribute: String) throws {
    #expect(try SetCookie("a=b; \(attribute)", now: Self.now).expires == nil)
  }

  @Test(arguments: [
    "Max-Age=0", "Max-Age=-1", "Max-Age=-99999999999999999999", "Max-Age=-0", "Expires=Thu, 01 Jan 1970 00:00:00 GMT",
    "Expires=Fri, 15 Jan 2027 08:00:00 GMT", "Max-Age=0; Expires=Fri, 15 Jan 2028 08:00:00 GMT",
  ])
  func endedCookieRemovesTheOneThatIsThere(_ attributes: String) {
    var visitor = Visitor()
    visitor.receive("a=1", "b=2")
    visitor.receive("a=; \(attributes)")
    #expect(visitor.sends() == "b=2")
    #expect(visitor.refusals.isEmpty)
    #expect(visitor.list.cookies.count == 1)
  }

  @Test
  func cookieEndsWithItsTime() {
    var visitor = Visitor()
    visitor.receive("a=1; Max-Age=10", "b=2")
    visitor.now += 9.5
    #expect(visitor.sends() == "a=1; b=2")
    visitor.now += 0.5
    #expect(visitor.sends() == "b=2")
  }

  @Test
  func laterCookieTakesTheLifetimeAway() {
    var visitor = Visitor()
    visitor.receive("a=1; Max-Age=10")
    visitor.receive("a=2")
    visitor.now += 20
    #expect(visitor.sends() == "a=2")
  }
}
