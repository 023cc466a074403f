@_spi(Toolkit) import MartletSemantics

/// Formats a body as it arrives: it returns the displayable bytes of each chunk, then the rest.
protocol BodyFormatter: Sendable {
  /// Returns the bytes that can be shown after this chunk.
  mutating func format(_ chunk: Data) -> [UInt8]

  /// Returns the rest at the end.
  mutating func finish() -> [UInt8]
}

/// Shows text unchanged. For a terminal, control characters become visible, so that a body cannot move the cursor,
/// change the title or answer in the user's name.
struct PlainTextFormatter: BodyFormatter {
  private var visible: VisibleText?

  init(isForTerminal: Bool) { visible = isForTerminal ? VisibleText() : nil }

  mutating func format(_ chunk: Data) -> [UInt8] { visible?.filter(chunk) ?? Array(chunk) }

  mutating func finish() -> [UInt8] { visible?.finish() ?? [] }
}

/// Replaces control characters, except tabs and line ends, with pictures of them (U+2400 and following). Control
/// characters from U+0080 on, and characters that change the direction of the text, become U+FFFD.
struct VisibleText: Sendable {
  /// The beginning of a sequence that may have to be replaced.
  private var held: [UInt8] = []

  init() {}

  /// Returns the chunk without control characters. A carriage return before a line feed is omitted.
  mutating func filter(_ chunk: some Sequence<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    for byte in chunk {
      if !held.isEmpty, completes(byte, &result) { continue }
      switch byte {
      case 9, 10: result.append(byte)
      case 13, 0xC2, 0xE2: held = [byte]
      case 0..<32: Self.append(picture: byte, to: &result)
      case 127: result += [0xE2, 0x90, 0xA1]
      default: result.append(byte)
      }
    }
    return result
  }

  /// Whether the byte belongs to the held sequence. If it does not, the sequence is passed on.
  private mutating func completes(_ byte: UInt8, _ result: inout [UInt8]) -> Bool {
    if held == [0xE2], byte == 0x80 || byte == 0x81 {
      held.append(byte)
      return true
    }
    let isReplaced: Bool
    switch (held, byte) {
    case ([0xC2], 0x80...0x9F): isReplaced = true  // a control character of ISO 6429
    case ([0xE2, 0x80], 0xAA...0xAE), ([0xE2, 0x81], 0xA6...0xA9): isReplaced = true  // a text direction
    default: isReplaced = false
    }
    if isReplaced {
      result += [0xEF, 0xBF, 0xBD]
    } else if held != [13] {
      result += held
    } else if byte != 10 {
      Self.append(picture: 13, to: &result)
    }
    held = []
    return isReplaced
  }

  mutating func finish() -> [UInt8] {
    defer { held = [] }
    guard held == [13] else { return held }
    var result: [UInt8] = []
    Self.append(picture: 13, to: &result)
    return result
  }

  private static func append(picture byte: UInt8, to result: inout [UInt8]) {
    result += [0xE2, 0x90, 0x80 + byte]
  }
}

/// The kind of a body's content.
enum BodyKind: Sendable, Hashable {
  case json
  /// A JSON value on each line.
  case jsonLines
  case xml
  case eventStream
  case text
  case binary

  /// Determines the kind from the type, or from the first bytes if the type does not tell.
  init(_ type: MediaType?, beginning: Data) {
    guard let type else {
      self = Self.isText(beginning) ? .text : .binary
      return
    }
    let coding = type.charset.flatMap { TextCoding(label: $0) }
    let isWide = coding == .utf16LittleEndian || coding == .utf16BigEndian
    switch type.essence {
    case _ where type.isJSON: self = .json
    case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines",
      "application/json-seq", "application/jsonlines":
      self = .jsonLines
    case "text/event-stream": self = .eventStream
    case "application/xml", "text/xml": self = .xml
    case _ where type.suffix == "xml": self = .xml
    default: self = Self.isText(isWide ? Self.inUTF8(beginning, coding) : beginning) ? .text : .binary
    }
    if self != .binary, !isWide, beginning.contains(0) { self = .binary }
  }

  /// Converts the first bytes of a body to UTF-8. Bytes that are not text in the coding stay unchanged.
  private static func inUTF8(_ bytes: Data, _ coding: TextCoding?) -> Data {
    let beginning = bytes.prefix(4096)
    // The last character may be incomplete.
    for cut in 0..<4 {
      if let text = coding?.text(beginning.dropLast(cut)) { return Data(text.utf8) }
    }
    return bytes
  }

  /// Whether the bytes are text: none is NUL, and few are other control characters.
  private static func isText(_ bytes: Data) -> Bool {
    let beginning = bytes.prefix(4096)
    let controls = beginning.count { $0 < 32 && ![9, 10, 12, 13, 27].contains($0) }
    guard !beginning.contains(0), controls * 20 <= beginning.count else { return false }
    // The last character may be incomplete.
    for cut in 0..<min(4, beginning.count + 1)
    where String(validating: beginning.dropLast(cut), as: UTF8.self) != nil { return true }
    return beginning.count { $0 >= 0x80 } * 10 <= beginning.count
  }
}
