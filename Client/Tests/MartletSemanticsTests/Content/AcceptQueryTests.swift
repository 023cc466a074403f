import MartletSemantics
import Testing

/// `Accept-Query` (RFC 10008 §3).
struct AcceptQueryTests {
  @Test(
    arguments: [
      // §3 and the examples of appendix A
      (
        "\"application/jsonpath\", application/sql;charset=\"UTF-8\"",
        ["application/jsonpath", "application/sql; charset=UTF-8"]
      ),
      (
        "application/x-www-form-urlencoded, application/sql",
        ["application/x-www-form-urlencoded", "application/sql"]
      ),
      // a token and a string mean the same; a type may begin with a digit, which needs a string
      ("text/plain;charset=utf-8", ["text/plain; charset=utf-8"]),
      ("\"text/plain\";charset=\"utf-8\"", ["text/plain; charset=utf-8"]), ("\"4/x\"", ["4/x"]),
      // the wildcards
      ("*/*", ["*/*"]), ("\"text/*\"", ["text/*"]), ("\"*/x\"", []),
      // the range is without parameters, and these are tokens or strings
      ("\"text/plain;charset=utf-8\"", []), ("text/plain;level=1, a/b", ["a/b"]), ("17, (a/b), c/d", ["c/d"]),
      ("", []),
      // RFC 9651 §4.2: no structured field
      ("text/plain; q=", nil), ("4/x", nil), ("a/b,", nil),
    ] as [(String, [String]?)])
  func theTypesAreMediaRanges(_ value: String, _ types: [String]?) {
    let fields: HTTPFields = ["Accept-Query": value]
    #expect(fields.acceptQuery.map { $0.map(\.description).sorted() } == types?.sorted())
  }

  @Test func linesAreOneListAndAnAbsentFieldSaysNothing() {
    let fields: HTTPFields = ["accept-query": "a/b", "Accept-Query": "c/d"]
    #expect(fields.acceptQuery?.map(\.essence) == ["a/b", "c/d"])
    #expect(HTTPFields().acceptQuery == nil)
  }
}
