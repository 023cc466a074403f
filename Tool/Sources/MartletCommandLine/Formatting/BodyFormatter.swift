import MartletSemantics

/// Lays out a body as it arrives: the bytes of each chunk that can be shown already, then the rest.
protocol BodyFormatter: Sendable {
  /// Returns what can be shown after this chunk.
  mutating func format(_ chunk: Data) -> [UInt8]

  /// Returns what is left at the end.
  mutating func finish() -> [UInt8]
}

/// Text as it is. For a terminal, control characters become visible, so that a body cannot move the cursor, change the
/// title or answer in the user's name.
struct PlainTextFormatter: BodyFormatter {
  private var visible: VisibleText?

  init(isForTerminal: Bool) { visible = isForTerminal ? VisibleText() : nil }

  mutating func format(_ chunk: Data) -> [UInt8] { visible?.filter(chunk) ?? Array(chunk) }

  mutating func finish() -> [UInt8] { visible?.finish() ?? [] }
}

/// Replaces control characters, except tabs and the ends of lines, with pictures of them (U+2400 and following).
struct VisibleText: Sendable {
  private var held: UInt8?

  init() {}

  /// Returns the chunk without control characters. A carriage return before a line feed is left out.
  mutating func filter(_ chunk: some Sequence<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    for byte in chunk {
      if let first = held {
        held = nil
        if first == 13 {
          if byte != 10 { Self.append(picture: 13, to: &result) }
        } else if (0x80...0x9F).contains(byte) {  // a control character of ISO 6429, as UTF-8
          result += [0xEF, 0xBF, 0xBD]
          continue
        } else {
          result.append(first)
        }
      }
      switch byte {
      case 9, 10: result.append(byte)
      case 13, 0xC2: held = byte
      case 0..<32: Self.append(picture: byte, to: &result)
      case 127: result += [0xE2, 0x90, 0xA1]
      default: result.append(byte)
      }
    }
    return result
  }

  mutating func finish() -> [UInt8] {
    defer { held = nil }
    guard let held else { return [] }
    var result: [UInt8] = []
    if held == 13 { Self.append(picture: 13, to: &result) } else { result.append(held) }
    return result
  }

  private static func append(picture byte: UInt8, to result: inout [UInt8]) {
    result += [0xE2, 0x90, 0x80 + byte]
  }
}

/// What the bytes of a body are.
enum BodyKind: Sendable, Hashable {
  case json
  /// A JSON value on each line.
  case jsonLines
  case xml
  case eventStream
  case text
  case binary

  /// Returns the kind by the type, and by the first bytes if the type does not say it.
  init(_ type: MediaType?, beginning: Data) {
    guard let type else {
      self = Self.isText(beginning) ? .text : .binary
      return
    }
    switch type.essence {
    case _ where type.isJSON: self = .json
    case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines",
      "application/json-seq", "application/jsonlines":
      self = .jsonLines
    case "text/event-stream": self = .eventStream
    case "application/xml", "text/xml": self = .xml
    case _ where type.suffix == "xml": self = .xml
    default: self = Self.isText(beginning) ? .text : .binary
    }
    let isWide = type.charset.flatMap { TextCoding(label: $0) }.map { $0 != .utf8 } ?? false
    if self != .binary, !isWide, beginning.contains(0) { self = .binary }
  }

  /// Whether the bytes are text: none is NUL, and few are other control characters.
  private static func isText(_ bytes: Data) -> Bool {
    let beginning = bytes.prefix(4096)
    let controls = beginning.count { $0 < 32 && ![9, 10, 12, 13, 27].contains($0) }
    guard !beginning.contains(0), controls * 20 <= beginning.count else { return false }
    // the last character may be incomplete
    for cut in 0..<min(4, beginning.count + 1)
    where String(validating: beginning.dropLast(cut), as: UTF8.self) != nil { return true }
    return beginning.count { $0 >= 0x80 } * 10 <= beginning.count
  }
}
