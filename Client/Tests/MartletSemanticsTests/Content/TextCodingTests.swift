import FoundationEssentials
@_spi(Toolkit) import MartletSemantics
import Testing

@Suite struct TextCodingTests {
  @Test(
    arguments: [
      ("utf-8", TextCoding.utf8), ("UTF8", .utf8), (" utf-8 ", .utf8), ("us-ascii", .windows1252),
      ("ISO-8859-1", .windows1252), ("latin1", .windows1252), ("windows-1252", .windows1252),
      ("utf-16", .utf16LittleEndian), ("UTF-16BE", .utf16BigEndian), ("shift_jis", nil), ("", nil),
      ("iso-8859-15", nil),
    ] as [(String, TextCoding?)])
  func labelNamesACoding(_ label: String, _ coding: TextCoding?) { #expect(TextCoding(label: label) == coding) }

  @Test(
    arguments: [
      (TextCoding.utf8, [0x47, 0xC3, 0xBC], "Gü"), (.utf8, [], ""), (.utf8, [0xC3], nil), (.utf8, [0xFF], nil),
      (.utf8, [0xED, 0xA0, 0x80], nil), (.utf8, [0xEF, 0xBB, 0xBF, 0x61], "a"),
      (.windows1252, [0x47, 0xFC, 0x80, 0x9F, 0x81], "Gü€Ÿ\u{81}"),
      (.windows1252, [0xEF, 0xBB, 0xBF, 0xC3, 0xBC], "ü"),
      (.utf16LittleEndian, [0x61, 0x00, 0xFC, 0x00], "aü"), (.utf16BigEndian, [0x00, 0x61, 0x00, 0xFC], "aü"),
      (.utf16LittleEndian, [0xFE, 0xFF, 0x00, 0x61], "a"), (.utf8, [0xFF, 0xFE, 0x61, 0x00], "a"),
      (.utf16LittleEndian, [0x3D, 0xD8, 0x00, 0xDE], "😀"), (.utf16LittleEndian, [0x3D, 0xD8], nil),
      (.utf16LittleEndian, [0x61], nil),
    ] as [(TextCoding, [UInt8], String?)])
  func bytesAreTextOrNot(_ coding: TextCoding, _ bytes: [UInt8], _ text: String?) {
    #expect(coding.text(Data(bytes)) == text)
    #expect(coding.text(Data([0] + bytes).dropFirst()) == text)
  }
}

@Suite struct LineSplitterTests {
  private func lines(_ text: String, in size: Int, limit: Int = 8) throws(LineSplitter.LineTooLong) -> [String] {
    var splitter = LineSplitter(limit: limit)
    var lines: [String] = []
    var rest = Data(text.utf8)
    while !rest.isEmpty {
      splitter.append(rest.prefix(size))
      rest = rest.dropFirst(size)
      while let line = try splitter.next() { lines.append(String(decoding: line, as: UTF8.self)) }
    }
    if let line = try splitter.last() { lines.append(String(decoding: line, as: UTF8.self)) }
    #expect(splitter.count == lines.count)
    return lines
  }

  @Test(arguments: [
    ("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\n\n", ["a", ""]), ("\n\r\nb", ["", "", "b"]), ("a\r\nb\n", ["a", "b"]),
    ("a\rb\n", ["a\rb"]), ("a\r", ["a\r"]), ("12345678\r\n12345678", ["12345678", "12345678"]), ("ü\nü", ["ü", "ü"]),
  ])
  func linesAreTheSameInChunksOfAnySize(_ text: String, _ expected: [String]) throws {
    for size in 1...12 { #expect(try lines(text, in: size) == expected) }
  }

  @Test(arguments: ["a\n123456789\n", "a\n123456789", "a\n123456789\r\n", "a\n12345678\r", "a\n12345678\r9\n"])
  func lineThatIsTooLongIsAnError(_ text: String) {
    for size in 1...12 {
      let error = #expect(throws: LineSplitter.LineTooLong.self) { try lines(text, in: size) }
      #expect(error?.number == 2)
    }
  }
}
