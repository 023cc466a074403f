package import SlideshowModel

/// An input event of a terminal.
package enum TerminalInput: Sendable, Hashable {
  case key(Key)
  case mouse(MouseReport)
}

/// Parses the bytes that a terminal sends into keys and reports of the mouse. Unknown sequences are skipped.
package struct InputReader: Sendable {
  /// A character or a sequence whose last bytes have not arrived yet.
  private var rest: [UInt8] = []

  package init() {}

  /// Takes the bytes of one read. An escape byte with nothing after it is the escape key: terminals send the bytes of
  /// other keys together.
  package mutating func read(_ bytes: some Sequence<UInt8>) -> [TerminalInput] {
    var input = (rest + bytes)[...]
    rest = []
    var inputs: [TerminalInput] = []
    while let first = input.first {
      let start = input
      switch first {
      case 0x1B:
        guard let found = Self.escapeSequence(&input) else {
          rest = Array(start)
          return inputs
        }
        inputs += found
      case 0x00..<0x20, 0x7F:
        input.removeFirst()
        if let key = Self.control(first) { inputs.append(.key(key)) }
      default:
        let length = Self.length(first)
        guard input.count >= length else {
          rest = Array(start)
          return inputs
        }
        let text = String(decoding: input.prefix(length), as: UTF8.self)
        input.removeFirst(length)
        if let character = text.first, character != "\u{FFFD}" { inputs.append(.key(.character(character))) }
      }
    }
    return inputs
  }

  private static func control(_ byte: UInt8) -> Key? {
    switch byte {
    case 0x01: .home
    case 0x03: .interrupt
    case 0x05: .end
    case 0x09: .tab
    case 0x0A, 0x0D: .enter
    case 0x08, 0x7F: .backspace
    case 0x15: .eraseLine
    case 0x1A: .suspend
    default: nil
    }
  }

  /// The number of bytes of a UTF-8 character, from its first byte.
  private static func length(_ byte: UInt8) -> Int {
    switch byte {
    case 0xC2...0xDF: 2
    case 0xE0...0xEF: 3
    case 0xF0...0xF4: 4
    default: 1
    }
  }

  /// The meaning of the sequence: nothing or one event; nil if its end has not arrived yet.
  private static func escapeSequence(_ input: inout ArraySlice<UInt8>) -> [TerminalInput]? {
    input.removeFirst()
    guard let kind = input.first, kind == UInt8(ascii: "[") || kind == UInt8(ascii: "O") else {
      return [.key(.escape)]
    }
    input.removeFirst()
    // Parameters come before the byte that names the key: ESC [ 1 ; 5 C.
    let parameters = input.prefix { (0x20...0x3F).contains($0) }
    input.removeFirst(parameters.count)
    guard let final = input.popFirst() else { return nil }
    let isReport = final == UInt8(ascii: "M") || final == UInt8(ascii: "m")
    if isReport, parameters.first == UInt8(ascii: "<") {
      let report = MouseReport(parameters: numbers(parameters.dropFirst()), isRelease: final == UInt8(ascii: "m"))
      return report.map { [.mouse($0)] } ?? []
    }
    if isReport, parameters.isEmpty, kind == UInt8(ascii: "[") {
      // The form of terminals that do not know the other one: three bytes follow.
      guard input.count >= 3 else { return nil }
      let numbers = input.prefix(3).map { Int($0) - 32 }
      input.removeFirst(3)
      let report = MouseReport(parameters: numbers, isRelease: numbers[0] & 0b100_0011 == 3)
      return report.map { [.mouse($0)] } ?? []
    }
    return key(final, numbers(parameters)).map { [.key($0)] } ?? []
  }

  private static func numbers(_ parameters: ArraySlice<UInt8>) -> [Int] {
    parameters.split(separator: UInt8(ascii: ";")).compactMap { Int(String(decoding: $0, as: UTF8.self)) }
  }

  private static func key(_ final: UInt8, _ numbers: [Int]) -> Key? {
    switch (final, numbers.first) {
    case (UInt8(ascii: "A"), _): .up
    case (UInt8(ascii: "B"), _): .down
    case (UInt8(ascii: "C"), _): .right
    case (UInt8(ascii: "D"), _): .left
    case (UInt8(ascii: "Z"), _): .tab
    // Terminals have three forms of Home and End.
    case (UInt8(ascii: "H"), _), (UInt8(ascii: "~"), 1), (UInt8(ascii: "~"), 7): .home
    case (UInt8(ascii: "F"), _), (UInt8(ascii: "~"), 4), (UInt8(ascii: "~"), 8): .end
    case (UInt8(ascii: "~"), 3): .delete
    case (UInt8(ascii: "~"), 5): .pageUp
    case (UInt8(ascii: "~"), 6): .pageDown
    case (UInt8(ascii: "~"), 15): .f5
    case (UInt8(ascii: "~"), 23): .f11
    default: nil
    }
  }
}
