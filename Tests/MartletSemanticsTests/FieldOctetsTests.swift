import MartletSemantics
import Testing

@Suite
struct FieldOctetsTests {
  @Test(
    arguments: [
      [], [97, 61, 98], Array("é=ü".utf8), [97, 0xE9], [0xFF, 97, 0x80], [0xC3, 0xA9, 0xE9], Array("\u{10FFFF}".utf8),
      Array("\u{10FF7F}\u{100000}".utf8), [0xF4], [0xED, 0xA0, 0x80],
    ] as [[UInt8]])
  func bytesComeBackAsTheyCame(_ bytes: [UInt8]) {
    let text = FieldOctets.text(bytes)
    #expect(FieldOctets.bytes(text) == bytes)
    #expect(FieldOctets.count(text) == bytes.count)
  }

  @Test
  func textIsItselfWhereItIsUTF8() {
    #expect(FieldOctets.text(Array("é=ü".utf8)) == "é=ü")
    #expect(FieldOctets.text([97, 0xE9]) == "a\u{10FFE9}")
    #expect(!FieldOctets.hasOctets("\u{10FF7F}"))
  }
}
