@_spi(Toolkit) import MartletSemantics

/// Indents a body that is valid JSON, and leaves any other as it is, so that its faults stay visible.
///
/// It holds each outermost object or array until that is complete, and then formats it, so that a stream of them is
/// shown as it arrives. After the first fault nothing is indented. Values of more than 16 MiB are not checked: they are
/// formatted as they arrive.
struct CheckedJSONFormatter: BodyFormatter {
  private enum State {
    case holding([UInt8])
    case decided(JSONFormatter)
  }

  private static let limit = 16 << 20

  private let unchanged: JSONFormatter
  private var indented: JSONFormatter
  private var state = State.holding([])
  private var tokenizer = JSONTokenizer()
  private var depth = 0
  /// Where a value in the held bytes ends that has not been formatted.
  private var ends: [Int] = []
  /// Whether the end of a value stands before the held bytes.
  private var hasFormatted = false

  init(palette: Palette, isForTerminal: Bool) {
    indented = JSONFormatter(.indented, palette: palette, isForTerminal: isForTerminal)
    unchanged = JSONFormatter(.unchanged, palette: palette, isForTerminal: isForTerminal)
  }

  mutating func format(_ chunk: Data) -> [UInt8] {
    switch state {
    case .decided(var formatter):
      defer { state = .decided(formatter) }
      return formatter.format(chunk)
    case .holding(var held):
      state = .holding([])  // so that the bytes are not copied
      for byte in chunk {
        let isFirst = tokenizer.begins(byte)
        tokenizer.read(byte)
        held.append(byte)
        guard isFirst else { continue }
        if tokenizer.kind == .opening { depth += 1 }
        if tokenizer.kind == .closing { depth -= 1 }
        if tokenizer.kind == .closing, depth <= 0 { ends.append(held.count) }
      }
      return release(held)
    }
  }

  mutating func finish() -> [UInt8] {
    switch state {
    case .decided(var formatter): return formatter.finish()
    case .holding(let held):
      if hasFormatted, held.allSatisfy(Self.isSpace) { return indented.finish() }
      let isWhole = !hasFormatted && Self.isValid(held[...])
      return decide(isWhole ? indented : unchanged, held) + finish()
    }
  }

  /// Formats the held values, if all of them are complete.
  private mutating func release(_ held: [UInt8]) -> [UInt8] {
    guard let last = ends.last, held[last...].allSatisfy(Self.isSpace) else {
      if held.count > Self.limit { return decide(indented, held) }
      state = .holding(held)
      return []
    }
    defer { ends = [] }
    var start = 0
    for end in ends {
      // Values in a row are lines, or no JSON.
      let isOnItsLine = (!hasFormatted && start == 0) || held[start...].prefix(while: Self.isSpace).contains(10)
      guard isOnItsLine, Self.isValid(held[start..<end]) else { return decide(unchanged, held) }
      start = end
    }
    hasFormatted = true
    state = .holding(Array(held[last...]))
    return indented.format(Data(held[..<last]))
  }

  private mutating func decide(_ formatter: JSONFormatter, _ held: [UInt8]) -> [UInt8] {
    var formatter = formatter
    let shown = formatter.format(Data(held))
    state = .decided(formatter)
    return shown
  }

  private static func isValid(_ bytes: ArraySlice<UInt8>) -> Bool {
    String(validating: bytes, as: UTF8.self) != nil && JSONSyntax.fault(in: bytes) == nil
  }

  private static func isSpace(_ byte: UInt8) -> Bool { [9, 10, 13, 32].contains(byte) }
}
