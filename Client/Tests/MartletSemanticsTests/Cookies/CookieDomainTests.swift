@_spi(Toolkit) import MartletSemantics
import Testing

/// RFC 6265bis §5.1.2, §5.1.3, §5.6.3 and the steps of §5.7 about domains.
@Suite
struct CookieDomainTests {
  private static let www = "http://www.example.org/dir/page"

  @Test(arguments: [
    // set by www.example.org, sent to …
    ("", "www", true), ("", "", false), ("", "a.www", false),
    ("; Domain=www.example.org", "www", true), ("; Domain=.www.example.org", "www", true),
    ("; Domain=www.example.org", "a.www", true), ("; Domain=www.example.org", "", false),
    ("; Domain=www.example.org", "other", false), ("; Domain=example.org", "other", true),
    ("; Domain=.example.org", "", true), ("; Domain=EXAMPLE.org", "www", true), ("; Domain=eXample.ORG", "x.y", true),
    ("; domain = .example.org ", "", true), ("; Domain=  .example.org", "www", true),
    ("; Domain=", "www", true), ("; Domain=", "a.www", false), ("; Domain", "www", true),
    ("; Domain=.", "www", false), ("; Domain=.; Domain=example.org", "www", true),
    ("; Domain=..example.org", "www", false), ("; Domain=.  example.org", "www", false),
    ("; Domain=example.org.", "www", false), ("; Domain=example..org", "www", false),
    ("; Domain=www.example.org.", "www", false), ("; Domain=\"example.org\"", "www", false),
    ("; Domain=www.example.org:80", "www", false), ("; Domain=http://www.example.org", "www", false),
    ("; Domain=org", "www", false), ("; Domain=.org", "www", false), ("; Domain=.org.", "www", false),
    ("; Domain=other.example.org", "www", false), ("; Domain=other.example.org", "other", false),
    ("; Domain=a.www.example.org", "a.www", false), ("; Domain=ww.example.org", "www", false),
    ("; Domain=w.example.org", "www", false), ("; Domain=ample.org", "www", false),
    ("; Domain=example.com", "www", false), ("; Domain=*.example.org", "www", false),
    ("; Domain=example.org; Domain=other.example.org", "www", false),
    ("; Domain=other.example.org; Domain=example.org", "www", true),
    ("; Domain=example.org; Domain=", "www", true), ("; Domain=example.org; Domain=", "", false),
    ("; Domain=other.example.org; Domain=", "www", true), ("; Domain=example.org; Domain=www.example.org", "", false),
    // The newest drafts require ASCII.
    ("; Domain=exämple.org", "www", false), ("; Domain=example。org", "www", false),
  ])
  func domainAttributeSaysWhoGetsTheCookie(_ attributes: String, host: String, isSent: Bool) {
    let target = "http://\(host.isEmpty ? "" : host + ".")example.org/dir/page"
    #expect(CookieClient.echo(["a=b\(attributes)"], at: Self.www, to: target) == (isSent ? "a=b" : ""))
  }

  @Test
  func cookieWithoutDomainAndCookieWithOneAreTwo() {
    #expect(CookieClient.echo(["a=1", "a=2; Domain=www.example.org"]) == "a=1; a=2")
    #expect(CookieClient.echo(["a=1; Domain=www.example.org", "a=2; Domain=.WWW.example.org"]) == "a=2")
    #expect(CookieClient.echo(["a=1; Domain=example.org", "a=2; Domain=www.example.org"]) == "a=1; a=2")
  }

  @Test(arguments: [
    ("http://github.io/", "a=b; Domain=github.io", "http://github.io/", "a=b"),
    ("http://github.io/", "a=b; Domain=.github.io", "http://me.github.io/", ""),
    ("http://me.github.io/", "a=b; Domain=github.io", "http://me.github.io/", ""),
    ("http://me.github.io/", "a=b; Domain=me.github.io", "http://x.me.github.io/", "a=b"),
    ("http://a.co.uk/", "a=b; Domain=co.uk", "http://a.co.uk/", ""),
    ("http://org/", "a=b; Domain=org", "http://org/", "a=b"),
    ("http://org/", "a=b", "http://org/", "a=b"),
  ])
  func publicSuffixIsForItselfAlone(_ url: String, line: String, target: String, sent: String) {
    #expect(CookieClient.echo([line], at: url, to: target) == sent)
  }

  @Test(arguments: [
    ("http://127.0.0.1/", "a=b", "http://127.0.0.1/", "a=b"),
    ("http://127.0.0.1/", "a=b; Domain=127.0.0.1", "http://127.0.0.1:8080/", "a=b"),
    ("http://127.0.0.1/", "a=b; Domain=.127.0.0.1", "http://127.0.0.1/", "a=b"),
    ("http://127.0.0.1/", "a=b; Domain=0.0.1", "http://127.0.0.1/", ""),
    ("http://127.0.0.1/", "a=b; Domain=.0.0.1", "http://127.0.0.1/", ""),
    ("http://127.0.0.1/", "a=b; Domain=127.0.0.1", "http://1.127.0.0.1/", ""),
    ("http://[::1]/", "a=b", "http://[::1]:8080/", "a=b"),
    ("http://[::1]/", "a=b; Domain=1", "http://[::1]/", ""),
    ("http://127.1/", "a=b", "http://0x7f000001/", "a=b"),
    ("http://127.1/", "a=b; Domain=127.0.0.1", "http://127.0.0.1/", "a=b"),
    ("http://127.0.0.1/", "a=b; Domain=127.1", "http://2130706433/", "a=b"),
    ("http://[0:0::1]/", "a=b", "http://[::1]/", "a=b"), ("http://[127.0.0.1]/", "a=b", "http://127.0.0.1/", ""),
    ("http://xn--a.org/", "a=b", "http://xn--a.org/", ""),
    ("http://1.2.3.example.org/", "a=b; Domain=3.example.org", "http://3.example.org/", "a=b"),
    ("http://WWW.Example.ORG/", "a=b; Domain=example.org", "http://wWw.eXample.org/", "a=b"),
    ("http://www.example.org:81/", "a=b", "https://www.example.org:82/", "a=b"),
    ("http://www.example.org./", "a=b", "http://www.example.org/", ""),
    ("http://www.example.org./", "a=b; Domain=example.org", "http://www.example.org/", ""),
  ])
  func addressesAndPorts(_ url: String, line: String, target: String, sent: String) {
    #expect(CookieClient.echo([line], at: url, to: target) == sent)
  }

