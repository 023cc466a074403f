/// The status line of a response (RFC 9112 §4): `HTTP-version SP status-code SP [ reason-phrase ]`.
///
/// Decisions where the RFC leaves a choice or other clients are lenient:
/// - The line may end with LF alone (§2.2 allows it).
/// - The space after the status may be missing if there is no reason phrase: some servers omit it.
/// - A higher minor version of HTTP/1 is read as HTTP/1.1 (RFC 9110 §2.5).
/// - Everything else is refused: lower-case `http`, several spaces, leading white space, a status that has not exactly
///   three digits or is below 100, a control character in the reason phrase.
package struct StatusLine: Sendable, Hashable {
  package let version: HTTPVersion
  package let status: Int

  /// Parses a line, with or without its line break.
  package init(_ line: UnsafeRawBufferPointer) throws(MessageFault) {
    let line = try FieldLine.content(of: line)
    guard Self.begins(line), line.count >= 12, ASCII.isDigit(line[7]), line[8] == 32 else { throw .statusLine }
    version = line[7] == UInt8(ascii: "0") ? .http1_0 : .http1_1
    status = try Self.status(UnsafeRawBufferPointer(rebasing: line[9..<12]))
    guard line.count == 12 || line[12] == 32 else { throw ASCII.isDigit(line[12]) ? .statusCode : .statusLine }
    for byte in line where ASCII.isControl(byte) && byte != 9 { throw .controlCharacter }
  }

  /// Parses `HTTP/2 200 `, the line with which the transport begins the head of an HTTP/2 response, with or without its
  /// line break.
  init?(http2 line: UnsafeRawBufferPointer) {
    guard ByteScan.begins(line, with: "HTTP/2 "), line.count >= 10,
      let status = try? Self.status(UnsafeRawBufferPointer(rebasing: line[7..<10]))
    else { return nil }
    (version, self.status) = (.http2, status)
  }

  /// Returns the reason phrase of a valid line; nil if it is the registered one, as almost always, which costs no
  /// string.
  static func unregisteredReason(in line: UnsafeRawBufferPointer, of status: Int) -> String? {
    if status == 200, line.count > 15, line.loadUnaligned(fromByteOffset: 12, as: UInt32.self) == spaceOKReturn {
      return nil
    }
    let end = ByteScan.breakOffset(in: line)
    let phrase = ByteScan.trimmed(UnsafeRawBufferPointer(rebasing: line[min(12, end)..<end]))
    guard !phrase.elementsEqual(HTTPStatus(status).reasonPhrase.utf8) else { return nil }
    return HTTPFields.text(phrase)
  }

  /// The bytes of " OK", followed by CR, as they are in memory.
  private static let spaceOKReturn = UInt32(bigEndian: 0x204F_4B0D)

  /// Whether bytes are the beginning of a status line, even if incomplete. This shows early that a peer does not speak
  /// HTTP/1.
  package static func begins(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let prefix: StaticString = "HTTP/1."
    for index in 0..<min(prefix.utf8CodeUnitCount, bytes.count) where bytes[index] != prefix.utf8Start[index] {
      return false
    }
    return true
  }

  private static func status(_ digits: UnsafeRawBufferPointer) throws(MessageFault) -> Int {
    var status = 0
    for digit in digits {
      guard ASCII.isDigit(digit) else { throw .statusCode }
      status = status * 10 + Int(digit - 48)
    }
    guard status >= 100 else { throw .statusCode }
    return status
  }
}

