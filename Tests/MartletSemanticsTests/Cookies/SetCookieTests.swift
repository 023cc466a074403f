import MartletSemantics
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
  func nameAndValueAreReadAsTheyStand(_ line: String, sent: String) {
    #expect(Visitor.echo([line]) == sent)
  }

  @Test(arguments: (0...31).filter { $0 != 9 } + [127])
  func controlCharacterAnywhereLosesTheCookie(_ code: Int) throws {
    let control = String(try #require(Unicode.Scalar(UInt32(code))))
    for line in [
      "fo\(control)o=bar", "foo=b\(control)ar", "foo=bar\(control)", "foo=bar; Path=/\(control)",
      "foo=bar; Sec\(control)ure", "foo=bar; x\(control)", "\(control)foo=bar", "foo=bar;\(control)Path=/",
      "\u{65}\u{301}\(control)\u{301}=bar",
    ] {
      var visitor = Visitor()
      visitor.receive(line)
      #expect(visitor.refusals == [.controlCharacter], "\(String(reflecting: line))")
      #expect(visitor.sends() == "")
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
    #expect(Visitor.echo([line]).isEmpty == !isTaken)
  }

  @Test
  func bytesAreCountedAndNotCharacters() {
    #expect(Visitor.echo(["a=" + String(repeating: "é", count: 2048)]).isEmpty)
    #expect(!Visitor.echo(["a=" + String(repeating: "é", count: 2047)]).isEmpty)
  }

  @Test
  func whiteSpaceAroundTheNameDoesNotCount() {
    #expect(!Visitor.echo(["  n  =  " + String(repeating: "v", count: 4095) + "  "]).isEmpty)
  }

  @Test(arguments: [1024, 1025])
  func attributeOfMoreThan1024BytesIsIgnored(_ count: Int) {
    let path = "/" + String(repeating: "a", count: count - 1)
    let sent = Visitor.echo(["a=b; Path=/; Path=\(path)"], to: "http://www.example.org/")
    #expect(sent == (count == 1024 ? "" : "a=b"))
  }

  @Test
  func longDomainIsIgnoredAndTheLastShortOneCounts() {
    let long = String(repeating: "a", count: 1025) + ".org"
    #expect(Visitor.echo(["a=b; Domain=example.org; Domain=\(long)"], to: "http://example.org/dir/x") == "a=b")
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
  func somethingElseIsNotSecure(_ attribute: String) throws {
    #expect(try !SetCookie("a=b;\(attribute)", now: .now).isSecure)
  }

  @Test(arguments: ["HttpOnly", "httponly", "HTTPONLY", "HttpOnly=", "HttpOnly=no", "  HttpOnly  "])
  func httpOnlyIsAFlagWhateverItsValue(_ attribute: String) throws {
    #expect(try SetCookie("a=b;\(attribute)", now: .now).isHTTPOnly)
  }

  @Test(arguments: [("a=b", "a"), ("=b", "")])
  func refusalNamesTheCookieAndNotItsValue(_ pair: String, name: String) {
    let refusal = #expect(throws: CookieRefusal.self) { try SetCookie(pair + "\u{1}secret", now: .now) }
    #expect(refusal?.name == name)
    #expect(refusal?.description.contains("secret") == false)
  }
}
