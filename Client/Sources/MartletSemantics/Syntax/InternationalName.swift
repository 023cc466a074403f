#if canImport(CIDN2)
import CIDN2
#endif

/// Names with non-ASCII letters, in the form of the DNS: A-labels (RFC 5890 §2.3.2.1).
enum InternationalName {
  /// Returns the name in lower case and A-labels; nil if it is not valid.
  ///
  /// UTS #46 maps it first: capitals, full-width letters and decomposed accents become their standard forms, and soft
  /// hyphens are dropped. An A-label must equal the encoding of its own letters. Labels of ASCII alone are not checked.
  /// Symbols are valid, as in browsers, as far as the system's tables know them.
  static func ascii(_ name: some StringProtocol) -> String? {
    // By scalars: a mark after a dot would form one character with it.
    let labels = String(name).unicodeScalars.split(omittingEmptySubsequences: false) { fullStops.contains($0) }
    var text = ""
    for (index, label) in labels.enumerated() {
      guard let label = asciiLabel(String(label)) else { return nil }
      text += index == 0 ? label : ".\(label)"
    }
    return text
  }

  /// Whether a label begins with `xn--`.
  static func hasALabel(_ name: some StringProtocol) -> Bool {
    name.utf8.split(separator: UInt8(ascii: ".")).contains {
      $0.prefix(4).map(ASCII.lowercased).elementsEqual("xn--".utf8)
    }
  }

  private static func asciiLabel(_ label: String) -> String? {
    if label.utf8.allSatisfy({ $0 < 128 }), !hasALabel(label) { return ASCII.lowercased(label) }
    // Text that cannot become a label of 63 bytes is rejected without cost.
    guard label.utf8.count <= 1024, !label.utf8.contains(0) else { return nil }
    return encoded(label)
  }

  /// The full stop, and three more that UTS #46 maps to it.
  private static let fullStops: Set<Unicode.Scalar> = [".", "\u{3002}", "\u{FF0E}", "\u{FF61}"]

  #if canImport(CIDN2)
  /// IDNA2008 disallows symbols (RFC 5892 §2), but UTS #46 and browsers resolve them: `i❤`. Only a label that libidn2
  /// refuses for that is mapped by UTS #46 alone.
  private static func encoded(_ label: String) -> String? {
    let (text, code) = lookUp(label, IDN2_NONTRANSITIONAL)
    guard text == nil, [IDN2_DISALLOWED.rawValue, IDN2_UNASSIGNED.rawValue].contains(code),
      !label.unicodeScalars.contains(where: needsEveryCheck)
    else { return text }
    return lookUp(label, IDN2_TRANSITIONAL).text
  }

  private static func lookUp(_ label: String, _ mapping: idn2_flags) -> (text: String?, code: Int32) {
    var output: UnsafeMutablePointer<UInt8>?
    let flags = Int32(IDN2_NFC_INPUT.rawValue | mapping.rawValue)
    let code = label.withCString(encodedAs: UTF8.self) { idn2_lookup_u8($0, &output, flags) }
    guard let output else { return (nil, code) }
    defer { idn2_free(output) }
    return (code == IDN2_OK.rawValue ? String(cString: output) : nil, code)
  }

  /// Whether a scalar is mapped to another one without the checks of IDNA2008 (UTS #46 §4, deviation characters), or
  /// may be written from right to left, so that its neighbours matter (RFC 5893 §2).
  private static func needsEveryCheck(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0xDF, 0x3C2, 0x1E9E, 0x200C, 0x200D: true
    case 0x590...0x8FF, 0x2135...0x2138, 0xFB1D...0xFDFF, 0xFE70...0xFEFF, 0x10800...0x10FFF, 0x1E800...0x1EFFF: true
    default: false
    }
  }
  #else
  private static func encoded(_ label: String) -> String? { Punycode.encode(label: label) }
  #endif
}
