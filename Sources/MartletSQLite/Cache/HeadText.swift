import MartletSemantics

/// A response's head as it lies in the file: version and status in a line, and a line for each field.
///
/// No name and no value holds a line feed, so nothing has to be escaped.
enum HeadText {
  static func write(_ head: ResponseHead) -> String {
    var text = (head.version?.rawValue ?? "-") + " " + String(head.status.code)
    for (name, value) in head.fields { text += "\n" + name.rawName + ":" + value }
    return text
  }

  /// - Returns: nil for what was not written here.
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
