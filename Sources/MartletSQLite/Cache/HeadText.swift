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
  static func read(_ text: String) -> ResponseHead? {
    var lines = text.utf8.split(separator: 10, omittingEmptySubsequences: false).makeIterator()
    guard let start = lines.next(), let space = start.firstIndex(of: 32) else { return nil }
    guard let status = Int(Substring(start[start.index(after: space)...])) else { return nil }
    var head = ResponseHead(
      status: HTTPStatus(status), version: HTTPVersion(rawValue: String(Substring(start[..<space]))))
    while let line = lines.next() {
      guard let colon = line.firstIndex(of: 58), let name = try? FieldName(String(Substring(line[..<colon]))) else {
        return nil
      }
      head.fields.appendReceived(name, String(Substring(line[line.index(after: colon)...])))
    }
    return head
  }
}
