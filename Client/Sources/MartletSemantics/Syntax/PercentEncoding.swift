/// Percent-encodes text for a component of a URL.
///
/// Encode each component before you compose the URL: afterwards, a `/` or `&` that is data cannot be told from a
/// separator.
///
/// ```swift
/// let id = PercentEncoding.pathSegment.encode("a/b c")                    // "a%2Fb%20c"
/// let query = PercentEncoding.queryComponent.encode([("q", "1+1=2 & so")])  // "q=1%2B1%3D2%20%26%20so"
/// let url = URL(string: "https://example.com/items/\(id)?\(query)")
/// ```
///
/// Do not encode text that is already encoded: `%` is encoded as `%25`.
public struct PercentEncoding: Sendable, Hashable {
  /// Bit n: whether the byte n stays as it is, for bytes below 64. Bytes from 128 on are always encoded.
  private let low: UInt64
  /// Bit n: whether the byte 64 + n stays as it is.
  private let high: UInt64
  private let encodesSpaceAsPlus: Bool

  /// One segment of a path (RFC 3986 §3.3). `/` is encoded; characters that are allowed in a segment, such as
  /// `:@!$&'()*+,;=`, are not.
  ///
  /// The segments `.` and `..` cannot be sent as data: even if they are encoded, they are dot segments.
  public static let pathSegment = PercentEncoding(unchanged: "-._~!$&'()*+,;=:@")

  /// A name or value in a query: everything except letters, digits and `-._~!'()*` is encoded.
  ///
  /// A space becomes `%20` and a `+` becomes `%2B`, so that both are preserved whether or not the server parses the
  /// query as a form. Decoding does not change a `+`; decode with ``form`` if the server encodes a space as `+`.
  public static let queryComponent = PercentEncoding(unchanged: "-._~!'()*")

  /// A name or value of `application/x-www-form-urlencoded` (WHATWG URL §5.2): everything except letters, digits and
  /// `*-._` is encoded, and a space becomes `+`.
  public static let form = PercentEncoding(unchanged: "*-._", encodesSpaceAsPlus: true)

  /// The value of an extended parameter such as `username*` (RFC 8187 §3.2.1, attr-char).
  package static let extendedValue = PercentEncoding(unchanged: "!#$&+-.^_`|~")

  private init(unchanged characters: StaticString, encodesSpaceAsPlus: Bool = false) {
    var low: UInt64 = 0x03FF_0000_0000_0000  // The digits.
    var high: UInt64 = 0x07FF_FFFE_07FF_FFFE  // The letters.
    for byte in UnsafeBufferPointer(start: characters.utf8Start, count: characters.utf8CodeUnitCount) {
      if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte - 64) }
    }
    self.low = low
    self.high = high
    self.encodesSpaceAsPlus = encodesSpaceAsPlus
  }

  /// Returns the text with the bytes of its UTF-8 encoded, in upper-case hexadecimal digits (RFC 3986 §2.1).
  public func encode(_ text: some StringProtocol) -> String {
    guard !text.utf8.allSatisfy(isUnchanged) else { return String(text) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count * 3)
    for byte in text.utf8 {
      if isUnchanged(byte) {
        bytes.append(byte)
      } else if encodesSpaceAsPlus, byte == UInt8(ascii: " ") {
        bytes.append(UInt8(ascii: "+"))
      } else {
        Self.append(byte, to: &bytes)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns the decoded text.
  ///
  /// Lenient, as the URL standard requires: a `%` without two hexadecimal digits is kept, and bytes that are not UTF-8
  /// become U+FFFD.
  public func decode(_ text: some StringProtocol) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let value = Self.hexadecimalPair(in: rest) {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(encodesSpaceAsPlus && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private func isUnchanged(_ byte: UInt8) -> Bool {
    guard byte < 128 else { return false }
    return (byte < 64 ? low >> UInt64(byte) : high >> UInt64(byte - 64)) & 1 == 1
  }

  @_spi(Toolkit) public static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "%"))
    for digit in [byte >> 4, byte & 15] { bytes.append(digit < 10 ? digit + 48 : digit + 55) }
  }

  /// Returns the byte that two hexadecimal digits at the beginning encode; nil if there are none.
  @_spi(Toolkit) public static func hexadecimalPair(in text: some Sequence<UInt8>) -> UInt8? {
    var digits = text.makeIterator()
    guard let high = digits.next().flatMap(ASCII.hexadecimalValue),
      let low = digits.next().flatMap(ASCII.hexadecimalValue)
    else { return nil }
    return high << 4 | low
  }
}

extension PercentEncoding {
  /// Returns the pairs as a query or form body, `name=value&name=value`, with each name and value encoded. For
  /// ``queryComponent`` and ``form``.
  public func encode(_ pairs: [(name: String, value: String)]) -> String {
    pairs.map { "\(encode($0.name))=\(encode($0.value))" }.joined(separator: "&")
  }

  /// Returns the decoded pairs of a query or form body (WHATWG URL §5.1): empty parts are ignored, and a part without
  /// `=` has an empty value.
  public func pairs(in text: some StringProtocol) -> [(name: String, value: String)] {
    text.utf8.split(separator: UInt8(ascii: "&")).map { piece in
      let parts = piece.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      let texts = parts.map { decode(String(decoding: $0, as: UTF8.self)) }
      return (name: texts[0], value: texts.count > 1 ? texts[1] : "")
    }
  }
}

extension Data {
  /// The bytes as hexadecimal digits in lower case.
  @_spi(Toolkit) public var hexadecimal: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}
