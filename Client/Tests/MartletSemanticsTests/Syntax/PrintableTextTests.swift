import Foundation
@_spi(Toolkit) import MartletSemantics
import Testing

@Suite struct PrintableTextTests {
  @Test(arguments: [
    ("", ""), ("plain – text, ü and 🎉", "plain – text, ü and 🎉"),
    ("a\r\nb\tc", "a  b c"), ("\u{1B}[31mred\u{7F}", " [31mred "), ("a\u{9B}31m", "a 31m"),
    ("a\u{202E}b\u{202A}c", "a\u{FFFD}b\u{FFFD}c"), ("\u{2066}a\u{2069}", "\u{FFFD}a\u{FFFD}"),
  ])
  func textOfOthersControlsNothing(text: String, expected: String) {
    #expect(text.printable.unicodeScalars.elementsEqual(expected.unicodeScalars))
  }

  @Test(arguments: [
    ("aü€🎉z", 11, "aü€🎉z"), ("aü€🎉z", 10, "aü€🎉"), ("aü€🎉z", 9, "aü€"), ("aü€🎉z", 6, "aü€"), ("aü€🎉z", 5, "aü"),
    ("aü€🎉z", 4, "aü"), ("aü€🎉z", 3, "aü"), ("aü€🎉z", 2, "a"), ("aü€🎉z", 0, ""), ("", 0, ""),
  ])
  func textIsCutAfterAWholeCharacter(text: String, limit: Int, expected: String) {
    // A slice, whose indices do not begin at 0.
    let bytes = Data("x\(text)".utf8).dropFirst()
    #expect(String(decoding: bytes.prefixOfText(limit), as: UTF8.self) == expected)
  }

  @Test func whatIsNoUTF8IsCutAtTheLimit() {
    let bytes = Data(repeating: 0x80, count: 9)
    #expect(bytes.prefixOfText(5).count == 5 && bytes.prefixOfText(1).count == 1)
  }
}
