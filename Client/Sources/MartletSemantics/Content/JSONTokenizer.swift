/// Splits JSON (RFC 8259 §2) into tokens, byte by byte.
///
/// It is lenient: texts that are cut off, several values in a row, and bytes that are not JSON have tokens too. It does
/// not check the order of tokens or what words and strings contain; ``JSONSyntax`` does.
@_spi(Toolkit) public struct JSONTokenizer: Sendable {
  public enum Kind: Sendable {
    /// One byte of white space.
    case whiteSpace
    /// `{` or `[`.
    case opening
    /// `}` or `]`.
    case closing
    case comma
    case colon
    /// A string with its quotation marks. The closing one is missing if the text is cut off.
    case string
    /// A number, a literal, or anything else without structure.
    case word
  }

  /// The kind of the last token.
  public private(set) var kind = Kind.whiteSpace
  /// Whether the last token is a string without its closing quotation mark, or a word, which has no end of its own.
  public private(set) var isOpen = false
  private var isEscaped = false

  public init() {}

  /// Whether the byte would begin a token: it does not belong to the last one.
  public func begins(_ byte: UInt8) -> Bool {
    !isOpen || (kind == .word && Self.kind(startingWith: byte) != .word)
  }

  public mutating func read(_ byte: UInt8) {
    if begins(byte) {
      kind = Self.kind(startingWith: byte)
      isOpen = kind == .string || kind == .word
    } else if kind == .string {
      isOpen = isEscaped || byte != UInt8(ascii: "\"")
      isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
    }
  }

  private static func kind(startingWith byte: UInt8) -> Kind {
    switch byte {
    case 9, 10, 13, 32: .whiteSpace
    case UInt8(ascii: "{"), UInt8(ascii: "["): .opening
    case UInt8(ascii: "}"), UInt8(ascii: "]"): .closing
    case UInt8(ascii: ","): .comma
    case UInt8(ascii: ":"): .colon
    case UInt8(ascii: "\""): .string
    default: .word
    }
  }
}

/// The tokens of a whole text. A copy looks ahead.
@_spi(Toolkit) public struct JSONTokens: Sequence, IteratorProtocol {
  public typealias Token = (kind: JSONTokenizer.Kind, range: Range<Int>)

  private let bytes: [UInt8]
  private var index: Int

  /// - Parameter index: where a token begins.
  public init(_ bytes: [UInt8], from index: Int = 0) {
    self.bytes = bytes
    self.index = index
  }

  public mutating func next() -> Token? {
    guard index < bytes.count else { return nil }
    let start = index
    var tokenizer = JSONTokenizer()
    repeat {
      tokenizer.read(bytes[index])
      index += 1
    } while index < bytes.count && !tokenizer.begins(bytes[index])
    return (tokenizer.kind, start..<index)
  }

  /// Reads on, and returns the first token that is not white space.
  public mutating func nextVisible() -> Token? {
    while let token = next() { if token.kind != .whiteSpace { return token } }
    return nil
  }
}
