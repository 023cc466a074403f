import MartletSemantics

/// Indents and colors XML as it arrives.
///
/// Elements that contain only elements get lines of their own. Text stays unchanged, and so does everything in an
/// element that contains text. It keeps a token (a tag, a comment, a text) until its end, up to a limit; after a longer
/// one the rest is passed on unchanged.
struct XMLFormatter: BodyFormatter {
  private struct Element: Sendable {
    var hasElements = false
    var hasText = false
  }

  private let isIndented: Bool
  private let palette: Palette
  private var visible: VisibleText?
  private var token: [UInt8] = []
  private var quote: UInt8?
  private var elements: [Element] = []
  private var isPassingOn = false
  private var hasOutput = false
  private static let tokenLimit = 1 << 20

  init(isIndented: Bool, palette: Palette, isForTerminal: Bool) {
    self.isIndented = isIndented
    self.palette = palette
    visible = isForTerminal ? VisibleText() : nil
  }

  mutating func format(_ chunk: Data) -> [UInt8] {
    var out: [UInt8] = []
    if let filtered = visible?.filter(chunk) {
      for byte in filtered { add(byte, to: &out) }
    } else {
      for byte in chunk { add(byte, to: &out) }
    }
    return out
  }

  mutating func finish() -> [UInt8] {
    var out: [UInt8] = []
    for byte in visible?.finish() ?? [] { add(byte, to: &out) }
    if !token.isEmpty, !(isIndented && token.allSatisfy(Self.isSpace)) { out += token }
    token = []
    if isIndented, hasOutput || !out.isEmpty { out.append(10) }
    return out
  }

  private mutating func add(_ byte: UInt8, to out: inout [UInt8]) {
    if isPassingOn { return out.append(byte) }
    let isMarkup = token.first == UInt8(ascii: "<")
    if !isMarkup, byte == UInt8(ascii: "<") {
      endText(&out)
      token = [byte]
      return
    }
    token.append(byte)
    if isMarkup, isComplete(after: byte) {
      endMarkup(&out)
    } else if token.count > Self.tokenLimit {
      out += token
      token = []
      isPassingOn = true
    }
  }

  /// Whether the byte ends the tag, comment, CDATA section or instruction.
  private mutating func isComplete(after byte: UInt8) -> Bool {
    if token.starts(with: "<!--".utf8) { return token.count >= 7 && token.suffix(3).elementsEqual("-->".utf8) }
    if token.starts(with: "<![CDATA[".utf8) { return token.suffix(3).elementsEqual("]]>".utf8) }
    if token.starts(with: "<?".utf8) { return token.count >= 4 && token.suffix(2).elementsEqual("?>".utf8) }
    if let open = quote {
      if byte == open { quote = nil }
      return false
    }
    if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") { quote = byte }
    return byte == UInt8(ascii: ">")
  }

  private mutating func endText(_ out: inout [UInt8]) {
    defer { token = [] }
    guard !token.isEmpty else { return }
    let isBlank = token.allSatisfy(Self.isSpace)
    if isBlank, isIndented, !(elements.last?.hasText ?? false) { return }
    if !isBlank, !elements.isEmpty { elements[elements.count - 1].hasText = true }
    out += token
    hasOutput = true
  }

  private mutating func endMarkup(_ out: inout [UInt8]) {
    defer { token = [] }
    if token.starts(with: "</".utf8) {
      let element = elements.popLast()
      if let element, element.hasElements, !element.hasText { breakLine(&out) }
      return write(.name, &out)
    }
    if token.starts(with: "<![CDATA[".utf8) {
      if !elements.isEmpty { elements[elements.count - 1].hasText = true }
      return write(.text, &out)
    }
    let isTag = !token.starts(with: "<!".utf8) && !token.starts(with: "<?".utf8)
    if let parent = elements.last {
      if !parent.hasText { breakLine(&out) }
      elements[elements.count - 1].hasElements = true
    } else {
      breakLine(&out)
    }
    write(isTag ? .name : .dimmed, &out)
    if isTag, token.suffix(2) != Array("/>".utf8)[...] { elements.append(Element()) }
  }

  private mutating func write(_ style: Palette.Style, _ out: inout [UInt8]) {
    hasOutput = true
    guard palette.isColored else { return out += token }
    out += palette.begin(style).utf8
    out += token
    out += palette.end.utf8
  }

  private func breakLine(_ out: inout [UInt8]) {
    guard isIndented, hasOutput else { return }
    out.append(10)
    out.append(contentsOf: repeatElement(32, count: 2 * min(elements.count, 40)))
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }
}