/// A line of the header or trailer section (RFC 9112 §5): `field-name ":" OWS field-value OWS`.
///
/// Decisions where the RFC leaves a choice:
/// - The line may end with LF alone (§2.2 allows it); any other CR is refused, and so is NUL (RFC 9110 §5.5).
/// - The value may contain other control characters: they are later replaced by spaces (RFC 9110 §5.5).
/// - White space between the name and the colon is refused in responses, too. §5.1 requires that only of servers. But
///   if only one of two recipients accepts `Content-Length :` as a length, they disagree about where the message ends.
/// - A line without a colon, without a name, or whose name is not a token invalidates the whole message; it is not
///   skipped.
package enum FieldLine: Equatable {
  /// The empty line after the last field.
  case end
  /// A line that begins with white space: it continues the previous value (obs-fold, §5.2).
  case continuation
  /// A field, and the position of its value in the line, with surrounding white space.
  case field(Kind, value: Range<Int>)

  /// Whether the field frames the message or affects its connection.
  package enum Kind: Sendable {
    case contentLength
    case transferEncoding
    case connection
    case keepAlive
    case other
  }

  /// Parses a line, with or without its line break.
  package init(_ line: UnsafeRawBufferPointer) throws(MessageFault) { try self.init(content: Self.content(of: line)) }

  /// Parses a line without its line break and without CR, LF or NUL.
  init(content: UnsafeRawBufferPointer) throws(MessageFault) {
    guard let first = content.first else {
      self = .end
      return
    }
    guard !ASCII.isWhitespace(first) else {
      self = .continuation
      return
    }
    guard let colon = ByteScan.offset(of: UInt8(ascii: ":"), in: content) else { throw .fieldLine }
    let name = UnsafeRawBufferPointer(rebasing: content[..<colon])
    guard name.allSatisfy(Token.isTokenCharacter) else { throw .fieldName }
    guard !name.isEmpty else { throw .fieldLine }
    self = .field(Self.kind(of: name), value: (colon + 1)..<content.count)
  }

  /// Returns the line without its line break; throws if it contains NUL, or CR or LF elsewhere.
  static func content(of line: UnsafeRawBufferPointer) throws(MessageFault) -> UnsafeRawBufferPointer {
    let end = ByteScan.breakOffset(in: line)
    let isWhole =
      switch line.count - end {
      case 0: true
      case 1: line[end] != 0
      case 2: line[end] == 13 && line[end + 1] == 10
      default: false
      }
    guard isWhole else { throw .controlCharacter }
    return UnsafeRawBufferPointer(rebasing: line[..<end])
  }

  private static func kind(of name: UnsafeRawBufferPointer) -> Kind {
    switch name.count {
    case 10 where ByteScan.equals(name, "connection"): .connection
    case 10 where ByteScan.equals(name, "keep-alive"): .keepAlive
    case 14 where ByteScan.equals(name, "content-length"): .contentLength
    case 17 where ByteScan.equals(name, "transfer-encoding"): .transferEncoding
    default: .other
    }
  }
}

extension ResponseHead {
  /// Makes a head from raw lines that a ``ResponseHeadReader`` has accepted, without the empty line at the end.
  package init(lines: [UInt8]) {
    let (line, reason, end) = lines.withUnsafeBytes { bytes in
      let end = ByteScan.lineEnd(in: bytes, from: 0) ?? bytes.count
      let first = UnsafeRawBufferPointer(rebasing: bytes[..<end])
      guard StatusLine.begins(first) else { return (StatusLine(http2: first), nil as String?, end) }
      let line = try? StatusLine(first)
      return (line, line.flatMap { StatusLine.unregisteredReason(in: first, of: $0.status) }, end)
    }
    self.init(
      status: HTTPStatus(line?.status ?? 0), fields: HTTPFields(lines: lines[end...]), version: line?.version)
    if let reason { self.reason = reason }
  }
}

extension WrittenHead {
  /// Reads a head from the lines of an HTTP/1.1 request, or from lines of that form for HTTP/2.
  package init(lines: [UInt8]) {
    let end = lines.withUnsafeBytes { ByteScan.lineEnd(in: $0, from: 0) ?? $0.count }
    let parts = String(decoding: lines[..<end], as: UTF8.self).split { $0.isWhitespace }
    let fields = lines[end...]
    self.init(
      method: parts.first.flatMap { HTTPMethod(rawValue: String($0)) } ?? .get,
      target: parts.count > 1 ? String(parts[1]) : "",
      version: parts.last.flatMap { HTTPVersion(rawValue: String($0)) } ?? .http1_1,
      fields: HTTPFields(lines: fields.suffix(4).elementsEqual([13, 10, 13, 10]) ? fields.dropLast(2) : fields))
  }
}

extension HTTPFields {
  /// Makes fields from raw lines that a ``ResponseHeadReader`` has accepted. Strings are made on access, unless
  /// something has to be corrected. A folded value becomes one line (RFC 9112 §5.2), surrounding white space is
  /// removed, and control characters become spaces (RFC 9110 §5.5).
  package init(lines: ArraySlice<UInt8>) {
    if lines.isEmpty {
      self.init()
    } else if let received = Self.received(lines) {
      self.init(received)
    } else {
      self.init(decoding: lines)
    }
  }

  /// Makes fields from raw lines that contain valid names; nil if a value is folded, or contains characters other
  /// than visible ASCII and spaces.
  @_spi(Toolkit) public init?(plainLines lines: ArraySlice<UInt8>) {
    guard let received = Self.received(lines) else { return nil }
    self.init(received)
  }

