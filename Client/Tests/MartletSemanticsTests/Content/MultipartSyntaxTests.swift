import MartletSemantics
import Testing

@Suite(.timeLimit(.minutes(5)))
struct MultipartSyntaxTests {
  // HTML §4.10.21.8: `"`, CR and LF are escaped, nothing else; a lone CR or LF in a name becomes CRLF first.
  @Test(arguments: [
    ("plain", "plain"), ("", ""), ("a b", "a b"), ("Grüße 🐦", "Grüße 🐦"), ("50%", "50%"), ("a\\b", "a\\b"),
    ("say \"hi\"", "say %22hi%22"), ("a\r\nb", "a%0D%0Ab"), ("a\nb", "a%0D%0Ab"), ("a\rb", "a%0D%0Ab"),
    ("\n\r", "%0D%0A%0D%0A"), ("\r\r\n\n", "%0D%0A%0D%0A%0D%0A"), ("a;b='c'", "a;b='c'"),
  ])
  func nameIsQuotedAsInBrowsers(_ name: String, _ expected: String) {
    let head = MultipartSyntax.head(name: name, fileName: nil, contentType: nil, boundary: "B", isFirst: true)
    #expect(
      String(decoding: head, as: UTF8.self)
        == "--B\r\nContent-Disposition: form-data; name=\"\(expected)\"\r\n\r\n")
  }

  @Test(arguments: [
    ("photo.png", "photo.png"), ("", ""), ("a\nb", "a%0Ab"), ("a\rb", "a%0Db"), ("\"", "%22"), ("ü/ö", "ü/ö"),
  ])
  func fileNameKeepsItsLineEnds(_ name: String, _ expected: String) {
    let head = MultipartSyntax.head(
      name: "f", fileName: name, contentType: "text/plain; charset=utf-8", boundary: "B", isFirst: false)
    #expect(
      String(decoding: head, as: UTF8.self) == """
        \r\n--B\r\nContent-Disposition: form-data; name="f"; filename="\(expected)"\r\n\
        Content-Type: text/plain; charset=utf-8\r\n\r\n
        """)
  }

  @Test func closingDelimiterStandsAloneWithoutParts() {
    #expect(MultipartSyntax.end(boundary: "B", isEmpty: true) == Data("--B--\r\n".utf8))
    #expect(MultipartSyntax.end(boundary: "B", isEmpty: false) == Data("\r\n--B--\r\n".utf8))
  }

  // RFC 2046 §5.1.1: up to 70 characters; it needs no quotes if it consists of letters, digits and dashes.
  @Test func boundaryIsATokenOfAtMost70Characters() {
    let boundary = MultipartSyntax.boundary { .max }
    #expect(boundary.utf8.count <= 70)
    #expect(Token.isValid(boundary))
    #expect(MultipartSyntax.boundary { 1 } != MultipartSyntax.boundary { 2 })
  }

  @Test(arguments: [
    ("", true), ("ab", true), ("abc", false), ("xxabc", false), ("abcxx", false), ("aabc", false), ("ab-c", true),
  ])
  func boundaryIsSearchedInTheContent(_ content: String, isFree: Bool) {
    #expect(MultipartSyntax.isFree("abc", in: Data(content.utf8)) == isFree)
    #expect(MultipartSyntax.isFree("abc", in: Data("--\(content)".utf8).dropFirst(2)) == isFree)
  }

  @Test(arguments: [
    ("a.png", "image/png"), ("A.PNG", "image/png"), ("a.tar.gz", "application/gzip"), ("a", "application/octet-stream"),
    ("a.", "application/octet-stream"), (".txt", "text/plain"), ("ü.jpeg", "image/jpeg"),
    ("a.never", "application/octet-stream"), ("", "application/octet-stream"),
  ])
  func typeIsGuessedFromTheExtension(_ name: String, _ type: String) {
    #expect(MediaType.ofFile(named: name).description == type)
  }
}
