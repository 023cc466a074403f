import MartletSemantics
import Testing

/// RFC 9651 §3 and §4, character by character and size by size.
@Suite(.timeLimit(.minutes(5)))
struct StructuredFieldGrammarTests {
  private typealias Item = StructuredField.Item
  private typealias Dictionary = StructuredField.Dictionary

  private func parses(_ text: String) -> Bool { (try? Item(parsing: text)) != nil }

  private static let lower = Set("abcdefghijklmnopqrstuvwxyz")
  private static let letters = lower.union(Set("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
  private static let digits = Set("0123456789")
  private static let keyStart = lower.union(["*"])
  private static let inKeys = keyStart.union(digits).union(Set("_-."))
  private static let inTokens = letters.union(digits).union(Set("!#$%&'*+-.^_`|~:/"))

  @Test func keysHaveTheirCharacters() {
    for value in UInt8.min...127 {
      let character = Character(Unicode.Scalar(value))
      let (first, later) = (Self.keyStart.contains(character), Self.inKeys.contains(character))
      #expect(
        ((try? Dictionary(parsing: "a, \(character)a=1")) != nil) == (first || Set(" \t").contains(character)),
        "first in a key: \(value)")
      // A space, a tab, a comma, a semicolon and an equals sign end the key.
      if !Set(" \t,;=").contains(character) {
        #expect(((try? Dictionary(parsing: "a\(character)a=1")) != nil) == later, "in a key: \(value)")
        #expect(((try? Item(parsing: "1;a\(character)a")) != nil) == later, "in a parameter's key: \(value)")
      }
      let isSent = (try? (["\(character)": .item(Item(.integer(1)))] as Dictionary).serialized()) != nil
      #expect(isSent == first, "sent as a key: \(value)")
      let isSentLater = (try? (["a\(character)": .item(Item(.integer(1)))] as Dictionary).serialized()) != nil
      #expect(isSentLater == later, "sent in a key: \(value)")
    }
  }

  @Test func tokensHaveTheirCharacters() {
    for value in UInt8.min...127 {
      let character = Character(Unicode.Scalar(value))
      let first = Self.letters.contains(character) || character == "*"
      let later = Self.inTokens.contains(character)
      if !first { #expect((try? Item(parsing: "\(character)a"))?.value != .token("\(character)a")) }
      #expect(((try? Item(parsing: "a\(character)a"))?.value == .token("a\(character)a")) == later, "\(value)")
      #expect(((try? Item(.token("\(character)")).serialized()) != nil) == first, "sent as a token: \(value)")
      #expect(((try? Item(.token("a\(character)")).serialized()) != nil) == later, "sent in a token: \(value)")
    }
    #expect((try? Item(.token("")).serialized()) == nil)
  }

  @Test func stringsHaveTheirCharacters() throws {
    for value in UInt8.min...255 {
      let character = Character(Unicode.Scalar(value))
      let isPrintable = (0x20...0x7E).contains(value)
      let isAlone = isPrintable && !Set("\"\\").contains(character)
      #expect(parses("\" \(character) \"") == isAlone, "\(value)")
      #expect(parses("\"\\\(character)\"") == Set("\"\\").contains(character), "escaped: \(value)")
      let text = try? Item(.string("\(character)")).serialized()
      #expect((text != nil) == isPrintable, "sent: \(value)")
      if let text { #expect(try Item(parsing: text).value == .string("\(character)")) }
      let displayed = try Item(.displayString("\(character)")).serialized()
      #expect(try Item(parsing: displayed).value == .displayString("\(character)"))
    }
  }

  @Test(arguments: 1...17)
  func integersHaveAtMost15Digits(_ count: Int) throws {
    for sign in ["", "-"] {
      for digit in ["0", "1", "9"] {
        let text = sign + String(repeating: digit, count: count)
        #expect(parses(text) == (count <= 15))
        guard count <= 15, let value = Int64(text) else { continue }
        #expect(try Item(parsing: text).value == .integer(value))
        #expect(try Item(.integer(value)).serialized() == String(value))
      }
    }
  }

  @Test(arguments: 1...14)
  func decimalsHaveAtMost12DigitsBeforeThePointAnd3AfterIt(_ whole: Int) throws {
    for fraction in 0...4 {
      for digit in ["0", "1", "9"] {
        let text = String(repeating: digit, count: whole) + "." + String(repeating: digit, count: fraction)
        #expect(parses(text) == (whole <= 12 && (1...3).contains(fraction)), "\(text)")
      }
    }
  }

  @Test(
    arguments: [
      (0.0015, "0.002"), (0.0025, "0.002"), (-0.0015, "-0.002"), (-0.0025, "-0.002"), (9.9995, "10.0"), (0, "0.0"),
      (1, "1.0"), (-1.5, "-1.5"), (0.1, "0.1"), (0.25, "0.25"), (999_999_999_999.999, "999999999999.999"),
    ] as [(Double, String)])
  func aDecimalIsRoundedToTheEvenDigit(_ number: Double, _ text: String) throws {
    let decimal = try #require(StructuredField.DecimalNumber(number))
    #expect(try Item(.decimal(decimal)).serialized() == text)
  }

  @Test(arguments: [1e12, -1e12, 999_999_999_999.9999, .infinity, -.infinity, .nan])
  func aDecimalThatIsTooLargeIsRefused(_ number: Double) {
    #expect(StructuredField.DecimalNumber(number) == nil)
  }

  @Test(arguments: [1_000_000_000_000_000, -1_000_000_000_000_000, Int64.max, Int64.min])
  func aNumberThatIsTooLargeIsNotSent(_ number: Int64) {
    for value in [.integer(number), .date(seconds: number), .decimal(.init(thousandths: number))]
      as [StructuredField.BareItem]
    {
      #expect(throws: StructuredField.SyntaxError.self) { try Item(value).serialized() }
    }
  }

  /// §4.2.2: implementations support 1,024 members; here, a peer may send any number in linear time.
  @Test func manyMembersAndParametersAreParsed() throws {
    let count = 50_000
    let text = (0..<count).map { "k\($0)" }
    #expect(try Dictionary(parsing: text.joined(separator: ", ")).count == count)
    #expect(try Item(parsing: "1;" + text.joined(separator: ";")).parameters.count == count)
    #expect(try StructuredField.List(parsing: text.joined(separator: ", ")).members.count == count)
    #expect(try Item(parsing: "\"\(String(repeating: "x", count: 1 << 20))\"").value.serialized().count == 1 << 20 + 2)
  }

  @Test func membersKeepTheirOrder() throws {
    var dictionary = try Dictionary(parsing: "a=1, b=2, c=3, a=4")
    #expect(try dictionary.serialized() == "a=4, b=2, c=3")
    dictionary["b"] = nil
    dictionary["d"] = .innerList(StructuredField.InnerList([Item(.token("x")), Item(.boolean(false))]))
    dictionary["c"] = .item(Item(.boolean(true), parameters: ["q": .decimal(.init(thousandths: 500))]))
    #expect(try dictionary.serialized() == "a=4, c;q=0.5, d=(x ?0)")
    #expect(dictionary["b"] == nil && dictionary.count == 3)
  }

  @Test func theLinesOfAFieldAreJoined() throws {
    var fields: HTTPFields = ["Example-List": "a, b"]
    fields.append("c", for: "Example-List")
    #expect(try fields.structured("Example-List", as: StructuredField.List.self)?.members.count == 3)
    #expect(try fields.structured("Other", as: StructuredField.List.self) == nil)
  }

  @Test(
    arguments: [
      ("a=", "ends too early"), ("a=1,", "ends with a comma"), ("a=1 b", "the character at position 5 is not a comma"),
      ("A=1", "the character at position 1 cannot begin a key"), ("a=\"x", "a string has no closing quote"),
      ("a=:x", "a byte sequence has no closing colon"), ("a=:x:", "a byte sequence is not base64"),
      ("a=?2", "the character at position 4 is neither 0 nor 1"),
      ("a=1.", "a decimal does not have one to three digits"),
    ])
  func anErrorNamesThePlaceAndNotTheValue(_ text: String, _ problem: String) {
    let error = #expect(throws: StructuredField.SyntaxError.self) { try Dictionary(parsing: text) }
    #expect(error?.description.hasPrefix(problem) == true, "\(error?.description ?? "")")
  }
}
