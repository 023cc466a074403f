import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// Reads the lines before the chunks of a chunked body (RFC 9112 §7.1).
///
/// Decisions where the RFC leaves a choice:
/// - A line may end with LF alone, as in a head (§2.2).
/// - White space after the size is ignored: old servers pad the size with it, and no other reading is possible.
/// - A size has at most 16 digits, even if they are zeros.
/// - Extensions are ignored (§7.1.1), but they must begin with a semicolon and have no control characters. A line has
///   at most 4 KiB, and all lines together at most 16 KiB more than 16 bytes a chunk and two for each byte of data.
struct ChunkSizeReader: Sendable {
  /// The maximum number of bytes of a line, with its line break.
  static let lineLimit = 4 << 10
  private static let allowance: Int64 = 16 << 10
  /// By how many bytes the lines exceed their allowance for the data.
  private var excess: Int64 = 0

  /// Takes a line with its line break. Returns the size of the chunk; 0 for the last one.
  mutating func take(_ line: UnsafeRawBufferPointer) throws(MessageFault) -> Int64 {
    var digits: UInt64 = 0
    var index = 0
    while index < line.count, let digit = ASCII.hexadecimalValue(line[index]) {
      guard index < 16 else { throw .chunkSize }
      digits = digits << 4 | UInt64(digit)
      index += 1
    }
    guard index > 0, let size = Int64(exactly: digits) else { throw .chunkSize }
    try Self.checkRest(UnsafeRawBufferPointer(rebasing: line[index...]))
    excess = max(0, excess + Int64(line.count) - 16 - 2 * min(size, Self.allowance))
    guard excess <= Self.allowance else { throw .chunkExtension }
    return size
  }

  /// Checks the rest of the line after the digits: white space, extensions and the line break.
  private static func checkRest(_ rest: UnsafeRawBufferPointer) throws(MessageFault) {
    var index = 0
    while index < rest.count, ASCII.isWhitespace(rest[index]) { index += 1 }
    let hasExtension = index < rest.count && rest[index] == UInt8(ascii: ";")
    while index < rest.count, rest[index] == 9 || !ASCII.isControl(rest[index]) {
      guard hasExtension else { throw .chunkSize }
      index += 1
    }
    // Only the line break is left.
    switch rest.count - index {
    case 1 where rest[index] == 10: break
    case 2 where rest[index] == 13 && rest[index + 1] == 10: break
    default: throw hasExtension ? .chunkExtension : .chunkSize
    }
  }
}

/// Writes a body in the chunked transfer coding (RFC 9112 §7.1). Every piece is a separate chunk and can be sent at
/// once.
enum ChunkedWriter {
  /// The bytes after the data of a chunk.
  static let suffix: [UInt8] = [13, 10]
  /// Returns the bytes before the data of a chunk: its size in hexadecimal and a line break.
  ///
  /// - Parameter count: the number of bytes; not 0, which is the size of the last chunk.
  static func prefix(of count: Int) -> [UInt8] { Array(String(count, radix: 16).utf8) + suffix }

  /// Appends a chunk; nothing if there are no bytes, because an empty chunk would end the body.
  static func append(_ bytes: UnsafeRawBufferPointer, to buffer: inout SendBuffer) {
    guard !bytes.isEmpty else { return }
    buffer.append(prefix(of: bytes.count))
    buffer.append(bytes)
    buffer.append(suffix)
  }

  /// Returns the end of a body with trailers (RFC 9112 §7.1.2).
  static func end(trailers: HTTPFields) -> [UInt8] {
    var bytes: [UInt8] = Array("0\r\n".utf8)
    trailers.appendLines(to: &bytes)
    bytes.append(contentsOf: suffix)
    return bytes
  }
}
