#if os(Linux)
import MartletSemantics

/// Reads the raw lines of a head: forgiving, as RFC 9112 §2.2 asks of a recipient, because libcurl has framed them already.
enum HeadParser {
  static func parse(_ block: [UInt8]) -> ResponseHead {
    var head = ResponseHead(status: HTTPStatus(status(of: block)), version: version(of: block))
    let end = block.firstIndex(of: 10) ?? block.endIndex
    head.fields = fields(block[min(end + 1, block.endIndex)...])
    return head
  }

  /// The fields of lines without a status line: of trailers too. A line that is none is skipped.
  static func fields(_ lines: ArraySlice<UInt8>) -> HTTPFields {
    var fields = HTTPFields()
    guard !lines.isEmpty else { return fields }
    fields.reserveCapacity(16)
    var pending: (name: FieldName, value: String)?
    lines.withUnsafeBufferPointer { bytes in
      forEachLine(of: bytes[...]) { line in
        if let first = line.first, ASCII.isWhitespace(first) {
          // obs-fold of RFC 9112 §5.2: the value goes on in the next line
          pending?.value += " " + text(trimmed(line))
          return
        }
        if let pending { fields.appendReceived(pending.name, pending.value) }
        pending = field(line)
      }
    }
    if let pending { fields.appendReceived(pending.name, pending.value) }
    return fields
  }

  private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

  private static func forEachLine(of bytes: Bytes, _ body: (Bytes) -> Void) {
    var start = bytes.startIndex
    while start < bytes.endIndex {
      let end = bytes[start...].firstIndex(of: 10) ?? bytes.endIndex
      if end > start { body(bytes[start..<end]) }
      start = end + 1
    }
  }

  private static func field(_ line: Bytes) -> (name: FieldName, value: String)? {
    guard let colon = line.firstIndex(of: 58) else { return nil }
    let name = line[line.startIndex..<colon]
    guard !name.isEmpty, name.allSatisfy(Token.isTokenCharacter) else { return nil }
    let fieldName = FieldName(unchecked: String(decoding: name, as: UTF8.self))
    let value = trimmed(line[(colon + 1)...])
    return (fieldName, fieldName == .setCookie ? FieldOctets.text(value) : text(value))
  }

  static func status(of block: [UInt8]) -> Int {
    guard let space = block.firstIndex(of: 32) else { return 0 }
    return block[(space + 1)...].prefix(3).reduce(0) { code, byte in
      (48...57).contains(byte) ? code * 10 + Int(byte - 48) : code
    }
  }

  private static func version(of block: [UInt8]) -> HTTPVersion? {
    switch String(decoding: block.prefix { $0 != 32 }, as: UTF8.self) {
    case "HTTP/1.0": .http1_0
    case "HTTP/1.1": .http1_1
    case "HTTP/2", "HTTP/2.0": .http2
    case "HTTP/3", "HTTP/3.0": .http3
    default: nil
    }
  }

  private static func trimmed(_ bytes: Bytes) -> Bytes {
    var bytes = bytes
    while let first = bytes.first, first == 32 || first == 9 { bytes.removeFirst() }
    while let last = bytes.last, last == 32 || last == 9 || last == 13 { bytes.removeLast() }
    return bytes
  }

  /// UTF-8 where it is that, else Latin-1, which every byte is (RFC 9110 §5.5).
  private static func text(_ bytes: Bytes) -> String {
    String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }
}
#endif
