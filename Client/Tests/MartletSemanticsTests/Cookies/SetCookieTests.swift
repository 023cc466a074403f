@_spi(Toolkit) import MartletSemantics
import Testing

/// RFC 6265bis §5.6: the line, its name and its value.
@Suite
struct SetCookieTests {
  @Test(arguments: [
    ("foo=bar", "foo=bar"),
    ("foo", "foo"),
    ("foo=", "foo="),
    ("=bar", "bar"),
    ("==bar", "=bar"),
    ("=a=b", "a=b"),
    ("foo=bar=baz", "foo=bar=baz"),
    (" foo = bar ", "foo=bar"),
    ("\tfoo\t=\tbar\t", "foo=bar"),
    ("f oo=b ar", "f oo=b ar"),
    ("f\too=b\tar", "f\too=b\tar"),
    ("foo=\"bar\"", "foo=\"bar\""),
    ("foo=\"b;ar\"", "foo=\"b"),
    ("\"foo;bar=baz\"", "\"foo"),
    ("foo=bar, baz=qux", "foo=bar, baz=qux"),
    ("foo=b%20ar", "foo=b%20ar"),
    ("foo=春节", "foo=春节"),
    ("тест=2", "тест=2"),
    ("$Version=1; a=b", "$Version=1"),
    ("foo=bar;", "foo=bar"),
    ("foo=bar;;; ;", "foo=bar"),
    ("foo=bar; unknown=1; Version; =x", "foo=bar"),
    ("foo;bar=baz", "foo"),
    ("", ""),
    ("=", ""),
    (" = ", ""),
    (";", ""),
    ("; Path=/", ""),
    ("=; Path=/", ""),
  ])
  func nameAndValueAreReadUnchanged(_ line: String, sent: String) {
    #expect(CookieClient.echo([line]) == sent)
  }

