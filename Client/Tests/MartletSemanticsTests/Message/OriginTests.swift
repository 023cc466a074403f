@_spi(Toolkit) import MartletSemantics
import Testing

@Suite(.timeLimit(.minutes(5)))
struct OriginTests {
  // RFC 6454 §4 and §6.2.
  @Test(arguments: [
    ("http://example.com", "http://example.com"), ("http://example.com:80/a?b#c", "http://example.com"),
    ("https://example.com:443/", "https://example.com"), ("https://example.com:80/", "https://example.com:80"),
    ("http://example.com:443/", "http://example.com:443"), ("HTTP://EXAMPLE.com/", "http://example.com"),
    ("http://user:password@example.com/", "http://example.com"), ("http://[::1]:8080/", "http://[::1]:8080"),
    ("http://[FE80::A]/", "http://[fe80::a]"), ("http://127.0.0.1/", "http://127.0.0.1"),
    ("http://example.com./", "http://example.com."), ("http://example.com:/", "http://example.com"),
    ("http://a?b", "http://a"), ("https://a#b", "https://a"), ("http://a:8080", "http://a:8080"),
    ("http://a:080/", "http://a"), ("http://a.b@c/", "http://c"), ("http://a:1@b/", "http://b"),
    ("http://domain%5Cuser@b/", "http://b"),
    ("https://a:1?b", "https://a:1"), ("http://aB/", "http://ab"),
    ("http://%65xample.com/", "http://example.com"), ("http://a_b-c.d/", "http://a_b-c.d"),
    ("http://b%C3%BCcher.example/", "http://xn--bcher-kva.example"),
    ("http://B%C3%9CCHER.example:81/", "http://xn--bcher-kva.example:81"),
    ("http://XN--bcher-kva.example/", "http://xn--bcher-kva.example"),
    ("http://%E6%97%A5%E6%9C%AC%E3%80%82jp/", "http://xn--wgv71a.jp"),
    // UTS #46
    ("http://bu%CC%88cher.example/", "http://xn--bcher-kva.example"), ("http://%EF%BC%A1.b/", "http://a.b"),
    ("http://so%C2%ADft.b/", "http://soft.b"), ("http://fa%C3%9F.b/", "http://xn--fa-hia.b"),
    // symbols, as in browsers
    ("http://i%E2%9D%A4.ws/", "http://xn--i-7iq.ws"), ("http://i%E2%9D%A4%EF%B8%8F.ws/", "http://xn--i-7iq.ws"),
    ("http://xn--i-7iq.ws/", "http://xn--i-7iq.ws"), ("http://XN--LS8H.b/", "http://xn--ls8h.b"),
    ("http://a%E2%81%84b.c/", "http://xn--ab-c6t.c"), ("http://%EF%BC%A1%E2%9D%A4.b/", "http://xn--a-7iq.b"),
    ("http://foxn--a.b/", "http://foxn--a.b"), ("http://r3---sn.b/", "http://r3---sn.b"),
    // addresses
    ("http://127.1/", "http://127.0.0.1"), ("https://0x7f000001:81/", "https://127.0.0.1:81"),
    ("http://2130706433/", "http://127.0.0.1"), ("http://127.0.0.1./", "http://127.0.0.1"),
    ("http://%EF%BC%91.2/", "http://1.0.0.2"), ("http://1.2.3.4.a/", "http://1.2.3.4.a"),
    ("http://[0:0::0:1]/", "http://[::1]"), ("http://[fe80::1%25ETH0]/", "http://[fe80::1%ETH0]"),
  ])
  func originIsSchemeHostAndPort(_ text: String, expected: String) throws {
    let url = try #require(URL(string: text))
    let origin = try #require(Origin(url))

    #expect(origin.description == expected)
    #expect(origin.isSecure == expected.hasPrefix("https:"))
  }

  @Test(arguments: [
    ("http://a/", "https://a/"), ("http://a/", "http://b/"), ("http://a/", "http://a:81/"), ("http://a/", "http://a./"),
    ("http://a.b/", "http://b/"), ("http://[::1]/", "http://[::2]/"),
  ])
  func anotherSchemeHostOrPortIsAnotherOrigin(_ left: String, _ right: String) throws {
    let first = try #require(URL(string: left))
    let second = try #require(URL(string: right))

    #expect(Origin(first) != Origin(second))
  }

  @Test(arguments: [
    "ftp://example.com/", "file:///etc/passwd", "mailto:a@b", "/path", "http:", "http://", "http:///path",
    "http://:80/",
    "http://user@/", "http://a:0/", "http://a:65536/", "http://a:99999999/", "http://a%2Fb/", "http://a%00/",
    "http://a:18446744073709551696/", "http://a:4294967376/", "http://a%3A80/",
    "http://[127.0.0.1]/", "http://[a]/", "http://[v1.a]/", "http://[]/", "http://[::-0]/", "http://[fe80::1%25]/",
    "http://[::1%25%6co]/", "http:%5C%5Ca/", "http://1.2.3.4.5/", "http://256.1.1.1/", "http://08/",
    "http://a.1/", "http://4294967296/", "http://xn--a/", "http://xn--zn7c.b/", "http://xn--/", "http://%FF/",
    "http://%E2%84%80.b/", "http://%CC%81a/", "http://a%25/",
    // A symbol does not switch other checks off: U+2100, a joiner, a number of Arabic, ß.
    "http://%E2%84%80%E2%9D%A4.b/", "http://a%E2%80%8D%E2%9D%A4.b/", "http://%E2%9D%A4%D9%A0.b/",
    "http://%C3%9F%E2%9D%A4.b/", "http://%E2%92%88com.b/", "http://%EF%BC%A0%E2%9D%A4.b/",
    "http://a%20b/", "http://a%7Fb/", "http://a%40b/", "http://a%5Cb/", "http://a%3Fb/", "http://a,b/",
  ])
  func urlWithoutUsableHostHasNoOrigin(_ text: String) throws {
    let url = try #require(URL(string: text))

    #expect(Origin(url) == nil)
  }

  @Test(arguments: [
    ("http://[FE80::1%25eth0]:81/", "[fe80::1]:81"), ("https://[::1]/", "[::1]"), ("http://a:80/", "a"),
    ("https://B%C3%BCcher.example:80/", "xn--bcher-kva.example:80"),
  ])
  func authorityIsWhatTheHostFieldSays(_ text: String, expected: String) throws {
    #expect(Origin(try #require(URL(string: text)))?.authority == expected)
  }

  @Test func relativeURLTakesTheOriginOfItsBase() throws {
    let url = try #require(URL(string: "/b", relativeTo: URL(string: "https://Example.com/a")))

    #expect(Origin(url)?.description == "https://example.com")
  }

  @Test func redactedURLShowsNoSecret() throws {
    let table = [
      "https://user:password@example.com:8443/a%20b/c?token=secret#secret": "https://example.com:8443/a%20b/c?…",
      "http://[::1]:80/": "http://[::1]:80/", "http://h": "http://h", "http://h?": "http://h?…", "/a?b": "/a?…",
      "http://user@h/#x": "http://h/",
    ]
    for (text, expected) in table {
      #expect(try #require(URL(string: text)).redacted == expected)
    }
  }
}