  @Test(arguments: [
    ("bücher", "xn--bcher-kva"), ("BÜCHER", "xn--bcher-kva"), ("example", "example"), ("EXAMPLE", "example"),
    ("例え", "xn--r8jz45g"), ("テスト", "xn--zckzah"), ("münchen-ost", "xn--mnchen-ost-9db"), ("пример", "xn--e1afmkfd"),
    // RFC 3492 §7.1
    ("ليهمابتكلموشعربي؟", "xn--egbpdaj6bu4bxfgehfvwxn"), ("他们为什么不说中文", "xn--ihqwcrb4cv8a8dqg056pqjye"),
    ("なぜみんな日本語を話してくれないのか", "xn--n8jok5ay5dzabd5bym9f0cm5685rrjetr6pdxa"),
    ("почемужеонинеговорятпорусски", "xn--b1abfaaepdrnnbgefbadotcwatmq2g4l"),
    ("3年b組金八先生", "xn--3b-ww4c5e180e575a65lsy2b"),
  ])
  func labelIsEncoded(_ label: String, expected: String) {
    #expect(Punycode.encode(label: label) == expected)
  }

  /// A label has at most 63 bytes (RFC 1035 §2.3.4). Text that cannot become one takes no time.
  @Test
  func aLabelThatIsTooLongIsRefused() {
    let points = (0..<20_000).compactMap { Unicode.Scalar(0x4E00 + $0) }
    #expect(Punycode.encode(label: String(String.UnicodeScalarView(points))) == nil)
    #expect(Punycode.encode(label: String(repeating: "é", count: 64)) == nil)
  }

  @Test(arguments: [
    "http://bücher.example.org/", "http://xn--bcher-kva.example.org/", "http://BÜCHER.example.org/",
    "http://bu%CC%88cher.example.org/", "http://b%C3%BCcher.example.org/", "http://%EF%BD%82%C3%BCcher.example.org/",
  ])
  func internationalHostIsTheSameInBothForms(_ url: String) throws {
    let line = "a=b; Domain=xn--bcher-kva.example.org"
    #expect(CookieClient.echo([line], at: url, to: "http://www.bücher.example.org/") == "a=b")
    #expect(try #require(CookieClient.request(url)).host == "xn--bcher-kva.example.org")
  }

  @Test(arguments: [
    ("www.example.org", "example.org"), ("example.org", "example.org"), ("a.b.c.example.co.uk", "example.co.uk"),
    ("co.uk", "co.uk"), ("org", "org"), ("me.github.io", "me.github.io"), ("x.me.github.io", "me.github.io"),
    ("localhost", "localhost"), ("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("www.example.org.", "example.org."),
  ])
  func siteIsTheRegistrableDomain(_ host: String, site: String) {
    let suffixes = PublicSuffixes { CookieClient.suffixes.contains($0) || !$0.contains(".") }
    #expect(suffixes.site(of: host) == site)
  }

  @Test(arguments: [
    ("http://a.example", "/"), ("http://a.example/", "/"), ("http://a.example?b=/c", "/"), ("http://a.example#/b", "/"),
    ("http://a.example:8080/b/c?d=/e#f", "/b/c"), ("http://a/b;c=d#e/f?g", "/b;c=d"), ("https://a/%2Fb//", "/%2Fb//"),
    ("http://u@a.example/b?c", "/b"), ("http://a", "/"), ("https://a", "/"),
  ])
  func thePathIsThatOfTheURL(_ url: String, path: String) {
    #expect(CookieClient.request(url)?.path == path)
  }

  @Test(arguments: ["HTTPS://www.Example.org/a/b", "https://www.example.org/a/b"])
  func relativeURLIsReadWhole(_ base: String) throws {
    let base = try #require(URL(string: base))
    let request = try #require(URL(string: "c/d?e", relativeTo: base).flatMap(CookieRequest.init))
    #expect(request.host == "www.example.org")
    #expect(request.path == "/a/c/d")
    #expect(request.isSecure)
  }

  @Test
  func everyDomainOfAHostBelongsToItsSite() {
    let suffixes = PublicSuffixes { ["ck", "x.ck"].contains($0) }
    #expect(suffixes.site(of: "a.b.x.ck") == "b.x.ck")
    #expect(suffixes.site(of: "a.y.ck") == "y.ck")
    #expect(suffixes.site(of: "y.ck") == "y.ck")
  }
}
