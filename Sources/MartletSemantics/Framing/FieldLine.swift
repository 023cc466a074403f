/// One line of a head's or trailer's fields (RFC 9112 §5): `field-name ":" OWS field-value OWS`.
///
/// Decisions where the RFC leaves a choice:
/// - The line may end with LF alone (§2.2 allows it); any other CR is refused, and so is NUL (RFC 9110 §5.5).
/// - The value may hold other control characters: whoever reads it makes spaces of them (RFC 9110 §5.5).
/// - White space between the name and the colon is refused in responses too: §5.1 demands that of servers only, but who takes
///   `Content-Length :` for a length and who does not would see two different messages.
/// - A line without a colon, without a name, or whose name is no token makes the whole message invalid; it is not skipped.
package enum FieldLine: Equatable {
  /// The empty line behind the last field.
  case end
  /// A line that begins with white space: the value of the line before goes on (obs-fold, §5.2).
  case continuation
  case field(Kind)

  /// What a field's name is to the framing of the message.
  package enum Kind {
    case contentLength
    case transferEncoding
    case other
  }

  /// Reads a line, with or without its end.
  package init(_ line: UnsafeRawBufferPointer) throws(MessageFault) {
    let content = try Self.content(of: line)
    guard let first = content.first else {
      self = .end
      return
    }
    guard !content.contains(0) else { throw .controlCharacter }
    guard !ASCII.isWhitespace(first) else {
      self = .continuation
      return
    }
    guard let colon = content.firstIndex(of: UInt8(ascii: ":")), colon > content.startIndex else { throw .fieldLine }
    let name = content[..<colon]
    guard name.allSatisfy(Token.isTokenCharacter) else { throw .fieldName }
    self = .field(Self.kind(of: name))
  }

  /// The line without its end, if it holds no other CR or LF.
  static func content<Line: Collection<UInt8>>(of line: Line) throws(MessageFault) -> Line.SubSequence {
    var content = line[...]
    if let lineFeed = content.firstIndex(of: 10) {
      guard content.index(after: lineFeed) == content.endIndex else { throw .controlCharacter }
      content = content[..<lineFeed]
    }
    if let carriageReturn = content.firstIndex(of: 13) {
      guard content.index(after: carriageReturn) == content.endIndex else { throw .controlCharacter }
      content = content[..<carriageReturn]
    }
    return content
  }

  private static func kind(of name: Slice<UnsafeRawBufferPointer>) -> Kind {
    switch name.count {
    case 14 where equals(name, "content-length"): .contentLength
    case 17 where equals(name, "transfer-encoding"): .transferEncoding
    default: .other
    }
  }

  private static func equals(_ name: Slice<UnsafeRawBufferPointer>, _ lowercased: StaticString) -> Bool {
    (0..<lowercased.utf8CodeUnitCount).allSatisfy {
      ASCII.lowercased(name[name.startIndex + $0]) == lowercased.utf8Start[$0]
    }
  }
}
