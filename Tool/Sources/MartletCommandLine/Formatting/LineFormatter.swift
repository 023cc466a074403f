import MartletSemantics

/// Shows each line when it is complete: JSON values on lines, and server-sent events.
struct LineFormatter: BodyFormatter {
  private let show: @Sendable (Data) -> [UInt8]
  /// Filters the body before it is split into pieces, because a sequence that it replaces may be in two of them.
  private var visible: VisibleText?
  private var line = Data()
  /// A line without an end is shown in pieces, so that it is not kept forever.
  private static let limit = 1 << 20

  private init(isForTerminal: Bool, _ show: @escaping @Sendable (Data) -> [UInt8]) {
    self.show = show
    visible = isForTerminal ? VisibleText() : nil
  }

  /// Colors a JSON value on each line, and keeps its white space.
  static func json(_ palette: Palette, isForTerminal: Bool) -> LineFormatter {
    LineFormatter(isForTerminal: isForTerminal) { colored($0, palette) }
  }

  /// Colors the names of the fields of events, and data that is JSON.
  static func events(_ palette: Palette, isForTerminal: Bool) -> LineFormatter {
    LineFormatter(isForTerminal: isForTerminal) { line in
      let line = line.last == 13 ? line.dropLast() : line
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return Array(line) }
      let value = line[(colon + 1)...]
      let isJSON = value.first { $0 != 32 }.map { "{[\"".utf8.contains($0) } ?? false
      var shown = Array(palette.begin(.name).utf8)
      shown += line[..<colon]
      shown += palette.end.utf8
      shown.append(UInt8(ascii: ":"))
      return shown + (isJSON ? colored(value, palette) : Array(value))
    }
  }

  private static func colored(_ line: Data, _ palette: Palette) -> [UInt8] {
    var json = JSONFormatter(.unchanged, palette: palette, isForTerminal: false)
    return json.format(line) + json.finish()
  }

  mutating func format(_ chunk: Data) -> [UInt8] {
    var out: [UInt8] = []
    let filtered = visible?.filter(chunk)
    var rest = filtered.map { Data($0) } ?? chunk
    while let end = rest.firstIndex(of: 10) {
      line += rest[..<end]
      out += show(line) + [10]
      line = Data()
      rest = rest[(end + 1)...]
    }
    line += rest
    guard line.count > Self.limit else { return out }
    defer { line = Data() }
    return out + show(line)
  }

  mutating func finish() -> [UInt8] {
    defer { line = Data() }
    line += visible?.finish() ?? []
    return line.isEmpty ? [] : show(line) + [10]
  }
}
