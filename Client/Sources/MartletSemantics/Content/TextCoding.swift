/// The coding of text named by a `charset` parameter, and the decoder of its bytes (WHATWG Encoding).
@_spi(Toolkit) public enum TextCoding: String, Sendable, Hashable {
  case utf8 = "utf-8"
  case windows1252 = "windows-1252"
  case utf16LittleEndian = "utf-16le"
  case utf16BigEndian = "utf-16be"

  /// Returns the coding for a label (§4.2); nil for any other coding. As in that standard, `us-ascii` and `iso-8859-1`
  /// mean windows-1252, which contains both.
  public init?(label: some StringProtocol) {
    switch ASCII.lowercased(ASCII.trimmed(Substring(label))) {
    case "utf-8", "utf8", "unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "x-unicode20utf8": self = .utf8
    case "windows-1252", "cp1252", "x-cp1252", "us-ascii", "ascii", "ansi_x3.4-1968", "iso-8859-1", "iso8859-1",
      "iso88591", "iso_8859-1", "iso_8859-1:1987", "latin1", "l1", "cp819", "ibm819", "csisolatin1", "iso-ir-100":
      self = .windows1252
    case "utf-16", "utf-16le", "unicode", "ucs-2", "iso-10646-ucs-2", "csunicode", "unicodefeff":
      self = .utf16LittleEndian
    case "utf-16be", "unicodefffe": self = .utf16BigEndian
    default: return nil
    }
  }

  /// Returns the text of bytes; nil if they are not text in this coding. A byte order mark takes precedence over the
  /// coding (§6, “decode”), and is omitted.
  public func text(_ bytes: Data) -> String? {
    let (coding, markLength) = Self.mark(of: bytes) ?? (self, 0)
    return coding.text(unmarked: bytes.dropFirst(markLength))
  }

  private static func mark(of bytes: Data) -> (TextCoding, length: Int)? {
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return (.utf8, 3) }
    if bytes.starts(with: [0xFE, 0xFF]) { return (.utf16BigEndian, 2) }
    return bytes.starts(with: [0xFF, 0xFE]) ? (.utf16LittleEndian, 2) : nil
  }

  private func text(unmarked bytes: Data) -> String? {
    switch self {
    case .utf8: return String(validating: bytes, as: UTF8.self)
    case .windows1252:
      var text = String.UnicodeScalarView()
      for byte in bytes { text.append(Self.windows1252(byte)) }
      return String(text)
    case .utf16LittleEndian, .utf16BigEndian:
      guard bytes.count.isMultiple(of: 2) else { return nil }
      let high = self == .utf16BigEndian ? 0 : 1
      let units = stride(from: bytes.startIndex, to: bytes.endIndex, by: 2).map { index in
        UInt16(bytes[index + high]) << 8 | UInt16(bytes[index + 1 - high])
      }
      return String(validating: units, as: UTF16.self)
    }
  }

  /// The bytes 0x80 to 0x9F differ from ISO 8859-1; the rest are their own code points.
  private static func windows1252(_ byte: UInt8) -> Unicode.Scalar {
    (0x80..<0xA0).contains(byte) ? special[Int(byte) - 0x80] : Unicode.Scalar(byte)
  }

  private static let special = Array(
    ("\u{20AC}\u{81}\u{201A}\u{192}\u{201E}\u{2026}\u{2020}\u{2021}\u{2C6}\u{2030}\u{160}\u{2039}\u{152}\u{8D}\u{17D}"
      + "\u{8F}\u{90}\u{2018}\u{2019}\u{201C}\u{201D}\u{2022}\u{2013}\u{2014}\u{2DC}\u{2122}\u{161}\u{203A}\u{153}\u{9D}"
      + "\u{17E}\u{178}").unicodeScalars)
}
