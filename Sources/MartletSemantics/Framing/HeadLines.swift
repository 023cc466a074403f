/// The status line of a response (RFC 9112 §4): `HTTP-version SP status-code SP [ reason-phrase ]`.
///
/// Decisions where the RFC leaves a choice or other clients are lenient:
/// - The line may end with LF alone (§2.2 allows it).
/// - The space after the status may be missing if there is no reason phrase: some servers omit it.
/// - A higher minor version of HTTP/1 is read as HTTP/1.1 (RFC 9110 §2.5).
/// - Everything else is refused: lower-case `http`, several spaces, leading white space, a status with other than three
///   digits or below 100, a control character in the reason phrase.
package struct StatusLine: Sendable, Hashable {
  package let version: HTTPVersion
  package let status: Int

  /// Parses a line, with or without its line break.
  package init(_ line: some Collection<UInt8>) throws(MessageFault) {
    let line = try FieldLine.content(of: line)
    guard line.count >= 12, line.starts(with: "HTTP/1.".utf8) else { throw .statusLine }
    let bytes = Array(line.prefix(13))
    guard ASCII.isDigit(bytes[7]), bytes[8] == 32 else { throw .statusLine }
    version = bytes[7] == UInt8(ascii: "0") ? .http1_0 : .http1_1
    let digits = bytes[9..<12]
    guard digits.allSatisfy(ASCII.isDigit) else { throw .statusCode }
    status = digits.reduce(0) { $0 * 10 + Int($1 - 48) }
    guard status >= 100 else { throw .statusCode }
    guard bytes.count == 12 || bytes[12] == 32 else { throw ASCII.isDigit(bytes[12]) ? .statusCode : .statusLine }
    guard line.allSatisfy({ $0 == 9 || !ASCII.isControl($0) }) else { throw .controlCharacter }
  }

  /// Parses the line that libcurl creates for the head of an HTTP/2 response, `HTTP/2 200 `.
  package init(synthesised line: some Collection<UInt8>) throws(MessageFault) {
    let bytes = Array(try FieldLine.content(of: line))
    guard bytes.starts(with: "HTTP/".utf8) else { throw .statusLine }
    guard bytes.starts(with: "HTTP/2 ".utf8) else { throw .version }
    let digits = bytes.dropFirst(7).prefix { $0 != 32 }
    guard digits.count == 3, digits.allSatisfy(ASCII.isDigit), bytes.count <= 11 else { throw .statusCode }
    version = .http2
    status = digits.reduce(0) { $0 * 10 + Int($1 - 48) }
    guard status >= 100 else { throw .statusCode }
  }
}

/// A line of the header or trailer section (RFC 9112 §5): `field-name ":" OWS field-value OWS`.
///
/// Decisions where the RFC leaves a choice:
/// - The line may end with LF alone (§2.2 allows it); any other CR is refused, and so is NUL (RFC 9110 §5.5).
/// - The value may contain other control characters: they are replaced by spaces later (RFC 9110 §5.5).
/// - White space between the name and the colon is refused in responses too: §5.1 requires that only of servers, but a
///   recipient that takes `Content-Length :` for a length and one that does not would see two different messages.
/// - A line without a colon, without a name, or whose name is not a token invalidates the whole message; it is not
///   skipped.
package enum FieldLine: Equatable {
  /// The empty line after the last field.
  case end
  /// A line that begins with white space: it continues the previous value (obs-fold, §5.2).
  case continuation
  case field(Kind)

  /// Whether the field frames the message.
  package enum Kind {
    case contentLength
    case transferEncoding
    case other
  }

  /// Parses a line, with or without its line break.
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

  /// Returns the line without its line break; throws if it contains another CR or LF.
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

extension ResponseHead {
  /// Creates a head from raw lines that a ``ResponseHeadReader`` has accepted, without the empty line at the end.
  package init(lines: [UInt8]) {
    let end = lines.firstIndex(of: 10) ?? lines.endIndex
    let first = lines[..<end]
    let line = (try? StatusLine(first)) ?? (try? StatusLine(synthesised: first))
    self.init(
      status: HTTPStatus(line?.status ?? 0), fields: HTTPFields(lines: lines[min(end + 1, lines.endIndex)...]),
      version: line?.version)
  }
}

extension HTTPFields {
  /// Creates fields from raw lines that a ``ResponseHeadReader`` has accepted. A folded value becomes one line (RFC
  /// 9112 §5.2), surrounding white space is removed, and control characters become spaces (RFC 9110 §5.5).
  package init(lines: ArraySlice<UInt8>) {
    self.init()
    guard !lines.isEmpty else { return }
    reserveCapacity(16)
    var pending: (name: FieldName, value: String)?
    lines.withUnsafeBufferPointer { bytes in
      var start = bytes.startIndex
      while start < bytes.endIndex {
        let end = bytes[start...].firstIndex(of: 10) ?? bytes.endIndex
        let line = bytes[start..<end]
        start = end + 1
        guard let first = line.first else { continue }
        if ASCII.isWhitespace(first) {
          pending?.value += " " + Self.text(Self.trimmed(line))
          continue
        }
        if let pending { appendReceived(pending.name, pending.value) }
        pending = Self.field(line)
      }
    }
    if let pending { appendReceived(pending.name, pending.value) }
  }

  private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

  private static func field(_ line: Bytes) -> (name: FieldName, value: String)? {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let name = FieldName(unchecked: String(decoding: line[line.startIndex..<colon], as: UTF8.self))
    let value = trimmed(line[(colon + 1)...])
    return (name, name == .setCookie ? FieldOctets.text(value) : text(value))
  }

  private static func trimmed(_ bytes: Bytes) -> Bytes {
    var bytes = bytes
    while let first = bytes.first, ASCII.isWhitespace(first) { bytes.removeFirst() }
    while let last = bytes.last, ASCII.isWhitespace(last) || last == 13 { bytes.removeLast() }
    return bytes
  }

  /// Decodes UTF-8, or Latin-1 if the bytes are not UTF-8, since every byte is valid Latin-1 (RFC 9110 §5.5).
  private static func text(_ bytes: Bytes) -> String {
    String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }
}
