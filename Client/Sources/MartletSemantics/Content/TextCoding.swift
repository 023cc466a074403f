#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The coding of text named by a `charset` parameter, and the decoder of its bytes (WHATWG Encoding).
///
/// UTF-8, UTF-16 and windows-1252 are decoded here, all others by the system's `iconv`, which may lack some of them.
@_spi(Toolkit) public struct TextCoding: Sendable, Hashable {
  /// The name in that standard, in lower case.
  public let name: String
  private let decoder: Decoder

  public static let utf8 = TextCoding(name: "utf-8", decoder: .utf8)
  public static let windows1252 = TextCoding(name: "windows-1252", decoder: .windows1252)
  public static let utf16LittleEndian = TextCoding(name: "utf-16le", decoder: .utf16(isBigEndian: false))
  public static let utf16BigEndian = TextCoding(name: "utf-16be", decoder: .utf16(isBigEndian: true))

  /// Why bytes are not decoded.
  public enum Failure: Error, Sendable, Hashable {
    /// They are not text in the coding.
    case invalid
    /// The system does not know the coding.
    case unavailable
  }

  init(name: String, decoder: Decoder) { (self.name, self.decoder) = (name, decoder) }

  /// Returns the coding for a label (§4.2); nil if there is none. As in that standard, `us-ascii` and `iso-8859-1` mean
  /// windows-1252, which contains both, and `gb2312` means GBK.
  public init?(label: some StringProtocol) {
    guard let coding = Self.codings[ASCII.lowercased(ASCII.trimmed(Substring(label)))] else { return nil }
    self = coding
  }

  /// Whether a line feed is always the byte 10, and each line can be decoded by itself.
  package var hasLines: Bool { if case .utf16 = decoder { false } else { true } }

  /// Returns the text of bytes. A byte order mark takes precedence over the coding (§6, “decode”), and is omitted.
  ///
  /// - Parameter replaces: whether invalid bytes become U+FFFD; they are an error by default.
  public func decode(_ bytes: Data, replacingInvalid replaces: Bool = false) throws(Failure) -> String {
    var decoder = TextDecoder(self)
    return try decoder.decode(bytes, replacingInvalid: replaces)
  }

  /// Returns the text of bytes like ``decode(_:replacingInvalid:)``; nil if they are not text in this coding.
  public func text(_ bytes: Data) -> String? { try? decode(bytes) }

