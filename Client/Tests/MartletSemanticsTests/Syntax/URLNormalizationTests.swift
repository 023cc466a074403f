import FoundationEssentials
@_spi(Toolkit) import MartletSemantics
import Testing

@Suite struct URLNormalizationTests {
  @Test(arguments: [
    // RFC 3986 §5.2.4; an encoded dot is one too (URL Standard, "single-dot URL path segment")
    ("/a/b/c/./../../g", "/a/g"), ("/mid/content=5/../6", "/mid/6"), ("/.", "/"), ("/..", "/"), ("/../", "/"),
    ("/../../a", "/a"), ("/a/.", "/a/"), ("/a/..", "/"), ("/a/../", "/"), ("/a/./", "/a/"), ("/./a", "/a"),
    ("/a//../b", "/a/b"), ("//../a", "/a"), ("//a/..", "//"), ("/a/%2e%2E/b", "/b"), ("/a/.%2e/b", "/b"),
    ("/a/%2e./b", "/b"), ("/a/%2E", "/a/"),
    // no dot segments
    ("/", nil), ("", nil), ("/a", nil), ("/.a", nil), ("/a./b.", nil), ("/...", nil), ("/%2e%2e%2e", nil),
    ("/..;/a", nil), ("/%252e%252e/a", nil), ("/a%2F..%2Fb", nil), ("/.%00./a", nil), ("/%2", nil), ("/.%2", nil),
  ])
  func dotSegmentsAreRemoved(_ path: String, _ expected: String?) throws {
    #expect(DotSegments.removed(from: path) == expected)
    let url = try #require(URL(string: "http://u:p@a.example:81\(path)?q=/../r#/../f"))
    #expect(url.normalized()?.absoluteString == expected.map { "http://u:p@a.example:81\($0)?q=/../r#/../f" })
    #expect(url.normalized(keepsDotSegments: true) == nil)
  }

  @Test(arguments: [
    ("http://127.1/a", "http://127.0.0.1/a"), ("http://u@2130706433:81?b", "http://u@127.0.0.1:81?b"),
    ("http://%61/", "http://a/"), ("http://bu%CC%88cher/#f", "http://xn--bcher-kva/#f"),
    ("http://[0::1]:81/", "http://[::1]:81/"), ("http://[fe80:0::1%25eth0]/", "http://[fe80::1%25eth0]/"),
    ("http://a/", nil), ("HTTP://A.b/", nil), ("http://[::1]/", nil), ("http://u:p@a:81/", nil), ("http://a.:81", nil),
    // no host
    ("/a/../b", nil), ("http:/a", nil), ("mailto:a@b", nil), ("http://a%3A/", nil),
  ])
  func theHostIsWrittenInItsOneText(_ text: String, _ expected: String?) throws {
    #expect(try #require(URL(string: text)).normalized()?.absoluteString == expected)
  }

  @Test(arguments: [
    "\\\\a", "/\\a", "\\/a", "//a\\b", "//a\\@b/", "http:\\\\a", "http:/\\a", "http:\\a", "http://a\\b",
    "https://a:80\\@b",
  ])
  func aBackslashBeforeThePathIsRefused(_ text: String) { #expect(URL(text: text) == nil) }

  /// An escape would be read as the zone of an address.
  @Test(arguments: ["http://[::1 ]/", "http://[::%31]/", "//[::1%20]", "http://u@[::1\t]/"])
  func bracketsHaveNoEscapes(_ text: String) { #expect(URL(text: text) == nil) }

  @Test(arguments: ["/a\\b", "http://a/\\b", "http://a?\\", "//a#\\", "a\\b", "/a//\\b"])
  func aBackslashBehindTheAuthorityIsEncoded(_ text: String) {
    #expect(
      URL(text: text)?.absoluteString
        == text.split(separator: "\\", omittingEmptySubsequences: false).joined(separator: "%5C"))
  }
}
