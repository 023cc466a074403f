@_spi(Toolkit) import MartletSemantics
import Testing

struct QuotingTests {
  @Test(arguments: [
    ("", ""), ("plain", "plain"), ("it's", "it''s"), ("''", "''''"), ("e\u{301}", "e\u{301}"),
    // A combining mark makes one `Character` of itself and the scalar before it.
    ("a'\u{301}b", "a''\u{301}b"), ("'\u{FE0F}", "''\u{FE0F}"),
  ])
  func everyOccurrenceOfAScalarIsReplaced(text: String, expected: String) {
    #expect(Array(text.replacingScalar("'", with: "''").utf8) == Array(expected.utf8))
  }
}
