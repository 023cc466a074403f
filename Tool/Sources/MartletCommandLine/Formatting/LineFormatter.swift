import MartletSemantics

/// Shows each line when it is complete: JSON values on lines, and server-sent events.
struct LineFormatter: BodyFormatter {
  private let show: @Sendable (Data) -> [UInt8]
  private var line = Data()
  /// A line without an end is shown in pieces, so that it is not kept forever.
  private static let limit = 1 << 20

  private init(_ show: @escaping @Sendable (Data) -> [UInt8]) { self.show = show }

  /// Colors a JSON value on each line, and keeps its white space.
  static func json(_ palette: Palette, isForTerminal: Bool) -> LineFormatter {
    LineFormatter { colored($0, palette, isForTerminal) }
  }

  /// Colors the names of the fields of events, and data that is JSON.
  static func events(_ palette: Palette, isForTerminal: Bool) -> LineFormatter {
    LineFormatter { line in
      let line = line.last == 13 ? line.dropLast() : line
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return plain(line, isForTerminal) }
      let value = line[(colon + 1)...]
      let isJSON = value.first { $0 != 32 }.map { "{[\"".utf8.contains($0) } ?? false
      return Array(palette.begin(.name).utf8) + plain(line[..<colon], isForTerminal) + Array(palette.end.utf8)
        + [UInt8(ascii: ":")] + (isJSON ? colored(value, palette, isForTerminal) : plain(value, isForTerminal))
    }
  }

  private static func colored(_ line: Data, _ palette: Palette, _ isForTerminal: Bool) -> [UInt8] {
    var json = JSONFormatter(.unchanged, palette: palette, isForTerminal: isForTerminal)
    return json.format(line) + json.finish()
  }

  private static func plain(_ text: Data, _ isForTerminal: Bool) -> [UInt8] {
    var formatter = PlainTextFormatter(isForTerminal: isForTerminal)
    return formatter.format(text) + formatter.finish()
  }

  mutating func format(_ chunk: Data) -> [UInt8] {
    var out: [UInt8] = []
    var rest = chunk[...]
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
    return line.isEmpty ? [] : show(line) + [10]
  }
}
