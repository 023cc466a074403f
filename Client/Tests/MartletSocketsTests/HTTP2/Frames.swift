/// Writes HTTP/2 frames like a server (RFC 9113 §4.1, §6), valid or not. Fields are literals without indexing (RFC 7541
/// §6.2.2).
enum Frames {
  static let endStream: UInt8 = 1
  static let acknowledgement: UInt8 = 1
  static let endHeaders: UInt8 = 4
  static let padded: UInt8 = 8
  static let priority: UInt8 = 32

  static func frame(_ kind: UInt8, flags: UInt8 = 0, stream: Int, _ payload: [UInt8] = []) -> [UInt8] {
    number(payload.count, 3) + [kind, flags] + number(stream, 4) + payload
  }

  static func number(_ value: Int, _ count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
  }

  static func settings(_ values: [(Int, Int)] = []) -> [UInt8] {
    frame(4, stream: 0, values.flatMap { number($0.0, 2) + number($0.1, 4) })
  }

  static func data(_ text: String, stream: Int = 1, ends: Bool = false, padding: Int? = nil) -> [UInt8] {
    let flags = (ends ? endStream : 0) | (padding == nil ? 0 : padded)
    let payload = Array(text.utf8)
    guard let padding else { return frame(0, flags: flags, stream: stream, payload) }
    return frame(0, flags: flags, stream: stream, [UInt8(padding)] + payload + [UInt8](repeating: 0, count: padding))
  }

  /// HEADERS, and CONTINUATION frames if the block is to be split.
  static func headers(
    _ status: String? = "200", _ fields: [(String, String)] = [], stream: Int = 1, ends: Bool = false,
    pieces size: Int = 16_000
  ) -> [UInt8] {
    headers(
      block: (status.map { literal(":status", $0) } ?? []) + block(fields), stream: stream, ends: ends, pieces: size)
  }

  static func trailers(_ fields: [(String, String)], stream: Int = 1, ends: Bool = true) -> [UInt8] {
    headers(block: block(fields), stream: stream, ends: ends)
  }

  static func headers(block: [UInt8], stream: Int = 1, ends: Bool = false, pieces size: Int = 16_000) -> [UInt8] {
    var frames: [UInt8] = []
    var rest = block[...]
    repeat {
      let piece = rest.prefix(size)
      rest = rest.dropFirst(piece.count)
      let isFirst = frames.isEmpty
      let flags = (isFirst && ends ? endStream : 0) | (rest.isEmpty ? endHeaders : 0)
      frames += frame(isFirst ? 1 : 9, flags: flags, stream: stream, Array(piece))
    } while !rest.isEmpty
    return frames
  }

  static func reset(_ code: Int, stream: Int = 1) -> [UInt8] { frame(3, stream: stream, number(code, 4)) }

  static func goAway(_ last: Int, code: Int = 0, debug: String = "") -> [UInt8] {
    frame(7, stream: 0, number(last, 4) + number(code, 4) + Array(debug.utf8))
  }

  static func ping(_ value: Int = 0, flags: UInt8 = 0) -> [UInt8] {
    frame(6, flags: flags, stream: 0, number(value, 8))
  }

  static func windowUpdate(_ increment: Int, stream: Int = 0) -> [UInt8] {
    frame(8, stream: stream, number(increment, 4))
  }

  static func block(_ fields: [(String, String)]) -> [UInt8] { fields.flatMap { literal($0.0, $0.1) } }

  static func literal(_ name: String, _ value: String) -> [UInt8] { literal(Array(name.utf8), Array(value.utf8)) }

  static func literal(_ name: [UInt8], _ value: [UInt8]) -> [UInt8] { [0] + text(name) + text(value) }

  /// A string without Huffman coding (RFC 7541 §5.2).
  private static func text(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
    var length: [UInt8] = [127]
    var rest = bytes.count - 127
    while rest >= 128 {
      length.append(UInt8(rest & 127 | 128))
      rest >>= 7
    }
    return length + [UInt8(rest)] + bytes
  }
}
