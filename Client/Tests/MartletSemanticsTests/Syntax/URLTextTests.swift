import FoundationEssentials
@_spi(Toolkit) import MartletSemantics
import Testing

@Suite struct URLTextTests {
  @Test(
    arguments: [
      ("https://a.example/b", "https://a.example/b"),
      ("https://a.example/b c/ü?q=a b#d e", "https://a.example/b%20c/%C3%BC?q=a%20b#d%20e"),
      ("https://a.example/50%25%zz", "https://a.example/50%25%25zz"),
      ("https://[::1]:8080/[a]", "https://[::1]:8080/%5Ba%5D"),
      ("orders", "orders"), ("/orders?page=2", "/orders?page=2"), ("?page=2", "?page=2"),
      ("//b.example/c", "//b.example/c"),
      ("", nil), ("http://[::1", nil), ("http://a.example:port/", nil),
    ] as [(String, String?)])
  func textIsAURLOfWhichOnlyInvalidCharactersAreEncoded(_ text: String, _ url: String?) {
    #expect(URL(text: text)?.absoluteString == url)
  }

  @Test(arguments: [
    ("/a", "/a?n=1%2B1&s=x%20y"), ("/a?", "/a?n=1%2B1&s=x%20y"), ("/a?b=c", "/a?b=c&n=1%2B1&s=x%20y"),
    ("/a?b=c&", "/a?b=c&n=1%2B1&s=x%20y"), ("/a#d?e", "/a?n=1%2B1&s=x%20y#d?e"),
    ("/a?b#d", "/a?b&n=1%2B1&s=x%20y#d"), ("", "?n=1%2B1&s=x%20y"),
  ])
  func pairsAreAddedToTheQueryBeforeTheFragment(_ url: String, _ whole: String) {
    #expect(URL.text(url, adding: [("n", "1+1"), ("s", "x y")]) == whole)
  }

  @Test func noPairsChangeNothing() { #expect(URL.text("/a?#", adding: []) == "/a?#") }

  @Test(arguments: [
    // RFC 3986 §5.2, with the base taken as a folder
    ("https://a.example/v1", "orders", "https://a.example/v1/orders"),
    ("https://a.example/v1/", "orders", "https://a.example/v1/orders"),
    ("https://a.example", "orders", "https://a.example/orders"),
    ("https://a.example/v1?key=1#top", "orders?a=b#c", "https://a.example/v1/orders?a=b#c"),
    ("https://a.example/v1", "/orders", "https://a.example/orders"),
    ("https://a.example/v1", "?page=2", "https://a.example/v1/?page=2"),
    ("https://a.example/v1", "./a/../b", "https://a.example/v1/b"),
    ("https://a.example/v1/x", "../y", "https://a.example/v1/y"),
    ("https://a.example/v1", "../../../y", "https://a.example/y"),
    ("https://a.example/v1", "//b.example/c", "https://b.example/c"),
    ("https://user:pass@a.example:81/v1", "orders", "https://user:pass@a.example:81/v1/orders"),
    ("https://user:pass@a.example/v1", "//b.example/c", "https://b.example/c"),
    ("https://a.example/v%201", "b%2Fc", "https://a.example/v%201/b%2Fc"),
    ("https://a.example/v1", "http://b.example", "http://b.example"),
    ("https://a.example/v1", "localhost:80/x", "localhost:80/x"),
  ])
  func referenceIsResolvedInTheFolderOfTheBase(_ base: String, _ reference: String, _ url: String) throws {
    let base = try #require(URL(string: base))
    let reference = try #require(URL(string: reference))
    #expect(reference.resolved(inFolder: base).absoluteString == url)
  }
}
