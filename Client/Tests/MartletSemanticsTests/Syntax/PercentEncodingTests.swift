import MartletSemantics
import Testing

@Suite(.timeLimit(.minutes(5)))
struct PercentEncodingTests {
  private static let ascii = String(decoding: (32...126 as ClosedRange<UInt8>), as: UTF8.self)
  private static let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

  // RFC 3986 §3.3 (pchar), ECMA-262 `encodeURIComponent`, WHATWG URL “application/x-www-form-urlencoded”.
  @Test(
    arguments: [
      (
        .pathSegment,
        "%20!%22%23$%25&'()*+,-.%2F0123456789:;%3C=%3E%3F@\(letters)%5B%5C%5D%5E_%60\(letters.lowercased())%7B%7C%7D~"
      ),
      (
        .queryComponent,
        "%20!%22%23%24%25%26'()*%2B%2C-.%2F0123456789%3A%3B%3C%3D%3E%3F%40\(letters)%5B%5C%5D%5E_%60"
          + "\(letters.lowercased())%7B%7C%7D~"
      ),
      (
        .form,
        "+%21%22%23%24%25%26%27%28%29*%2B%2C-.%2F0123456789%3A%3B%3C%3D%3E%3F%40\(letters)%5B%5C%5D%5E_%60"
          + "\(letters.lowercased())%7B%7C%7D%7E"
      ),
    ] as [(PercentEncoding, String)])
  func eachComponentHasItsOwnAllowedCharacters(_ encoding: PercentEncoding, expected: String) {
    #expect(encoding.encode(Self.ascii) == expected)
  }

  @Test(arguments: [.pathSegment, .queryComponent, .form] as [PercentEncoding])
  func encodingRoundTrips(_ encoding: PercentEncoding) {
    let text = Self.ascii + "ü€😀\r\n\t\0\u{7F}\u{80}%2B%zz"

    let encoded = encoding.encode(text)

    #expect(encoding.decode(encoded) == text)
    #expect(encoded.utf8.allSatisfy { $0 > 32 && $0 < 127 })
    #expect(URL(string: "http://h/?\(encoded)", encodingInvalidCharacters: false) != nil)
  }

  @Test func bytesOfUTF8AreWrittenInUpperCaseDigits() {
    #expect(PercentEncoding.pathSegment.encode("ü/😀") == "%C3%BC%2F%F0%9F%98%80")
    #expect(PercentEncoding.pathSegment.encode("") == "")
    #expect(PercentEncoding.pathSegment.encode("plain"[...]) == "plain")
  }

  @Test func plusSurvivesInAQuery() {
    let query = PercentEncoding.queryComponent.encode([("q", "1+1 = 2")])

    #expect(query == "q=1%2B1%20%3D%202")
    #expect(PercentEncoding.queryComponent.pairs(in: query).first?.value == "1+1 = 2")
    #expect(PercentEncoding.form.pairs(in: query).first?.value == "1+1 = 2")
    #expect(PercentEncoding.queryComponent.decode("1+1") == "1+1")
    #expect(PercentEncoding.form.decode("1+1") == "1 1")
  }

  // WHATWG URL §1.3: a percent sign without two digits is kept, and bytes that are not UTF-8 are replaced.
  @Test(arguments: [
    ("%", "%"), ("%4", "%4"), ("%zz", "%zz"), ("%41%4", "A%4"), ("%c3%bc", "ü"), ("%C3", "\u{FFFD}"), ("%%41", "%A"),
    ("%2525", "%25"), ("ü", "ü"), ("%+1", "%+1"),
  ])
  func decodingIsLenient(_ text: String, expected: String) {
    #expect(PercentEncoding.pathSegment.decode(text) == expected)
  }

  // WHATWG URL §5.1 and §5.2.
  @Test(arguments: [
    ("a=b&c=d", ["a:b", "c:d"]), ("a", ["a:"]), ("a=", ["a:"]), ("=b", [":b"]), ("=", [":"]), ("", []),
    ("&&a=b&", ["a:b"]),
    ("a=b=c", ["a:b=c"]), ("a+b=c%20d%26", ["a b:c d&"]), ("a=1&a=2", ["a:1", "a:2"]), ("%3D=%26", ["=:&"]),
  ])
  func formIsReadAsPairs(_ text: String, expected: [String]) {
    #expect(PercentEncoding.form.pairs(in: text).map { "\($0.name):\($0.value)" } == expected)
  }

  @Test func formIsWrittenFromPairs() {
    #expect(PercentEncoding.form.encode([("a b", "c&d"), ("a b", ""), ("~", "ü")]) == "a+b=c%26d&a+b=&%7E=%C3%BC")
    #expect(PercentEncoding.form.encode([]) == "")
  }
}