  @Test(arguments: (0...31).filter { $0 != 9 } + [127])
  func aControlCharacterAnywhereRejectsTheCookie(_ code: Int) throws {
    let control = String(try #require(Unicode.Scalar(UInt32(code))))
    for line in [
      "fo\(control)o=bar", "foo=b\(control)ar", "foo=bar\(control)", "foo=bar; Path=/\(control)",
      "foo=bar; Sec\(control)ure", "foo=bar; x\(control)", "\(control)foo=bar", "foo=bar;\(control)Path=/",
      "\u{65}\u{301}\(control)\u{301}=bar",
    ] {
      var client = CookieClient()
      client.receive(line)
      #expect(client.refusals == [.controlCharacter], "\(String(reflecting: line))")
      #expect(client.sends() == "")
    }
  }

  @Test(arguments: [
    (name: 1, value: 4095, isTaken: true), (name: 1, value: 4096, isTaken: false),
    (name: 4096, value: 0, isTaken: true), (name: 4097, value: 0, isTaken: false),
    (name: 0, value: 4096, isTaken: true), (name: 0, value: 4097, isTaken: false),
    (name: 2048, value: 2048, isTaken: true), (name: 2049, value: 2048, isTaken: false),
  ])
  func nameAndValueHave4096BytesTogether(_ name: Int, _ value: Int, _ isTaken: Bool) {
    let line = String(repeating: "n", count: name) + "=" + String(repeating: "v", count: value) + "; Path=/"
    #expect(CookieClient.echo([line]).isEmpty == !isTaken)
  }

  @Test
  func bytesAreCountedAndNotCharacters() {
    #expect(CookieClient.echo(["a=" + String(repeating: "é", count: 2048)]).isEmpty)
    #expect(!CookieClient.echo(["a=" + String(repeating: "é", count: 2047)]).isEmpty)
  }

  @Test
  func whiteSpaceAroundTheNameIsIgnored() {
    #expect(!CookieClient.echo(["  n  =  " + String(repeating: "v", count: 4095) + "  "]).isEmpty)
  }

  @Test(arguments: [1024, 1025])
  func attributeOfMoreThan1024BytesIsIgnored(_ count: Int) {
    let path = "/" + String(repeating: "a", count: count - 1)
    let sent = CookieClient.echo(["a=b; Path=/; Path=\(path)"], to: "http://www.example.org/")
    #expect(sent == (count == 1024 ? "" : "a=b"))
  }

  @Test
  func longDomainIsIgnoredAndTheLastShortOneCounts() {
    let long = String(repeating: "a", count: 1025) + ".org"
    #expect(CookieClient.echo(["a=b; Domain=example.org; Domain=\(long)"], to: "http://example.org/dir/x") == "a=b")
  }

  @Test(arguments: [
    ("none; Secure", Cookie.SameSite.none), ("NONE; Secure", .none), ("lax", .lax), ("Lax", .lax), ("STRICT", .strict),
    ("", .unspecified), ("other", .unspecified), (" strict ", .strict), ("\"strict\"", .unspecified),
    ("strict; SameSite=lax", .lax), ("lax; SameSite=unknown", .unspecified), ("strict; SameSite", .unspecified),
  ])
  func sameSiteIsItsLastAttribute(_ value: String, expected: Cookie.SameSite) throws {
    #expect(try SetCookie("a=b; SameSite=\(value)", now: .now).sameSite == expected)
  }

  @Test(arguments: ["Secure", "secure", "SECURE", " secure ", "Secure=", "Secure=false", "secure=x=y", "\tSecure\t"])
  func secureIsAFlagWhateverItsValue(_ attribute: String) throws {
    #expect(try SetCookie("a=b;\(attribute)", now: .now).isSecure)
  }

  @Test(arguments: ["Secur", "Secure e", "\"Secure\"", "x=Secure"])
  func otherAttributesAreNotSecure(_ attribute: String) throws {
    #expect(try !SetCookie("a=b;\(attribute)", now: .now).isSecure)
  }

  @Test(arguments: ["HttpOnly", "httponly", "HTTPONLY", "HttpOnly=", "HttpOnly=no", "  HttpOnly  "])
  func httpOnlyIsAFlagWhateverItsValue(_ attribute: String) throws {
    #expect(try SetCookie("a=b;\(attribute)", now: .now).isHTTPOnly)
  }

  @Test(arguments: [("a=b", "a"), ("=b", "")])
  func refusalNamesTheCookieAndNotItsValue(_ pair: String, name: String) {
    let refusal = #expect(throws: Cookie.Refusal.self) { try SetCookie(pair + "\u{1}secret", now: .now) }
    #expect(refusal?.name == name)
    #expect(refusal?.description.contains("secret") == false)
  }
}

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
  func invalidDatesAreNil(_ text: String) {
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
  func anInvalidLifetimeMakesASessionCookie(_ attribute: String) throws {
    #expect(try SetCookie("a=b; \(attribute)", now: Self.now).expires == nil)
  }

  @Test(arguments: [
    "Max-Age=0", "Max-Age=-1", "Max-Age=-99999999999999999999", "Max-Age=-0", "Expires=Thu, 01 Jan 1970 00:00:00 GMT",
    "Expires=Fri, 15 Jan 2027 08:00:00 GMT", "Max-Age=0; Expires=Fri, 15 Jan 2028 08:00:00 GMT",
  ])
  func anExpiredCookieRemovesTheStoredOne(_ attributes: String) {
    var client = CookieClient()
    client.receive("a=1", "b=2")
    client.receive("a=; \(attributes)")
    #expect(client.sends() == "b=2")
    #expect(client.refusals.isEmpty)
    #expect(client.list.cookies.count == 1)
  }

  @Test
  func cookiesExpire() {
    var client = CookieClient()
    client.receive("a=1; Max-Age=10", "b=2")
    client.now += 9.5
    #expect(client.sends() == "a=1; b=2")
    client.now += 0.5
    #expect(client.sends() == "b=2")
  }

  @Test
  func aLaterCookieCanRemoveTheLifetime() {
    var client = CookieClient()
    client.receive("a=1; Max-Age=10")
    client.receive("a=2")
    client.now += 20
    #expect(client.sends() == "a=2")
  }
}
