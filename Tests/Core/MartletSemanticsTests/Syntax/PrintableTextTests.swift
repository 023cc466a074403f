import MartletSemantics
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
}
