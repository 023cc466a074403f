@_spi(Toolkit) import MartletSemantics
import TestSupport
import Testing

/// RFC 9111 §4.1.
struct VaryRuleTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let vary: HTTPFields
    let asked: HTTPFields
    let asks: HTTPFields
    let matches: Bool

    init(_ what: String, _ vary: HTTPFields, _ asked: HTTPFields, _ asks: HTTPFields, _ matches: Bool) {
      testDescription = what
      self.vary = vary
      self.asked = asked
      self.asks = asks
      self.matches = matches
    }
  }

  @Test(arguments: [
    Row("no Vary", [:], ["Foo": "1"], ["Foo": "2"], true),
    Row("same value", [.vary: "Foo"], ["Foo": "1"], ["Foo": "1"], true),
    Row("other value", [.vary: "Foo"], ["Foo": "1"], ["Foo": "2"], false),
    Row("missing now", [.vary: "Foo"], ["Foo": "1"], [:], false),
    Row("missing then", [.vary: "Foo"], [:], ["Foo": "1"], false),
    Row("empty is not missing", [.vary: "Foo"], [:], ["Foo": ""], false),
    Row("a dash is not missing", [.vary: "Foo"], [:], ["Foo": "-"], false),
    Row("a missing one is not a dash", [.vary: "Foo"], ["Foo": "-"], [:], false),
    Row("a dash is a dash", [.vary: "Foo"], ["Foo": "-"], ["Foo": "-"], true),
    Row("a dash is no other value", [.vary: "Foo"], ["Foo": "-"], ["Foo": "=-"], false),
    Row("missing both times", [.vary: "Foo"], [:], [:], true),
    Row("a field that is not named", [.vary: "Foo"], ["Foo": "1", "Bar": "2"], ["Foo": "1", "Bar": "3"], true),
    Row("two names", [.vary: "Foo, Bar"], ["Foo": "1", "Bar": "2"], ["Bar": "2", "Foo": "1"], true),
    Row("two names, one other", [.vary: "Foo, Bar"], ["Foo": "1", "Bar": "2"], ["Foo": "1", "Bar": "3"], false),
    Row("names on two lines", [.vary: "Foo", .vary: "Bar"], ["Bar": "2"], ["Bar": "3"], false),
    Row("names have no case", [.vary: "fOO"], ["Foo": "1"], ["FOO": "2"], false),
    Row("white space at commas", [.vary: "Foo"], ["Foo": "1,2"], ["Foo": " 1, 2 "], true),
    Row("combined lines", [.vary: "Foo"], ["Foo": "1, 2"], ["Foo": "1", "Foo": "2"], true),
    Row("order, of an unknown field", [.vary: "Foo"], ["Foo": "1, 2"], ["Foo": "2, 1"], false),
    Row("case, of an unknown field", [.vary: "Foo"], ["Foo": "a"], ["Foo": "A"], false),
    Row(
      "order of languages", [.vary: "Accept-Language"], [.acceptLanguage: "en, de"], [.acceptLanguage: "de, en"], true),
    Row(
      "case of languages", [.vary: "Accept-Language"], [.acceptLanguage: "en, de"], [.acceptLanguage: "eN, De"], true),
    Row(
      "space in languages", [.vary: "Accept-Language"], [.acceptLanguage: "en, de"], [.acceptLanguage: " en ,   de"],
      true),
    Row(
      "weights of languages", [.vary: "Accept-Language"], [.acceptLanguage: "en, de;q=0.5"],
      [.acceptLanguage: "de, en;q=0.5"], false),
    Row("case of encodings", [.vary: "Accept-Encoding"], [.acceptEncoding: "gzip"], [.acceptEncoding: "GZIP"], true),
    Row("order of types", [.vary: "Accept"], [.accept: "a/b, c/d ;q=0.1"], [.accept: "c/d;q=0.1,a/b"], true),
    Row("encoded bytes for a reader that decodes", [.contentEncoding: "br"], [.acceptEncoding: "br"], [:], false),
    Row(
      "encoded bytes for a reader that asked for them", [.contentEncoding: "br"], [.acceptEncoding: "br"],
      [.acceptEncoding: "BR"], true),
    Row("encoded bytes unasked", [.contentEncoding: "br"], [:], [:], true),
    Row("plain bytes for a reader that takes encoded ones", [:], [:], [.acceptEncoding: "br"], true),
    Row("credentials count always", [:], [.authorization: "Bearer a"], [.authorization: "Bearer b"], false),
    Row("and their absence", [:], [.authorization: "Bearer a"], [:], false),
    Row("not for what is public", [.cacheControl: "public"], [.authorization: "Bearer a"], [:], true),
  ])
  func variantsAreDistinguished(row: Row) {
    let stored = StoredResponse(row.vary, for: row.asked)

    #expect(VaryRule.matches(stored, row.asks) == row.matches)
  }

  @Test(
    arguments: [
      ([:], ["Authorization": "Bearer b"], true), ([:], [:], true),
      ([.vary: "Authorization"], ["Authorization": "Bearer b"], true),
      ([.vary: "Accept, Authorization, Cookie"], ["Authorization": "Bearer b"], true),
      ([.vary: "Accept, Authorization, Cookie"], ["Authorization": "Bearer b", "Cookie": "id=1"], false),
      ([.vary: "Foo"], ["Authorization": "Bearer b", "Foo": "1"], false),
    ] as [(HTTPFields, HTTPFields, Bool)])
  func aNamedPartitionReplacesTheCredentials(response: HTTPFields, asks: HTTPFields, matches: Bool) {
    var stored = StoredResponse(response)
    stored.variant = VaryRule.variant(of: stored.head, for: [.authorization: "Bearer a"], in: "anna")

    #expect(VaryRule.matches(stored, asks, in: "anna") == matches)
  }

  @Test(arguments: [HTTPStatus.unauthorized, .forbidden])
  func refusalsAreSeparatedByCredentialsInPartitionsToo(_ status: HTTPStatus) {
    var stored = StoredResponse([:], status: status)
    stored.variant = VaryRule.variant(of: stored.head, for: [.authorization: "Bearer a"], in: "anna")

    #expect(VaryRule.matches(stored, [.authorization: "Bearer a"], in: "anna"))
    #expect(!VaryRule.matches(stored, [.authorization: "Bearer b"], in: "anna"))
    #expect(!VaryRule.matches(stored, [:], in: "anna"))
  }

  @Test(
    arguments: [
      ("http://a.example/", [:], false), ("http://a.example/", [.host: "A.example"], false),
      ("http://a.example/", [.host: "a.example:80"], false), ("http://a.example/", [.host: "a.example:81"], true),
      ("http://a.example:81/", [.host: "a.example:81"], false), ("http://a.example:81/", [.host: "a.example"], true),
      ("https://a.example/", [.host: "a.example:443"], false), ("https://a.example/", [.host: "a.example:80"], true),
      ("http://127.0.0.1/", [.host: "a.example"], true), ("http://a.example/", [.host: ""], true),
      ("http://a.example/", [.host: "a.example", .host: "b.example"], true), ("http://[::1]/", [.host: "[::1]"], false),
      ("http://[::1]/", [.host: "[::1]:80"], false), ("http://a.example/", [.host: "x@a.example"], true),
    ] as [(String, HTTPFields, Bool)])
  func aForeignHostFieldIsDetected(url: String, fields: HTTPFields, isForeign: Bool) {
    #expect(
      CacheKey.isForeignHost(in: RequestHead(method: .get, url: TestSupport.url(url), fields: fields)) == isForeign)
  }

  @Test func theMostRecentThatMatchesIsPreferred() {
    let stored = [
      StoredResponse([.date: moment(-5), .vary: "Foo"], for: ["Foo": "1"]),
      StoredResponse([.date: moment(-1)]),
      StoredResponse([.date: moment(0), .vary: "Foo"], for: ["Foo": "2"]),
    ].map { StoredCandidate($0, length: 0) }

    #expect(VaryRule.select(for: ["Foo": "1"], among: stored) == 1)
    #expect(VaryRule.select(for: ["Foo": "2"], among: stored) == 2)
    #expect(VaryRule.select(for: ["Foo": "1"], among: [stored[2]]) == nil)
  }

  @Test func variantsDoNotRevealTheirFields() {
    let variant = VaryRule.variant(of: ResponseHead(status: .ok), for: [.authorization: "Bearer secret"])

    #expect(!variant.contains("secret"))
    #expect(variant.count == 65)
  }

  @Test(arguments: [
    (Named("nothing", ""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    (Named("abc", "abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      Named("56 letters", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    (
      Named("1000 letters", String(repeating: "a", count: 1000)),
      "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"
    ),
  ])
  func fingerprintsAreThoseOfSHA256(text: Named<String>, digest: String) {
    #expect(Fingerprint.of(text.value) == digest)
  }
}
