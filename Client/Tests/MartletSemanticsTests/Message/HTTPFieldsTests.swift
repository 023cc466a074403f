@_spi(Toolkit) import MartletSemantics
import Testing

@Suite(.timeLimit(.minutes(5)))
struct HTTPFieldsTests {
  // RFC 9110 §5.5: CR, LF and NUL are dangerous, other control characters invalid.
  @Test(arguments: ["a\rb", "a\nb", "a\r\nSet-Cookie: b", "\n", "a\0b", "a\u{7F}", "\u{1}", "a\u{1B}b", "\u{1F}"])
  func valueWithControlCharacterIsRefused(_ value: String) {
    var set: HTTPFields = [.accept: "old"]
    var appended = set
    let literal: HTTPFields = ["X-A": value]

    set[.accept] = value
    appended.append(value, for: .accept)

    #expect(set.refusal == .invalidValue(name: "Accept"))
    #expect(set[.accept] == "old")
    #expect(appended.refusal == .invalidValue(name: "Accept"))
    #expect(appended.count == 1)
    #expect(literal.refusal == .invalidValue(name: "X-A"))
    #expect(literal.isEmpty)
    #expect(throws: HTTPFields.Refusal.invalidValue(name: "Accept")) { try set.validate() }
  }

  /// Values are checked eight bytes at a time.
  @Test(arguments: 0..<18)
  func everyControlCharacterIsRefusedAtEveryPosition(_ position: Int) {
    for code in 0..<UInt8(128) {
      let value = String(repeating: "x", count: position) + String(UnicodeScalar(code)) + "xxxx"
      var fields = HTTPFields()
      fields.append(value, for: .accept)
      let isAllowed = code == 9 || (32...126).contains(code)
      #expect((fields.refusal == nil) == isAllowed, "\(code)")
    }
  }

  @Test func linesOfOtherFieldsAreAppendedWithTheirRefusal() {
    var fields: HTTPFields = [.accept: "a"]
    fields.append(contentsOf: [.cookie: "b=1", .accept: "c"])
    #expect(fields.map(\.value) == ["a", "b=1", "c"])
    #expect(fields.refusal == nil)
    fields.append(contentsOf: [.cookie: "\0"])
    #expect(fields.refusal == .invalidValue(name: "Cookie"))
  }

  @Test(arguments: [
    ("plain", "plain"), ("", ""), ("  ", ""), (" a ", "a"), ("\ta\t b \t", "a\t b"), ("ü €", "ü €"),
    ("é\u{301} ", "é\u{301}"), ("a\"b\\c", "a\"b\\c"), ("\u{80}", "\u{80}"),
  ])
  func otherValuesAreKeptWithoutSurroundingWhiteSpace(_ value: String, kept: String) throws {
    var fields = HTTPFields()

    fields.append(value, for: "X-A")

    try fields.validate()
    #expect(fields["X-A"] == kept)
  }

  @Test func firstRefusalIsRemembered() {
    var fields = HTTPFields()

    fields.append("fine", forName: "bad name")
    fields["X-A"] = "\n"
    fields["X-A"] = "fine"

    #expect(fields.refusal == .invalidName("bad name"))
    #expect(fields.count == 1)
  }

  @Test func orderAndRepeatsAreKept() {
    var fields: HTTPFields = ["B": "1", "A": "2", "b": "3"]

    fields.append("4", for: "a")
    fields.append("5", forName: "C")

    #expect(fields.map(\.name.rawName) == ["B", "A", "b", "a", "C"])
    #expect(fields.map(\.value) == ["1", "2", "3", "4", "5"])
    #expect(fields[values: "B"] == ["1", "3"])
    #expect(fields.count == 5)
    #expect(!fields.isEmpty)
  }

  // RFC 9110 §5.3: lines are combined in order, separated by comma and optional white space.
  @Test func linesAreJoinedWithACommaAndCookiesWithASemicolon() {
    let fields: HTTPFields = [.accept: "a", .cookie: "x=1", "ACCEPT": "b, c", .cookie: "y=2", .vary: ""]

    #expect(fields[.accept] == "a, b, c")
    #expect(fields[.cookie] == "x=1; y=2")
    #expect(fields[.vary] == "")
    #expect(fields[.age] == nil)
  }

  @Test func settingReplacesAllLinesAtThePlaceOfTheFirst() {
    var fields: HTTPFields = ["A": "1", "B": "2", "a": "3", "C": "4", "A": "5"]

    fields["A"] = "new"
    fields["B"] = "two"
    fields["D"] = "last"

    #expect(fields.map { "\($0.name)=\($0.value)" } == ["A=new", "B=two", "C=4", "D=last"])
  }

  @Test func settingNilRemovesAllLines() {
    var fields: HTTPFields = ["A": "1", "B": "2", "a": "3"]

    fields["a"] = nil
    fields.remove("Missing")

    #expect(fields.map(\.value) == ["2"])
    #expect(!fields.contains("A"))
    #expect(fields.contains("b"))
  }

  @Test func emptyValueIsAField() {
    #expect(([.host: ""] as HTTPFields).contains(.host))
  }

  // RFC 9110 §5.5: a recipient replaces CR, LF and NUL with SP; a parser excludes white space around the value.
  @Test(arguments: [
    ("a\0b", "a b"), ("a\r\n b", "a   b"), ("\u{7F}a\u{1}", "a"), ("\t a ", "a"), ("", ""), ("a\tb", "a\tb"),
  ])
  func controlCharacterThatWasReceivedBecomesASpace(_ value: String, kept: String) {
    var fields = HTTPFields()

    fields.appendReceived("X-A", value)

    #expect(fields[values: "X-A"] == [kept])
    #expect(fields.refusal == nil)
  }

  // RFC 6265bis §5.6: a cookie with a control character must be ignored, so it must not be replaced by a space.
  @Test func receivedCookieKeepsItsControlCharacters() {
    var fields = HTTPFields()

    fields.appendReceived("set-cookie", " a=b\u{1}c ")

    #expect(fields[values: .setCookie] == ["a=b\u{1}c"])
    fields.append("a=b\u{1}c", for: .setCookie)
    #expect(fields.refusal != nil)
  }

  @Test func equalityComparesOrderButNotTheCaseOfNames() {
    #expect((["A": "1", "B": "2"] as HTTPFields) == ["a": "1", "b": "2"])
    #expect((["A": "1", "B": "2"] as HTTPFields) != ["B": "2", "A": "1"])
    #expect((["A": "x"] as HTTPFields) != ["A": "X"])
  }

  @Test func descriptionLeavesOutCredentials() {
    let fields: HTTPFields = [
      .accept: "text/html", .authorization: "Bearer secret", .cookie: "secret", .setCookie: "secret",
      .proxyAuthorization: "secret",
    ]

    #expect(
      "\(fields)" == """
        Accept: text/html
        Authorization: Bearer ***
        Cookie: ***
        Set-Cookie: ***
        Proxy-Authorization: ***
        """)
  }
}
