@_spi(Toolkit) import MartletSemantics

/// Reads multipart bodies (RFC 2046 §5.1) and the HTTP messages in their parts, as batches have them.
enum MultipartReader {
  /// A part: its fields, and what follows the empty line after them.
  typealias Part = (fields: HTTPFields, content: ArraySlice<UInt8>)

  /// Splits a body at its delimiters. What stands before the first and after the closing one is ignored. Lines may also
  /// end without CR. Without a closing delimiter, the last part ends with the body.
  ///
  /// - Returns: nil if there is no delimiter.
  static func parts(of body: ArraySlice<UInt8>, boundary: String) -> [Part]? {
    let delimiter = Array("--\(boundary)".utf8)
    let closing = delimiter + Array("--".utf8)
    var parts: [Part] = []
    var start: Int?
    var index = body.startIndex
    while index < body.endIndex {
      let end = body[index...].firstIndex(of: 10).map { $0 + 1 } ?? body.endIndex
      if body[index..<end].starts(with: delimiter) {
        var line = body[index..<end]
        while let last = line.last, ASCII.isWhitespace(last) || last == 10 || last == 13 { line.removeLast() }
        let isEnd = line.elementsEqual(closing)
        if isEnd || line.elementsEqual(delimiter) {
          if let start { parts.append(fields(in: withoutLineBreak(body[start..<index]))) }
          if isEnd { return parts }
          start = end
        }
      }
      index = end
    }
    guard let start else { return nil }
    return parts + [fields(in: body[start...])]
  }

  /// The line break before a delimiter belongs to the delimiter.
  private static func withoutLineBreak(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    bytes.last == 10 ? bytes.dropLast(bytes.dropLast().last == 13 ? 2 : 1) : bytes
  }

  /// Reads a response (RFC 9112 §4): its head, and its body, which ends with the bytes. Its length only decides whether
  /// line breaks at the end belong to it: it may be wrong, as after a conversion of the text. Empty lines before the
  /// status line are ignored (§2.2).
  ///
  /// - Returns: nil if there is no status line.
  static func response(in bytes: ArraySlice<UInt8>) -> (head: ResponseHead, body: ArraySlice<UInt8>)? {
    let bytes = bytes.drop { $0 == 10 || $0 == 13 }
    let lineEnd = bytes.firstIndex(of: 10) ?? bytes.endIndex
    let words = String(decoding: bytes[..<lineEnd], as: UTF8.self).split(separator: " ", maxSplits: 2)
    guard words.count >= 2, words[0].hasPrefix("HTTP/"), let status = Int(words[1].prefix { !$0.isWhitespace }),
      (100...599).contains(status)
    else { return nil }
    let (fields, content) = fields(in: bytes[lineEnd...].dropFirst())
    let length = fields[.contentLength].flatMap { Int($0) } ?? 0
    var body = content
    while body.count > length, body.last == 10 || body.last == 13 { body.removeLast() }
    var head = ResponseHead(status: HTTPStatus(status), fields: fields)
    head.reason = words.count > 2 ? String(ASCII.trimmed(words[2].prefix { $0 != "\r" })) : ""
    return (head, body)
  }

  /// Reads field lines up to the empty line. Lines that are none are ignored.
  private static func fields(in bytes: ArraySlice<UInt8>) -> Part {
    var fields: HTTPFields = [:]
    var rest = bytes
    while !rest.isEmpty {
      let end = rest.firstIndex(of: 10) ?? rest.endIndex
      var line = rest[..<end]
      if line.last == 13 { line.removeLast() }
      rest = rest[end...].dropFirst()
      guard !line.isEmpty else { break }
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
        let name = try? FieldName(String(decoding: line[..<colon], as: UTF8.self))
      else { continue }
      fields.appendReceived(name, String(ASCII.trimmed(String(decoding: line[(colon + 1)...], as: UTF8.self))))
    }
    return (fields, rest)
  }
}
