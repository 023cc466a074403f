import FoundationEssentials
import MartletSemantics
import Testing

@Suite struct WebLinkTests {
  private func links(_ values: String...) -> [WebLink] {
    var fields = HTTPFields()
    for value in values { fields.append(value, for: .link) }
    return fields.links
  }

  @Test(arguments: [
    // RFC 8288 §3.5
    (
      "<http://example.com/TheBook/chapter2>; rel=\"previous\"; title=\"previous chapter\"",
      ["http://example.com/TheBook/chapter2 previous"]
    ),
    ("</>; rel=\"http://example.net/foo\"", ["/ http://example.net/foo"]),
    ("</terms>; rel=\"copyright\"; anchor=\"#foo\"", ["/terms copyright"]),
    (
      "<http://example.org/>; rel=\"start http://example.net/relation/other\"",
      ["http://example.org/ start http://example.net/relation/other"]
    ),
    (
      "<https://a.example/?page=2>; rel=\"next\", <?page=9>; rel=last",
      ["https://a.example/?page=2 next", "?page=9 last"]
    ),
    // target: commas, semicolons and white space
    ("<a,b;c>;rel=next,<d>;rel=\"prev\"", ["a,b;c next", "d prev"]),
    (" , < a > ; rel = NEXT ,,", ["a next"]),
    ("<>; rel=self", [" self"]),
    // §3.3: the first rel counts
    ("<a>; rel=next; rel=prev", ["a next"]),
    ("<a>; title=\"x, <b>; rel=\\\"prev\\\"\"; rel=next, <c>", ["a next", "c "]),
    ("<a>; rel; foo=, <b>; rel=next", ["a ", "b next"]),
    // not links
    ("", []), ("a; rel=next", []), ("a, <b>; rel=next", ["b next"]), ("\"x, y\", <b>; rel=next", ["b next"]),
    ("<a; rel=next", []), ("<a; rel=next, <b>; rel=prev", ["a; rel=next, <b prev"]),
  ])
  func fieldIsAListOfLinks(_ value: String, _ expected: [String]) {
    #expect(links(value).map { "\($0.target) \($0.relations.joined(separator: " "))" } == expected)
  }

  /// It takes minutes if each beginning is compared with the whole rest.
  @Test(.timeLimit(.minutes(1))) func manyLinksWithoutAnEndAreNone() {
    #expect(links(String(repeating: "<,", count: 2_000_000)).isEmpty)
  }

  @Test func linesAreOneList() {
    #expect(links("<a>; rel=next", "<b>; rel=prev").map(\.target) == ["a", "b"])
  }

  @Test(
    arguments: [
      ("<a>; title=\"plain\"", "plain"), ("<a>; title*=UTF-8'de'n%c3%a4chstes%20Kapitel", "nächstes Kapitel"),
      ("<a>; title=\"plain\"; title*=utf-8''%E2%82%AC", "€"), ("<a>; title*=iso-8859-1''%A3; title=p", "£"),
      ("<a>; title*=utf-8''%FF; title=plain", "plain"), ("<a>; title*=utf-8''%; title=plain", "plain"),
      ("<a>; title*=x''a; title=plain", "plain"), ("<a>; title*=a", nil), ("<a>", nil),
    ] as [(String, String?)])
  func extendedTitleTakesPrecedence(_ value: String, _ title: String?) { #expect(links(value).first?.title == title) }

  @Test func anchorSaysThatTheLinkIsOfAnotherResource() {
    #expect(links("<a>; rel=next; anchor=\"/other\"").first?.anchor == "/other")
    #expect(links("<a>; rel=next").first?.anchor == nil)
  }

  @Test(
    arguments: [
      ("?page=2", "https://a.example/orders?page=2"), ("/x", "https://a.example/x"), ("x y", "https://a.example/x%20y"),
      ("//b.example/x", "https://b.example/x"), ("http://b.example", "http://b.example"),
      ("", "https://a.example/orders?page=1"), ("http://[", nil),
    ] as [(String, String?)])
  func targetIsRelativeToTheResponse(_ target: String, _ url: String?) throws {
    let base = try #require(URL(string: "https://a.example/orders?page=1"))
    #expect(WebLink(target: target).url(relativeTo: base)?.absoluteString == url)
  }
}
