import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// Writes a response's body to an output as it arrives: formatted, as text, or unchanged.
struct BodyPrinter {
  private let choice: OutputChoice
  private let output: any Output
  /// The maximum number of bytes of a body in a coding other than UTF-8 that is converted for a terminal, or sorted.
  private static let convertedLimit = 16 << 20

  init(_ choice: OutputChoice, to output: any Output) { (self.choice, self.output) = (choice, output) }

  /// Reads the body to its end, and writes it. Bytes that are not text are counted and not written to a terminal.
  func print(_ body: ResponseBody, type: MediaType?) async throws {
    var chunks = body.makeAsyncIterator()
    guard var first = try await chunks.next() else { return }
    let kind = BodyKind(type, beginning: first)
    if kind == .binary, choice.isForTerminal { return try await count(first, &chunks, type) }
    if kind == .json, choice.isSorted, try await sort(&first, &chunks) { return }
    if choice.isForTerminal, let coding = type?.charset.flatMap({ TextCoding(label: $0) }), coding != .utf8 {
      return try await convert(first, &chunks, coding, kind)
    }
    try await show(first, &chunks, formatter(for: kind))
  }

  /// Shows JSON with sorted members. Returns false if the body is too large: nothing is shown then, and what was read
  /// is the new first chunk.
  private func sort(_ first: inout Data, _ chunks: inout ResponseBody.Iterator) async throws -> Bool {
    while first.count <= Self.convertedLimit {
      guard let chunk = try await chunks.next() else {
        let text = SortedJSON.text(String(decoding: first, as: UTF8.self))
        var formatter = formatter(for: .json) ?? PlainTextFormatter(isForTerminal: choice.isForTerminal)
        try output.write(formatter.format(Data(text.utf8)) + formatter.finish())
        return true
      }
      first += chunk
    }
    return false
  }

  private func show(
    _ first: Data, _ chunks: inout ResponseBody.Iterator, _ formatter: (any BodyFormatter)?
  ) async throws {
    var formatter = formatter
    var last: UInt8?
    var chunk: Data? = first
    do {
      while let bytes = chunk {
        let shown = formatter?.format(bytes) ?? Array(bytes)
        try output.write(shown)
        last = shown.last ?? last
        chunk = try await chunks.next()
      }
    } catch {
      // The error begins on a new line too, and not in the colors of the body.
      try? end(formatter?.finish() ?? [], after: last)
      throw error
    }
    try end(formatter?.finish() ?? [], after: last)
  }

  /// Writes the rest. On a terminal the prompt begins on a new line.
  private func end(_ rest: [UInt8], after last: UInt8?) throws(OutputError) {
    let isOpen = choice.isForTerminal && (rest.last ?? last).map { $0 != 10 } ?? false
    try output.write(isOpen ? rest + [10] : rest)
  }

  private func formatter(for kind: BodyKind) -> (any BodyFormatter)? {
    let isForTerminal = choice.isForTerminal
    guard choice.isFormatted || choice.palette.isColored || isForTerminal, kind != .binary else { return nil }
    guard choice.isFormatted || choice.palette.isColored else {
      return PlainTextFormatter(isForTerminal: isForTerminal)
    }
    return switch kind {
    case .json where choice.isFormatted: CheckedJSONFormatter(palette: choice.palette, isForTerminal: isForTerminal)
    case .json: JSONFormatter(.unchanged, palette: choice.palette, isForTerminal: isForTerminal)
    case .jsonLines: LineFormatter.json(choice.palette, isForTerminal: isForTerminal)
    case .xml where choice.isFormatted: CheckedXMLFormatter(palette: choice.palette, isForTerminal: isForTerminal)
    case .xml: XMLFormatter(isIndented: false, palette: choice.palette, isForTerminal: isForTerminal)
    case .eventStream: LineFormatter.events(choice.palette, isForTerminal: isForTerminal)
    case .text, .binary: PlainTextFormatter(isForTerminal: isForTerminal)
    }
  }

  private func count(_ first: Data, _ chunks: inout ResponseBody.Iterator, _ type: MediaType?) async throws {
    var count = Int64(first.count)
    while let chunk = try await chunks.next() { count += Int64(chunk.count) }
    let what = type.map { " of \($0.essence)" } ?? ""
    let text = "(\(Quantity.text(count))\(what), not text: --output FILE writes it to a file)\n"
    try output.write(choice.palette.text(text, .dimmed))
  }

  private func convert(
    _ first: Data, _ chunks: inout ResponseBody.Iterator, _ coding: TextCoding, _ kind: BodyKind
  ) async throws {
    var data = first
    while data.count <= Self.convertedLimit, let chunk = try await chunks.next() { data += chunk }
    let text = (try? coding.decode(data, replacingInvalid: true)) ?? String(decoding: data, as: UTF8.self)
    var formatter = formatter(for: kind) ?? PlainTextFormatter(isForTerminal: true)
    try output.write(formatter.format(Data(text.utf8)) + formatter.finish())
    while let chunk = try await chunks.next() { try output.write(formatter.format(chunk)) }
    if !text.hasSuffix("\n") { try output.write("\n") }
  }
}
