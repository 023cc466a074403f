@_spi(Toolkit) import MartletSemantics

/// Indents a body that is well-formed XML, and leaves any other as it is: a reader must see what is wrong with it.
///
/// It holds the body until its end, because the outermost element ends there. Bodies of more than 16 MiB are not
/// checked: they are formatted as they arrive.
struct CheckedXMLFormatter: BodyFormatter {
  private enum State {
    case holding([UInt8])
    case decided(XMLFormatter)
  }

  private static let limit = 16 << 20

  private let indented: XMLFormatter
  private let unchanged: XMLFormatter
  private var state = State.holding([])

  init(palette: Palette, isForTerminal: Bool) {
    indented = XMLFormatter(isIndented: true, palette: palette, isForTerminal: isForTerminal)
    unchanged = XMLFormatter(isIndented: false, palette: palette, isForTerminal: isForTerminal)
  }

  mutating func format(_ chunk: Data) -> [UInt8] {
    switch state {
    case .decided(var formatter):
      defer { state = .decided(formatter) }
      return formatter.format(chunk)
    case .holding(var held):
      state = .holding([])  // so that the bytes are not copied
      held += chunk
      if held.count > Self.limit { return decide(indented, held) }
      state = .holding(held)
      return []
    }
  }

  mutating func finish() -> [UInt8] {
    switch state {
    case .decided(var formatter): return formatter.finish()
    case .holding(let held): return decide(XMLSyntax.isWellFormed(held) ? indented : unchanged, held) + finish()
    }
  }

  private mutating func decide(_ formatter: XMLFormatter, _ held: [UInt8]) -> [UInt8] {
    var formatter = formatter
    let shown = formatter.format(Data(held))
    state = .decided(formatter)
    return shown
  }
}

/// Checks whether a document is well-formed (XML 1.0 §2.1). It does not read what a document type declares: with one,
/// any entity may be referenced. Names may have any characters beyond ASCII.
struct XMLSyntax {
  private struct Fault: Error {}

  private let bytes: [UInt8]
  private var position = 0
  private var open: [ArraySlice<UInt8>] = []
  private var hasRoot = false
  private var hasDocumentType = false

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Whether the bytes are a well-formed document in UTF-8, with or without a byte order mark.
  static func isWellFormed(_ bytes: [UInt8]) -> Bool {
    guard String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(where: isForbidden) else { return false }
    var syntax = XMLSyntax(bytes)
    return (try? syntax.readDocument()) != nil
  }

  /// Control characters other than tabs and line ends (§2.2).
  private static func isForbidden(_ byte: UInt8) -> Bool { byte < 32 && ![9, 10, 13].contains(byte) }

  private mutating func readDocument() throws(Fault) {
    if starts(with: [0xEF, 0xBB, 0xBF]) { position += 3 }
    let beginning = position
    while position < bytes.count {
      if bytes[position] == UInt8(ascii: "<") {
        try readMarkup(at: beginning)
      } else {
        try readText()
      }
    }
    guard hasRoot, open.isEmpty else { throw Fault() }
  }

  /// - Parameter beginning: where the document begins: only there may a declaration be.
  private mutating func readMarkup(at beginning: Int) throws(Fault) {
    if take("<!--") {
      guard take(upTo: "--") != nil, take(">") else { throw Fault() }
    } else if take("<![CDATA[") {
      guard !open.isEmpty, take(upTo: "]]>") != nil else { throw Fault() }
    } else if starts(with: Array("<?".utf8)) {
      let isFirst = position == beginning
      position += 2
      let target = String(decoding: try name(), as: UTF8.self)
      if isFirst, target == "xml" { return try readDeclaration() }
      guard target.lowercased() != "xml", skipSpace() || starts(with: Array("?>".utf8)), take(upTo: "?>") != nil else {
        throw Fault()
      }
    } else if take("<!DOCTYPE") {
      guard !hasRoot, !hasDocumentType else { throw Fault() }
      hasDocumentType = true
      try skipDocumentType()
    } else if take("</") {
      let name = try name()
      skipSpace()
      guard open.popLast() == name, take(">") else { throw Fault() }
    } else {
      position += 1
      try readStartTag()
    }
  }

