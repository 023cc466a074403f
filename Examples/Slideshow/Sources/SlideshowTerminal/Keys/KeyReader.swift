package import SlideshowModel

/// Makes keys of the bytes that a terminal sends. What it does not know it passes over.
package struct KeyReader: Sendable {
  /// A character whose last bytes have not come yet.
  private var rest: [UInt8] = []

  package init() {}

  /// Takes what was read at once. An escape byte with nothing behind it is the escape key: terminals send the bytes of
  /// other keys together.
  package mutating func read(_ bytes: some Sequence<UInt8>) -> [Key] {
    var input = (rest + bytes)[...]
    rest = []
    var keys: [Key] = []
    while let first = input.first {
      switch first {
      case 0x1B: if let key = Self.escapeSequence(&input) { keys.append(key) }
      case 0x00..<0x20, 0x7F:
        input.removeFirst()
        if let key = Self.control(first) { keys.append(key) }
      default:
        let length = Self.length(first)
        guard input.count >= length else {
          rest = Array(input)
          return keys
        }
        let text = String(decoding: input.prefix(length), as: UTF8.self)
        input.removeFirst(length)
        if let character = text.first, character != "\u{FFFD}" { keys.append(.character(character)) }
      }
    }
    return keys
  }

  private static func control(_ byte: UInt8) -> Key? {
    switch byte {
    case 0x03: .interrupt
    case 0x09: .tab
    case 0x0A, 0x0D: .enter
    case 0x08, 0x7F: .backspace
    default: nil
    }
  }

  /// How many bytes a character of UTF-8 has, by its first.
  private static func length(_ byte: UInt8) -> Int {
    switch byte {
    case 0xC2...0xDF: 2
    case 0xE0...0xEF: 3
    case 0xF0...0xF4: 4
    default: 1
    }
  }

  private static func escapeSequence(_ input: inout ArraySlice<UInt8>) -> Key? {
    input.removeFirst()
    guard let kind = input.first, kind == UInt8(ascii: "[") || kind == UInt8(ascii: "O") else { return .escape }
    input.removeFirst()
    // Parameters come before the byte that names the key: ESC [ 1 ; 5 C.
    let parameters = input.prefix { (0x20...0x3F).contains($0) }
    input.removeFirst(parameters.count)
    guard let final = input.popFirst() else { return nil }
    switch final {
    case UInt8(ascii: "A"): return .up
    case UInt8(ascii: "B"): return .down
    case UInt8(ascii: "C"): return .right
    case UInt8(ascii: "D"): return .left
    case UInt8(ascii: "Z"): return .tab
    default: return nil
    }
  }
}
