@_spi(Toolkit) import MartletSemantics
import Testing

struct RandomIdentifierTests {
  /// RFC 9562 §5.4: the version is 4, the variant binary 10; all other bits are random.
  @Test func aRandomIdentifierHasVersionAndVariant() {
    let texts = (0..<1000).map { _ in UUID.random().lowercaseText }
    for text in texts {
      #expect(text.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
    }
    #expect(Set(texts).count == 1000)
    for position in [0, 7, 9, 15, 16, 20, 24, 35] { #expect(Set(texts.map { Array($0)[position] }).count == 16) }
    #expect(Set(texts.map { Array($0)[19] }) == ["8", "9", "a", "b"])
  }

  @Test func anIdentifierHas128RandomBits() {
    let texts = (0..<1000).map { _ in RandomIdentifier.make() }
    for text in texts { #expect(text.wholeMatch(of: /[0-9a-f]{32}/) != nil) }
    #expect(Set(texts).count == 1000)
    for position in 0..<32 { #expect(Set(texts.map { Array($0)[position] }).count == 16) }
  }

  @Test func theTextIsThatOfFoundationInLowerCase() {
    for _ in 0..<100 {
      let identifier = UUID.random()
      #expect(identifier.lowercaseText == identifier.uuidString.lowercased())
    }
  }
}