  /// Reads the rest of an XML declaration (§2.8): the version, and then perhaps the encoding and `standalone`.
  private mutating func readDeclaration() throws(Fault) {
    var names = ["version", "encoding", "standalone"][...]
    while skipSpace(), !take("?>") {
      let name = String(decoding: try name(), as: UTF8.self)
      guard let place = names.firstIndex(of: name), place == 0 || names.startIndex > 0 else { throw Fault() }
      names = names[(place + 1)...]
      skipSpace()
      guard take("=") else { throw Fault() }
      skipSpace()
      try readValue()
    }
    guard names.startIndex > 0, bytes[..<position].suffix(2).elementsEqual("?>".utf8) || take("?>") else {
      throw Fault()
    }
  }

  private mutating func readStartTag() throws(Fault) {
    guard !(hasRoot && open.isEmpty) else { throw Fault() }
    hasRoot = true
    let name = try name()
    var attributes: Set<ArraySlice<UInt8>> = []
    while true {
      let hasSpace = skipSpace()
      if take("/>") { return }
      if take(">") { return open.append(name) }
      guard hasSpace, attributes.insert(try self.name()).inserted else { throw Fault() }
      skipSpace()
      guard take("=") else { throw Fault() }
      skipSpace()
      try readValue()
    }
  }

  private mutating func readValue() throws(Fault) {
    guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") || bytes[position] == UInt8(ascii: "'") else {
      throw Fault()
    }
    let quote = bytes[position]
    position += 1
    while position < bytes.count, bytes[position] != quote {
      guard bytes[position] != UInt8(ascii: "<") else { throw Fault() }
      try readCharacter()
    }
    guard position < bytes.count else { throw Fault() }
    position += 1
  }

  /// Outside of the outermost element there is only white space.
  private mutating func readText() throws(Fault) {
    if open.isEmpty {
      guard skipSpace() else { throw Fault() }
    } else {
      guard !starts(with: Array("]]>".utf8)) else { throw Fault() }
      try readCharacter()
    }
  }

  /// Reads a byte, or a reference to a character or an entity (§4.1).
  private mutating func readCharacter() throws(Fault) {
    guard take("&") else { return position += 1 }
    if take("#") {
      let radix = take("x") ? 16 : 10
      guard let digits = take(upTo: ";"), let code = UInt32(String(decoding: digits, as: UTF8.self), radix: radix),
        Unicode.Scalar(code) != nil, code > 31 || [9, 10, 13].contains(code)
      else { throw Fault() }
    } else {
      let name = String(decoding: try name(), as: UTF8.self)
      guard take(";"), hasDocumentType || ["lt", "gt", "amp", "apos", "quot"].contains(name) else { throw Fault() }
    }
  }

  /// Skips the rest of a document type declaration, with the declarations in its brackets.
  private mutating func skipDocumentType() throws(Fault) {
    guard skipSpace() else { throw Fault() }
    _ = try name()
    var depth = 0
    while position < bytes.count {
      let byte = bytes[position]
      if take("<!--") {
        guard take(upTo: "-->") != nil else { throw Fault() }
        continue
      }
      position += 1
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "'"):
        guard let end = bytes[position...].firstIndex(of: byte) else { throw Fault() }
        position = end + 1
      case UInt8(ascii: "["), UInt8(ascii: "<"): depth += 1
      case UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: ">"):
        if depth == 0 { return }
        depth -= 1
      default: break
      }
    }
    throw Fault()
  }

  // MARK: - Parts

  private mutating func name() throws(Fault) -> ArraySlice<UInt8> {
    let isDigitLike: (UInt8) -> Bool = { ASCII.isDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
    let rest = bytes[position...]
    let name = rest.prefix { byte in
      isDigitLike(byte) || ASCII.isLetter(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ":") || byte >= 128
    }
    guard let first = name.first, !isDigitLike(first) else { throw Fault() }
    position += name.count
    return name
  }

  @discardableResult private mutating func skipSpace() -> Bool {
    let start = position
    while position < bytes.count, [9, 10, 13, 32].contains(bytes[position]) { position += 1 }
    return position > start
  }

  private func starts(with text: [UInt8]) -> Bool { bytes[position...].starts(with: text) }

  private mutating func take(_ text: StaticString) -> Bool {
    let isNext = text.withUTF8Buffer { bytes[position...].starts(with: $0) }
    if isNext { position += text.utf8CodeUnitCount }
    return isNext
  }

  /// Takes everything before a text, and the text itself; nil if it does not follow.
  private mutating func take(upTo text: StaticString) -> ArraySlice<UInt8>? {
    let start = position
    while position < bytes.count {
      let end = position
      if take(text) { return bytes[start..<end] }
      position += 1
    }
    return nil
  }
}
