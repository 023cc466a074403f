@_spi(Stores) import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// The stored head of an entry: a checksum of the whole entry without its body, a space, and the text of the head. The
/// checksum is not a column, because new columns would be stored after the body.
enum CheckedHead {
  private static let digits = 16

  static func write(_ entry: CacheEntry, length: Int64) -> String {
    var text = HeadText.write(entry.response.head)
    return text.withUTF8 { sum(of: UnsafeRawBufferPointer($0), of: entry, length: length).text } + " " + text
  }

  /// Parses and verifies a stored head.
  ///
  /// - Parameters:
  ///   - text: the stored text. In the first version it has no checksum and begins with the version of HTTP.
  ///   - entry: the rest of the row.
  /// - Returns: nil if the row is damaged.
  static func read(_ text: UnsafeBufferPointer<UInt8>, of entry: CacheEntry) -> ResponseHead? {
    guard let length = entry.length, length >= 0, isDate(entry.response.requestTime),
      isDate(entry.response.responseTime)
    else { return nil }
    if text.first == UInt8(ascii: "H") || text.first == UInt8(ascii: "-") { return HeadText.read(text) }
    guard text.count > digits, text[digits] == 32 else { return nil }
    let head = UnsafeBufferPointer(rebasing: text[(digits + 1)...])
    let sum = sum(of: UnsafeRawBufferPointer(head), of: entry, length: length)
    guard self.sum(in: text) == sum.value else { return nil }
    return HeadText.readWritten(head)
  }

  /// Returns the checksum in a stored text; nil for text of the first version.
  static func sum(in text: UnsafeBufferPointer<UInt8>) -> Int64? { Checksum.value(ofText: text.prefix(digits)) }

  private static func sum(of head: UnsafeRawBufferPointer, of entry: CacheEntry, length: Int64) -> Checksum {
    let response = entry.response
    var sum = Checksum()
    sum.add(entry.id)
    sum.add(.text(entry.key.url))
    sum.add(.text(entry.key.partition))
    sum.add(.text(response.variant))
    sum.add(.date(response.requestTime))
    sum.add(.date(response.responseTime))
    sum.add(.integer(response.isDecoded ? 1 : 0))
    sum.add(.integer(length))
    sum.add(head)
    return sum
  }

  /// Whether a date is in the valid range.
  private static func isDate(_ date: Date) -> Bool { abs(date.timeIntervalSinceReferenceDate) < 1e12 }
}

/// The text of a response head: version, status and a reason phrase that is not the registered one in one line,
/// followed by a line for each field.
///
/// Phrases, names and values contain no line feeds, so nothing needs to be escaped.
enum HeadText {
  static func write(_ head: ResponseHead) -> String {
    var text = (head.version?.rawValue ?? "-") + " " + String(head.status.code)
    if head.reason != head.status.reasonPhrase {
      text += " " + String(head.reason.unicodeScalars.filter { $0 != "\n" })
    }
    for (name, value) in head.fields { text += "\n" + name.rawName + ":" + value }
    return text
  }

  /// Reads a text made by ``write(_:)``. Its names and values become strings on access.
  static func readWritten(_ text: UnsafeBufferPointer<UInt8>) -> ResponseHead? {
    let end = text.firstIndex(of: 10) ?? text.endIndex
    guard let fields = HTTPFields(plainLines: Array(text[min(end + 1, text.endIndex)...])[...]),
      var head = startLine(text[..<end])
    else { return read(text) }
    head.fields = fields
    return head
  }

  /// - Returns: nil if the text is invalid.
  static func read(_ text: UnsafeBufferPointer<UInt8>) -> ResponseHead? {
    var rest = text[...]
    guard var head = startLine(takeLine(&rest)) else { return nil }
    while !rest.isEmpty {
      let line = takeLine(&rest)
      guard let colon = line.firstIndex(of: 58), let name = try? FieldName(string(line[..<colon])) else { return nil }
      head.fields.appendReceived(name, string(line[(colon + 1)...]))
    }
    return head
  }

  /// Returns a head without fields; nil if the line is invalid.
  private static func startLine(_ line: Bytes) -> ResponseHead? {
    guard let space = line.firstIndex(of: 32) else { return nil }
    let rest = line[(space + 1)...]
    let end = rest.firstIndex(of: 32) ?? rest.endIndex
    guard let status = Int(string(rest[..<end])) else { return nil }
    var head = ResponseHead(status: HTTPStatus(status), version: HTTPVersion(rawValue: string(line[..<space])))
    if end < rest.endIndex { head.reason = string(rest[(end + 1)...]) }
    return head
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
