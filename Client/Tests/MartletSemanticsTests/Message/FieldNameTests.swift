import MartletSemantics
import Testing

@Suite(.timeLimit(.minutes(5)))
struct FieldNameTests {
  @Test(arguments: ["Content-Type", "x", "X_Y", "a1", "!#$%&'*+-.^_`|~", "9"])
  func tokensAreNames(_ text: String) throws {
    #expect(try FieldName(text).rawName == text)
  }

  @Test(arguments: [
    "", " ", "a b", "a:", ":path", "a\r\nb", "a\0", "a\u{7F}", "a\t", "naïve", "(a)", "a,b", "a/b", "a;b", "<a>",
    "a=b", "a?b", "a@b", "[a]", "a\\b", "\"a\"", "{a}",
  ])
  func otherTextIsNotAName(_ text: String) {
    #expect(throws: HTTPFields.Refusal.invalidName(text)) { try FieldName(text) }
  }

  @Test func caseDoesNotMatterButIsKept() {
    let upper: FieldName = "X-REQUEST-ID"
    let lower: FieldName = "x-request-id"

    #expect(upper == lower)
    #expect(upper.hashValue == lower.hashValue)
    #expect(upper.rawName == "X-REQUEST-ID")
    #expect(upper.canonicalName == "x-request-id")
    #expect(upper.description == "X-REQUEST-ID")
    #expect(upper != "x-request-ids")
  }

  /// The number that distinguishes most names is the same for both.
  @Test func namesThatDifferInAFewCharactersAreDifferent() {
    #expect(FieldName("a~") != FieldName("b_"))
    #expect(Set<FieldName>(["a~", "b_", "A~"]).count == 2)
    #expect(FieldNames(arrayLiteral: "a~").contains("A~"))
    #expect(!FieldNames(arrayLiteral: "a~").contains("b_"))
  }

  @Test func aLiteralThatIsNotATokenStopsTheProgram() async {
    await #expect(processExitsWith: .failure) { _ = FieldName(stringLiteral: "bad name") }
  }

  @Test func errorNamesTheFieldAndNotItsValue() {
    var fields = HTTPFields()

    fields["X-Key"] = "secret\r\n"

    #expect(fields.refusal?.description.contains("X-Key") == true)
    #expect(fields.refusal?.description.contains("secret") == false)
    #expect(HTTPFields.Refusal.invalidName("a\r\nb").description.contains("\"a\\r\\nb\""))
  }
}
