@_spi(Toolkit) import MartletSemantics

/// Indents and colors JSON as it arrives.
///
/// It works on tokens and changes only the white space between them: the order of members, the digits of numbers and
/// the escapes of strings stay unchanged. Bytes that are not JSON are passed on, so that nothing of a damaged body is
/// missing. It keeps one bit of state for each open bracket.
struct JSONFormatter: BodyFormatter {
  /// How white space is treated.
  enum Layout: Sendable {
    /// Each member and element on a separate line.
    case indented
    /// Unchanged.
    case unchanged
  }

  private let layout: Layout
  private let palette: Palette
  private var visible: VisibleText?
  private var tokenizer = JSONTokenizer()
  /// The open brackets: whether each belongs to an object.
  private var open: [Bool] = []
  /// Whether the next string is the name of a member.
  private var expectsName = false
  /// Whether a bracket was opened, and nothing has followed yet.
  private var isAtOpening = false
  private var hasValue = false
  private var endsWithNewline = true

  init(_ layout: Layout, palette: Palette, isForTerminal: Bool) {
    self.layout = layout
    self.palette = palette
    visible = isForTerminal ? VisibleText() : nil
  }

  mutating func format(_ chunk: Data) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(chunk.count + chunk.count / 2)
    if let filtered = visible?.filter(chunk) {
      for byte in filtered { add(byte, to: &out) }
    } else {
      for byte in chunk { add(byte, to: &out) }
    }
    if let last = out.last { endsWithNewline = last == 10 }
    return out
  }

  mutating func finish() -> [UInt8] {
    var out: [UInt8] = []
    for byte in visible?.finish() ?? [] { add(byte, to: &out) }
    if tokenizer.isOpen { out += palette.end.utf8 }
    tokenizer = JSONTokenizer()
    if layout == .indented, !(out.last.map { $0 == 10 } ?? endsWithNewline) { out.append(10) }
    return out
  }

  private mutating func add(_ byte: UInt8, to out: inout [UInt8]) {
    let isFirst = tokenizer.begins(byte)
    if isFirst, tokenizer.isOpen { out += palette.end.utf8 }
    tokenizer.read(byte)
    if isFirst { return begin(tokenizer.kind, byte, &out) }
    out.append(byte)
    if !tokenizer.isOpen { out += palette.end.utf8 }
  }

  /// Begins a token with its first byte.
  private mutating func begin(_ kind: JSONTokenizer.Kind, _ byte: UInt8, _ out: inout [UInt8]) {
    switch kind {
    case .whiteSpace: if layout == .unchanged { out.append(byte) }
    case .opening:
      beginValue(&out)
      out.append(byte)
      open.append(byte == UInt8(ascii: "{"))
      (expectsName, isAtOpening) = (byte == UInt8(ascii: "{"), true)
    case .closing:
      let isOutermost = open.count == 1
      _ = open.popLast()
      if !isAtOpening { breakLine(&out) }
      out.append(byte)
      (isAtOpening, expectsName, hasValue) = (false, false, !isOutermost)
      // At once, so that messages on standard error at the body's end begin on a new line.
      if isOutermost { breakLine(&out) }
    case .comma:
      out.append(byte)
      (isAtOpening, expectsName, hasValue) = (false, open.last ?? false, false)
      breakLine(&out)
    case .colon:
      out.append(byte)
      if layout == .indented { out.append(32) }
      (isAtOpening, expectsName, hasValue) = (false, false, false)
    case .string:
      beginValue(&out)
      out += palette.begin(expectsName ? .name : .text).utf8
      out.append(byte)
      hasValue = true
    case .word:
      beginValue(&out)
      let isNumber = ASCII.isDigit(byte) || byte == UInt8(ascii: "-")
      out += palette.begin(isNumber ? .number : .literal).utf8
      out.append(byte)
      hasValue = true
    }
  }

  /// Begins a value: on a new line after an opening bracket, and after a value without a following comma.
  private mutating func beginValue(_ out: inout [UInt8]) {
    if isAtOpening {
      breakLine(&out)
      isAtOpening = false
    } else if hasValue {
      breakLine(&out)
    }
    hasValue = false
  }

  private func breakLine(_ out: inout [UInt8]) {
    guard layout == .indented else { return }
    out.append(10)
    out.append(contentsOf: repeatElement(32, count: 2 * min(open.count, 40)))
  }
}