  fileprivate static func mark(of bytes: Data) -> (TextCoding, length: Int)? {
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return (.utf8, 3) }
    if bytes.starts(with: [0xFE, 0xFF]) { return (.utf16BigEndian, 2) }
    return bytes.starts(with: [0xFF, 0xFE]) ? (.utf16LittleEndian, 2) : nil
  }

  /// - Parameter system: the converter of this coding; it is made if it is needed and nil.
  fileprivate func decode(
    unmarked bytes: Data, _ replaces: Bool, _ system: inout SystemConverter?
  ) throws(Failure) -> String {
    switch decoder {
    case .utf8:
      if replaces { return String(decoding: bytes, as: UTF8.self) }
      return try Self.valid(String(validating: bytes, as: UTF8.self))
    case .windows1252: return Self.text(bytes, Self.windows1252)
    case .utf16(let isBigEndian): return try Self.utf16(bytes, isBigEndian, replaces)
    case .system(let name):
      let converter: SystemConverter
      if let system { converter = system } else { converter = try SystemConverter(from: name) }
      system = converter
      var text = try converter.text(of: bytes, replaces) { self.scalar(ofInvalid: $0) }
      if let substitutes = Self.substitutes[self.name] { text.replace(with: substitutes) }
      return text
    case .replacement:
      if bytes.isEmpty { return "" }
      return try Self.valid(replaces ? "\u{FFFD}" : nil)
    case .userDefined:
      return Self.text(bytes) { $0 < 0x80 ? Unicode.Scalar($0) : Unicode.Scalar(0xF700 + UInt16($0)) ?? "\u{FFFD}" }
    }
  }

  private static func valid(_ text: String?) throws(Failure) -> String {
    guard let text else { throw .invalid }
    return text
  }

  private static func text(_ bytes: Data, _ scalar: (UInt8) -> Unicode.Scalar) -> String {
    var text = String.UnicodeScalarView()
    for byte in bytes { text.append(scalar(byte)) }
    return String(text)
  }

  private static func utf16(_ bytes: Data, _ isBigEndian: Bool, _ replaces: Bool) throws(Failure) -> String {
    let high = isBigEndian ? 0 : 1
    let whole = bytes.prefix(bytes.count & ~1)
    let units = stride(from: whole.startIndex, to: whole.endIndex, by: 2).map { index in
      UInt16(bytes[index + high]) << 8 | UInt16(bytes[index + 1 - high])
    }
    let isOdd = whole.count < bytes.count
    if replaces { return String(decoding: units, as: UTF16.self) + (isOdd ? "\u{FFFD}" : "") }
    return try valid(isOdd ? nil : String(validating: units, as: UTF16.self))
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

/// Decodes a text in parts that can be decoded one by one, such as its lines. A byte order mark at the beginning
/// applies to all of them, and `iconv` is opened once.
package struct TextDecoder {
  private var coding: TextCoding
  private var system: SystemConverter?
  private var isAtStart = true

  package init(_ coding: TextCoding) { self.coding = coding }

  /// Returns the next part as text; see ``TextCoding/decode(_:replacingInvalid:)``.
  package mutating func decode(_ bytes: Data, replacingInvalid replaces: Bool) throws(TextCoding.Failure) -> String {
    let mark = isAtStart ? TextCoding.mark(of: bytes) : nil
    isAtStart = false
    if let mark { coding = mark.0 }
    return try coding.decode(unmarked: bytes.dropFirst(mark?.length ?? 0), replaces, &system)
  }
}

// MARK: - Where the standard's indexes differ from glibc's

extension TextCoding {
  /// The character of a byte that `iconv` refuses; nil if it is invalid in the standard, too.
  private func scalar(ofInvalid byte: UInt8) -> Unicode.Scalar? {
    name.hasPrefix("windows-") && (0x80..<0xA0).contains(byte) ? Unicode.Scalar(byte) : nil
  }

  /// The characters that the standard has in place of others.
  private static let substitutes: [String: [Unicode.Scalar: Unicode.Scalar]] = [
    "koi8-u": ["\u{255D}": "\u{45E}", "\u{256C}": "\u{40E}"],
    "macintosh": ["\u{394}": "\u{2206}", "\u{E01E}": "\u{F8FF}"], "x-mac-cyrillic": ["\u{A4}": "\u{20AC}"],
    "iso-2022-jp": [
      "\u{301C}": "\u{FF5E}", "\u{2016}": "\u{2225}", "\u{2212}": "\u{FF0D}", "\u{A2}": "\u{FFE0}",
      "\u{A3}": "\u{FFE1}", "\u{AC}": "\u{FFE2}",
    ],
  ]
}

extension String {
  fileprivate mutating func replace(with substitutes: [Unicode.Scalar: Unicode.Scalar]) {
    guard unicodeScalars.contains(where: { substitutes[$0] != nil }) else { return }
    var scalars = String.UnicodeScalarView()
    for scalar in unicodeScalars { scalars.append(substitutes[scalar] ?? scalar) }
    self = String(scalars)
  }
}

// MARK: - iconv

/// Converts texts of one coding with the system's `iconv`.
private final class SystemConverter {
  #if canImport(Glibc) || canImport(Musl)
  private let descriptor: iconv_t

  /// - Parameter coding: `iconv`'s name of it.
  init(from coding: String) throws(TextCoding.Failure) {
    guard let descriptor = iconv_open("UTF-8", coding), Int(bitPattern: descriptor) != -1 else { throw .unavailable }
    self.descriptor = descriptor
  }

  deinit { iconv_close(descriptor) }

  /// - Parameters:
  ///   - replaces: whether invalid bytes become U+FFFD.
  ///   - substitute: returns the character of an invalid byte; nil if there is none.
  func text(
    of bytes: Data, _ replaces: Bool, _ substitute: (UInt8) -> Unicode.Scalar?
  ) throws(TextCoding.Failure) -> String {
    _ = iconv(descriptor, nil, nil, nil, nil)  // the initial state, whatever the last text was
    var input = [UInt8](bytes)
    var output: [UInt8] = []
    output.reserveCapacity(input.count * 3 / 2)
    var start = 0
    while true {
      let step = convert(&input, from: start, to: &output)
      start = step.next
      guard step.hasFailed else { break }
      if let scalar = substitute(input[start]) {
        output += Array(String(Character(scalar)).utf8)
      } else if replaces {
        output += [0xEF, 0xBF, 0xBD]
      } else {
        throw .invalid
      }
      start += 1
    }
    return String(decoding: output, as: UTF8.self)
  }

  /// Converts bytes up to the end or to the first invalid ones.
  private func convert(
    _ input: inout [UInt8], from start: Int, to output: inout [UInt8]
  ) -> (next: Int, hasFailed: Bool) {
    input.withUnsafeMutableBytes { bytes in
      var source = bytes.baseAddress.map { ($0 + start).assumingMemoryBound(to: CChar.self) }
      var rest = bytes.count - start
      var isFlushing = rest == 0
      while true {
        var code: Int32 = 0
        let count = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { room in
          var target = room.baseAddress
          var free = room.count
          let result =
            isFlushing
            ? iconv(descriptor, nil, nil, &target, &free) : iconv(descriptor, &source, &rest, &target, &free)
          code = result == -1 ? errno : 0
          output.append(contentsOf: UnsafeRawBufferPointer(room).prefix(room.count - free))
          return room.count - free
        }
        let next = bytes.count - rest
        switch code {
        case E2BIG where count > 0: continue
        case 0 where isFlushing: return (next, false)
        case 0: isFlushing = true
        default: return (next, rest > 0)
        }
      }
    }
  }
  #else
  init(from coding: String) throws(TextCoding.Failure) { throw .unavailable }

  func text(
    of bytes: Data, _ replaces: Bool, _ substitute: (UInt8) -> Unicode.Scalar?
  ) throws(TextCoding.Failure) -> String { throw .unavailable }
  #endif
}
