import MartletSemantics
import Testing

@Suite(.timeLimit(.minutes(5)))
struct MediaTypeTests {
  // RFC 9110 §8.3.1: type, subtype and parameter names are case-insensitive; these are equivalent.
  @Test(arguments: [
    "text/html;charset=utf-8", "Text/HTML;Charset=\"utf-8\"", "text/html; charset=\"utf-8\"",
    "text/html;charset=UTF-8", " text/html ; charset=utf-8 ;", "text/html;;charset=utf-8",
    "text/html; junk; charset=utf-8; =x",
  ])
  func caseWhiteSpaceAndQuotesDoNotMatter(_ text: String) throws {
    let type = try #require(MediaType(text))

    #expect(type == "text/html; charset=utf-8")
    #expect(type.hashValue == MediaType("text/html; charset=utf-8").hashValue)
    #expect(type.essence == "text/html")
    #expect(type.charset.map { $0.lowercased() } == "utf-8")
  }

  @Test(arguments: [
    "", "text", "/", "text/", "/html", "text/html, text/plain", "te xt/html", "text/ht ml", "text/html/x", ";a=b",
    "; charset=a/b", "tëxt/html", "text\\html", "text / html",
  ])
  func textWithoutTypeAndSubtypeIsNotAMediaType(_ text: String) {
    #expect(MediaType(text) == nil)
  }

  @Test(arguments: [
    ("a/b; x=1; y=2", "a/b; y=2; x=1", true), ("a/b; x=a", "a/b; X=a", true), ("a/b; x=a", "a/b; x=A", false),
    ("a/b", "a/b; x=1", false), ("a/b", "a/c", false), ("a/b", "c/b", false), ("a/b; x=1; x=2", "a/b; x=1", true),
  ])
  func equalityComparesParametersInAnyOrder(_ left: String, _ right: String, isEqual: Bool) {
    let (first, second) = (MediaType(left), MediaType(right))

    #expect(first != nil && second != nil)
    #expect((first == second) == isEqual)
  }

  @Test(arguments: [
    ("TEXT/Plain;CharSet=UTF-8", "text/plain; charset=UTF-8"), ("a/b", "a/b"), (#"a/b;c="d e""#, #"a/b; c="d e""#),
    (#"a/b;c="d""#, "a/b; c=d"), (#"a/b;c="open"#, "a/b; c=open"), ("image/svg+xml", "image/svg+xml"),
  ])
  func writingIsStrict(_ text: String, written: String) throws {
    #expect(try #require(MediaType(text)).description == written)
  }

  @Test(arguments: [
    ("image/png", "image/*", true), ("image/png", "*/*", true), ("image/png", "IMAGE/PNG", true),
    ("image/png", "text/*", false), ("image/png", "image/jpeg", false), ("imagex/png", "image/*", false),
    ("text/html; charset=utf-8", "text/html", true), ("text/html", "text/html; q=0.5", true),
    ("text/html; level=1", "text/html; level=1", true), ("text/html", "text/html; level=1", false),
    ("text/html; charset=UTF-8", "text/*; charset=utf-8", true),
    ("application/problem+json", "application/json", false),
  ])
  func typesMatchRanges(_ type: String, range: String, matches: Bool) throws {
    let type = try #require(MediaType(type))
    let range = try #require(MediaType(range))

    #expect(type.matches(range) == matches)
  }

  // RFC 6838 §4.2.8: the structured syntax suffix.
  @Test(arguments: [
    ("application/problem+json", "json", true), ("application/json", nil, true), ("text/json", nil, true),
    ("image/svg+xml", "xml", false), ("application/vnd.a+b+JSON", "json", true), ("application/a+", nil, false),
    ("image/json", nil, false), ("application/jsonp", nil, false),
  ])
  func suffixIsTheStructuredSyntax(_ text: String, suffix: String?, isJSON: Bool) throws {
    let type = try #require(MediaType(text))

    #expect(type.suffix == suffix)
    #expect(type.isJSON == isJSON)
  }

  @Test func boundaryCanBeSet() {
    var type = MediaType.multipartForm

    type.parameters["boundary"] = "a:b"

    #expect(type.description == #"multipart/form-data; boundary="a:b""#)
  }

  @Test func aLiteralThatIsNotAMediaTypeStopsTheProgram() async {
    await #expect(processExitsWith: .failure) { _ = MediaType(stringLiteral: "text") }
  }
}
