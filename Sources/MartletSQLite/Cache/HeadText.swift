import MartletEngine
import MartletSemantics

/// The stored head of an entry: a checksum of the whole entry without its body, a space, and the text of the head. The
/// checksum is not a column, because new columns would be stored after the body.
enum CheckedHead {
  private static let digits = 16

  static func write(_ entry: CacheEntry, length: Int64) -> String {
    var text = HeadText.write(entry.response.head)
    return text.withUTF8 { sum(of: $0[...], of: entry, length: length) } + " " + text
  }

  /// Parses and verifies a stored head.
  ///
  /// - Parameters:
  ///   - text: The stored text. Text without a checksum, of the first version, begins with the version of HTTP.
  ///   - entry: The rest of the row.
  /// - Returns: nil if the row is damaged.
  static func read(_ text: UnsafeBufferPointer<UInt8>, of entry: CacheEntry) -> ResponseHead? {
    guard let length = entry.length, length >= 0, isDate(entry.response.requestTime),
      isDate(entry.response.responseTime)
    else { return nil }
    if text.starts(with: Array("HTTP/".utf8)) || text.first == UInt8(ascii: "-") { return HeadText.read(text) }
    guard text.count > digits, text[digits] == 32 else { return nil }
    let head = text[(digits + 1)...]
    guard text.prefix(digits).elementsEqual(sum(of: head, of: entry, length: length).utf8) else { return nil }
    return HeadText.read(UnsafeBufferPointer(rebasing: head))
  }

  private static func sum(of head: Slice<UnsafeBufferPointer<UInt8>>, of entry: CacheEntry, length: Int64) -> String {
    let response = entry.response
    var sum = Checksum()
    sum.add(
      .id(entry.id), .text(entry.key.url), .text(entry.key.partition), .text(response.variant),
      .date(response.requestTime), .date(response.responseTime), .integer(response.isUnpacked ? 1 : 0),
      .integer(length))
    sum.add(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: head)))
    return sum.text
  }

  /// Whether a date is in the valid range.
  private static func isDate(_ date: Date) -> Bool { abs(date.timeIntervalSinceReferenceDate) < 1e12 }
}

/// The text of a response head: version and status in one line, followed by a line for each field.
///
/// Names and values contain no line feeds, so nothing needs to be escaped.
enum HeadText {
  static func write(_ head: ResponseHead) -> String {
    var text = (head.version?.rawValue ?? "-") + " " + String(head.status.code)
    for (name, value) in head.fields { text += "\n" + name.rawName + ":" + value }
    return text
  }

  /// - Returns: nil if the text is invalid.
  static func read(_ text: UnsafeBufferPointer<UInt8>) -> ResponseHead? {
    var rest = text[...]
    let start = takeLine(&rest)
    guard let space = start.firstIndex(of: 32), let status = Int(string(start[(space + 1)...])) else { return nil }
    var fields = HTTPFields()
    fields.reserveCapacity(16)
    while !rest.isEmpty {
      let line = takeLine(&rest)
      guard let colon = line.firstIndex(of: 58), let name = try? FieldName(string(line[..<colon])) else { return nil }
      fields.appendReceived(name, string(line[(colon + 1)...]))
    }
    let version = HTTPVersion(rawValue: string(start[..<space]))
    return ResponseHead(status: HTTPStatus(status), fields: fields, version: version)
  }

  private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

  private static func takeLine(_ rest: inout Bytes) -> Bytes {
    let end = rest.firstIndex(of: 10) ?? rest.endIndex
    defer { rest = rest[min(end + 1, rest.endIndex)...] }
    return rest[..<end]
  }

  private static func string(_ bytes: Bytes) -> String {
    String(decoding: UnsafeBufferPointer(rebasing: bytes), as: UTF8.self)
  }
}
