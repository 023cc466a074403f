/// Percent-encoding of text that goes into a URL, for the place where it goes.
///
/// Encode each piece before the URL is put together: afterwards nobody can tell a `/` or `&` that is data from one
/// that separates.
///
/// ```swift
/// let id = PercentEncoding.pathSegment.encode("a/b c")                    // "a%2Fb%20c"
/// let query = PercentEncoding.queryComponent.encode([("q", "1+1=2 & so")])  // "q=1%2B1%3D2%20%26%20so"
/// let url = URL(string: "https://example.com/items/\(id)?\(query)")
/// ```
///
/// Do not encode what is already encoded: a `%` is text here, and becomes `%25`.
public struct PercentEncoding: Sendable, Hashable {
  /// Bit n: whether the byte n stays as it is, for the bytes up to 63. Those from 128 on never do.
  private let low: UInt64
  /// Bit n: whether the byte 64 + n stays as it is.
  private let high: UInt64
  private let encodesSpaceAsPlus: Bool

  /// One segment of a path (RFC 3986 §3.3). A `/` is encoded; what a segment may hold, such as `:@!$&'()*+,;=`, stays.
  ///
  /// The segments `.` and `..` cannot be sent as data: encoded or not, they mean the place in the path.
  public static let pathSegment = PercentEncoding(unchanged: "-._~!$&'()*+,;=:@")

  /// A name or a value in a query: everything but letters, digits and `-._~!'()*` is encoded.
  ///
  /// A space becomes `%20` and a `+` becomes `%2B`, so that both survive whether or not the server reads a query as a
  /// form. Decoding leaves a `+` alone; where a server means a space by it, decode with ``form``.
  public static let queryComponent = PercentEncoding(unchanged: "-._~!'()*")

  /// A name or a value of `application/x-www-form-urlencoded` (WHATWG URL §5.2): everything but letters, digits and
  /// `*-._` is encoded, and a space is a `+`.
  public static let form = PercentEncoding(unchanged: "*-._", encodesSpaceAsPlus: true)

  /// The value of a parameter such as `username*` (RFC 8187 §3.2.1, attr-char).
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

  /// The text, encoded: the bytes of its UTF-8, in upper-case digits (RFC 3986 §2.1).
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

  /// The text that was encoded.
  ///
  /// Forgiving, as the URL standard asks: a `%` that no two digits follow stands for itself, and bytes that are no
  /// UTF-8 become U+FFFD.
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

  package static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "%"))
    for digit in [byte >> 4, byte & 15] { bytes.append(digit < 10 ? digit + 48 : digit + 55) }
  }

  /// The byte that the first two characters stand for, nil if they are no hexadecimal digits.
  package static func hexadecimalPair(in text: some Sequence<UInt8>) -> UInt8? {
    var digits = text.makeIterator()
    guard let high = digits.next().flatMap(ASCII.hexadecimalValue),
      let low = digits.next().flatMap(ASCII.hexadecimalValue)
    else { return nil }
    return high << 4 | low
  }
}

extension PercentEncoding {
  /// Pairs as a query or a form's body: `name=value&name=value`, each part encoded. Meant for ``queryComponent`` and
  /// ``form``.
  public func encode(_ pairs: [(name: String, value: String)]) -> String {
    pairs.map { "\(encode($0.name))=\(encode($0.value))" }.joined(separator: "&")
  }

  /// The pairs of a query or a form's body, decoded (WHATWG URL §5.1): empty pieces are ignored, and a piece without
  /// `=` has an empty value.
  public func pairs(in text: some StringProtocol) -> [(name: String, value: String)] {
    text.utf8.split(separator: UInt8(ascii: "&")).map { piece in
      let parts = piece.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      let texts = parts.map { decode(String(decoding: $0, as: UTF8.self)) }
      return (name: texts[0], value: texts.count > 1 ? texts[1] : "")
    }
  }
}
