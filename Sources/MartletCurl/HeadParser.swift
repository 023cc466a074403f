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
    fields.reserveCapacity(16)
    var pending: (name: FieldName, value: String)?
    for line in lines.split(separator: 10) {
      if let first = line.first, ASCII.isWhitespace(first) {
        // obs-fold of RFC 9112 §5.2: the value goes on in the next line
        pending?.value += " " + text(trimmed(line))
        continue
      }
      if let pending { fields.appendReceived(pending.name, pending.value) }
      pending = nil
      guard let colon = line.firstIndex(of: 58) else { continue }
      let name = line[..<colon]
      guard !name.isEmpty, name.allSatisfy(Token.isTokenCharacter) else { continue }
      pending = (FieldName(unchecked: String(decoding: name, as: UTF8.self)), text(trimmed(line[(colon + 1)...])))
    }
    if let pending { fields.appendReceived(pending.name, pending.value) }
    return fields
  }

  /// Whether a field says that the body is coded, without reading the whole head.
  static func hasContentEncoding(_ block: [UInt8]) -> Bool {
    let name = Array("content-encoding:".utf8)
    return block.split(separator: 10).contains { line in
      line.count > name.count && zip(line, name).allSatisfy { ASCII.lowercased($0) == $1 }
    }
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

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var bytes = bytes
    while let first = bytes.first, first == 32 || first == 9 { bytes.removeFirst() }
    while let last = bytes.last, last == 32 || last == 9 || last == 13 { bytes.removeLast() }
    return bytes
  }

  /// UTF-8 where it is that, else Latin-1, which every byte is (RFC 9110 §5.5).
  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }
}
#endif