  /// Finds the fields in lines that can be kept unchanged; nil if a value is folded or not plain.
  private static func received(_ lines: ArraySlice<UInt8>) -> ReceivedFields? {
    var places: [ReceivedFields.Place] = []
    places.reserveCapacity(16)
    let isPlain = lines.withUnsafeBytes { bytes in
      var position = 0
      while position < bytes.count {
        let start = position
        let line = nextLine(in: bytes, from: &position)
        guard let first = line.first else { continue }
        guard !ASCII.isWhitespace(first) else { return false }
        guard let colon = ByteScan.offset(of: UInt8(ascii: ":"), in: line) else { continue }
        var (from, to) = (colon + 1, line.count)
        while from < to, ASCII.isWhitespace(line[from]) { from += 1 }
        while from < to, ASCII.isWhitespace(line[to - 1]) { to -= 1 }
        guard ByteScan.isPlain(UnsafeRawBufferPointer(rebasing: line[from..<to])) else { return false }
        places.append(
          ReceivedFields.Place(name: start..<(start + colon), value: (start + from)..<(start + to)))
      }
      return true
    }
    return isPlain ? ReceivedFields(lines, places) : nil
  }

  private init(decoding lines: ArraySlice<UInt8>) {
    self.init()
    reserveCapacity(16)
    lines.withUnsafeBytes { bytes in
      var position = 0
      while position < bytes.count {
        let line = Self.nextLine(in: bytes, from: &position)
        guard let first = line.first, !ASCII.isWhitespace(first),
          let colon = ByteScan.offset(of: UInt8(ascii: ":"), in: line)
        else { continue }
        let name = CommonNames.name(of: UnsafeRawBufferPointer(rebasing: line[..<colon]))
        let value = ByteScan.trimmed(UnsafeRawBufferPointer(rebasing: line[(colon + 1)...]))
        if position < bytes.count, ASCII.isWhitespace(bytes[position]) {
          appendReceived(name, Self.unfolded(value, of: name, in: bytes, from: &position))
        } else {
          appendReceived(name, Self.text(value, of: name))
        }
      }
    }
  }

  /// Returns the next line without its line break.
  private static func nextLine(in bytes: UnsafeRawBufferPointer, from position: inout Int) -> UnsafeRawBufferPointer {
    let start = position
    position = ByteScan.lineEnd(in: bytes, from: start) ?? bytes.count
    var end = position
    while end > start, bytes[end - 1] == 10 || bytes[end - 1] == 13 { end -= 1 }
    return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
  }

  /// Returns a value with its continuation lines.
  private static func unfolded(
    _ value: UnsafeRawBufferPointer, of name: FieldName, in bytes: UnsafeRawBufferPointer, from position: inout Int
  ) -> String {
    var text = text(value, of: name)
    while position < bytes.count, ASCII.isWhitespace(bytes[position]) {
      text += " " + Self.text(ByteScan.trimmed(nextLine(in: bytes, from: &position)), of: name)
    }
    return text
  }

  private static func text(_ bytes: UnsafeRawBufferPointer, of name: FieldName) -> String {
    switch name {
    case .setCookie: FieldOctets.text(bytes)
    case .location, .contentLocation, .link: String(validating: bytes, as: UTF8.self) ?? reference(bytes, in: name)
    default: text(bytes)
    }
  }

  /// Decodes the value of a field with URLs. Bytes of a URL that are not UTF-8 become escapes, `%E9`, as in browsers:
  /// decoded as Latin-1, they would name another resource. In `Link`, only the text between angle brackets is a URL.
  private static func reference(_ bytes: UnsafeRawBufferPointer, in name: FieldName) -> String {
    var value = String.UnicodeScalarView()
    var isURL = name != .link
    for byte in bytes {
      if name == .link, "<>".utf8.contains(byte) { isURL = byte == UInt8(ascii: "<") }
      if byte < 128 || !isURL {
        value.append(Unicode.Scalar(byte))
      } else {
        var escape: [UInt8] = []
        PercentEncoding.append(byte, to: &escape)
        value.append(contentsOf: escape.map { Unicode.Scalar($0) })
      }
    }
    return String(value)
  }

  /// Decodes UTF-8, or Latin-1 if the bytes are not UTF-8, since every byte is valid Latin-1 (RFC 9110 §5.5).
  fileprivate static func text(_ bytes: UnsafeRawBufferPointer) -> String {
    String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }
}
