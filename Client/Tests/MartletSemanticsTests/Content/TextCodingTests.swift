import FoundationEssentials
@_spi(Toolkit) @testable import MartletSemantics
import Testing

@Suite struct TextCodingTests {
  @Test(
    arguments: [
      ("utf-8", TextCoding.utf8), ("UTF8", .utf8), (" utf-8 ", .utf8), ("us-ascii", .windows1252),
      ("ISO-8859-1", .windows1252), ("latin1", .windows1252), ("windows-1252", .windows1252),
      ("utf-16", .utf16LittleEndian), ("UTF-16BE", .utf16BigEndian), ("", nil), ("utf-7", nil),
      ("ebcdic", nil),
    ] as [(String, TextCoding?)])
  func labelNamesACoding(_ label: String, _ coding: TextCoding?) { #expect(TextCoding(label: label) == coding) }

  @Test(arguments: [
    ("gb2312", "gbk"), ("GB18030", "gb18030"), ("chinese", "gbk"), ("sjis", "shift_jis"), ("windows-31j", "shift_jis"),
    ("x-euc-jp", "euc-jp"), ("csiso2022jp", "iso-2022-jp"), ("ks_c_5601-1987", "euc-kr"), ("big5-hkscs", "big5"),
    ("koi8-ru", "koi8-u"), ("koi", "koi8-r"), ("latin2", "iso-8859-2"), ("iso-8859-9", "windows-1254"),
    ("tis-620", "windows-874"), ("cp1251", "windows-1251"), ("visual", "iso-8859-8"), ("logical", "iso-8859-8-i"),
    ("iso_8859-6:1987", "iso-8859-6"), ("sun_eu_greek", "iso-8859-7"), ("x-mac-ukrainian", "x-mac-cyrillic"),
    ("hz-gb-2312", "replacement"), ("iso-2022-kr", "replacement"), ("866", "ibm866"), ("ucs-2", "utf-16le"),
  ])
  func aLabelHasTheStandardsName(_ label: String, _ name: String) { #expect(TextCoding(label: label)?.name == name) }

  /// Every label of the standard, and no other.
  @Test func allLabelsAreKnownAndTheirCodingsWork() {
    let codings = TextCoding.codings
    #expect(codings.count == 228)
    #expect(Set(codings.values).count == 40)
    for (label, coding) in codings {
      #expect(label == label.lowercased() && !label.contains(" "), "\(label)")
      guard !coding.name.hasPrefix("utf-16"), coding.name != "replacement" else { continue }
      #expect(coding.text(Data("abc 123\n".utf8)) == "abc 123\n", "\(label)")
    }
  }

  #if canImport(Glibc)
  @Test(
    arguments: [
      ("gb18030", [0xD6, 0xD0, 0xCE, 0xC4, 0xA2, 0xE3], "中文€"),
      ("gbk", [0xD6, 0xD0, 0x81, 0x30, 0x81, 0x30], "中\u{80}"),
      ("big5", [0xA4, 0xA4, 0xA4, 0xE5], "中文"), ("big5", [0x87, 0x40], "\u{43F0}"),
      ("euc-jp", [0xC6, 0xFC, 0xCB, 0xDC, 0xB8, 0xEC, 0x8E, 0xB1], "日本語ｱ"),
      ("iso-2022-jp", [0x1B, 0x24, 0x42, 0x46, 0x7C, 0x21, 0x41, 0x1B, 0x28, 0x42, 0x61], "日～a"),
      ("shift_jis", [0x93, 0xFA, 0x96, 0x7B, 0x81, 0x60, 0x87, 0x40, 0xB1], "日本～①ｱ"),
      ("euc-kr", [0xC7, 0xD1, 0xB1, 0xB9, 0xBE, 0xEE, 0x81, 0x41], "한국어갂"), ("koi8-r", [0xF0, 0xD2, 0xC9], "При"),
      ("koi8-u", [0xF5, 0xCB, 0xD2, 0xC1, 0xA7, 0xCE, 0xC1, 0xAE, 0xBE], "Українаўў".replacing("ўў", with: "ўЎ")),
      ("windows-1251", [0xCF, 0xF0, 0xE8, 0x98], "При\u{98}"), ("iso-8859-2", [0xA3, 0xF3, 0x64, 0xBC], "Łódź"),
      ("windows-874", [0xE4, 0xB7, 0xC2, 0x81], "ไทย\u{81}"), ("ibm866", [0x8F, 0xE0, 0xA8], "При"),
      ("windows-1255", [0xF9, 0xEC, 0xE5, 0xED], "שלום"), ("macintosh", [0xC6, 0xF0], "∆\u{F8FF}"),
      ("x-mac-cyrillic", [0x8F, 0xFF], "П€"), ("x-user-defined", [0x61, 0x80, 0xFF], "a\u{F780}\u{F7FF}"),
      ("iso-8859-16", [0xA4], "€"), ("shift_jis", [0xEF, 0xBB, 0xBF, 0xC3, 0xBC], "ü"), ("replacement", [], ""),
      // invalid bytes
      ("shift_jis", [0x61, 0x93], nil), ("gb18030", [0xFF], nil), ("euc-kr", [0xC7], nil), ("big5", [0xFF], nil),
      ("iso-8859-3", [0xA5], nil), ("windows-1253", [0xD2], nil), ("iso-2022-kr", [0x61], nil),
    ] as [(String, [UInt8], String?)])
  func oldTextIsDecoded(_ label: String, _ bytes: [UInt8], _ text: String?) {
    #expect(TextCoding(label: label)?.text(Data(bytes)) == text)
  }

  /// Each part begins in the initial state, whether the part before it left another or was invalid. A mark at the
  /// beginning applies to all parts, and is text anywhere else.
  @Test(
    arguments: [
      ("iso-2022-jp", [[0x1B, 0x24, 0x42, 0x46, 0x7C], [0x46, 0x7C]], ["日", "F|"]),
      ("shift_jis", [[0x93], [0x93, 0xFA], [0x61]], [nil, "日", "a"]),
      ("shift_jis", [[0xEF, 0xBB, 0xBF, 0xC3, 0xBC], [0xC3, 0xBC]], ["ü", "ü"]),
      ("windows-1252", [[0x61], [0xEF, 0xBB, 0xBF, 0x62]], ["a", "ï»¿b"]), ("gbk", [[], [0xC4, 0xE3]], ["", "你"]),
    ] as [(String, [[UInt8]], [String?])])
  func partsAreDecodedOneByOne(_ label: String, _ parts: [[UInt8]], _ texts: [String?]) throws {
    var decoder = TextDecoder(try #require(TextCoding(label: label)))
    #expect(parts.map { try? decoder.decode(Data($0), replacingInvalid: false) } == texts)
  }

  @Test(
    arguments: [
      ("shift_jis", [0x61, 0x93], "a\u{FFFD}"), ("gb18030", [0x61, 0xFF, 0x62], "a\u{FFFD}b"),
      ("utf-8", [0x61, 0xFF, 0x62], "a\u{FFFD}b"), ("utf-16le", [0x61, 0x00, 0x62], "a\u{FFFD}"),
      ("utf-16be", [0xD8, 0x00, 0x00, 0x61], "\u{FFFD}a"), ("iso-2022-kr", [0x61], "\u{FFFD}"),
      ("windows-1253", [0xD2, 0xE1], "\u{FFFD}α"),
    ] as [(String, [UInt8], String)])
  func invalidBytesAreReplacedOnRequest(_ label: String, _ bytes: [UInt8], _ text: String) throws {
    #expect(try TextCoding(label: label)?.decode(Data(bytes), replacingInvalid: true) == text)
  }

  /// Longer than any buffer, with characters across its boundaries.
  @Test func longTextIsDecoded() {
    let bytes = [0x61] + Array(repeating: [0x93, 0xFA] as [UInt8], count: 100_000).joined()
    #expect(TextCoding(label: "shift_jis")?.text(Data(bytes)) == "a" + String(repeating: "日", count: 100_000))
  }
  #endif

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
