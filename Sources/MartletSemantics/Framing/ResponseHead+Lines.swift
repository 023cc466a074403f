extension ResponseHead {
  /// Makes a head of its raw lines, which a ``ResponseHeadReader`` has accepted, without the empty one at the end.
  package init(lines: [UInt8]) {
    let end = lines.firstIndex(of: 10) ?? lines.endIndex
    let first = lines[..<end]
    let line = (try? StatusLine(first)) ?? (try? StatusLine(synthesised: first))
    self.init(
      status: HTTPStatus(line?.status ?? 0), fields: HTTPFields(lines: lines[min(end + 1, lines.endIndex)...]),
      version: line?.version)
  }
}

extension HTTPFields {
  /// Makes fields of their raw lines, which a ``ResponseHeadReader`` has accepted. A folded value becomes one line
  /// (RFC 9112 §5.2), white space around it is no part of it, and control characters in it become spaces (RFC 9110 §5.5).
  package init(lines: ArraySlice<UInt8>) {
    self.init()
    guard !lines.isEmpty else { return }
    reserveCapacity(16)
    var pending: (name: FieldName, value: String)?
    lines.withUnsafeBufferPointer { bytes in
      var start = bytes.startIndex
      while start < bytes.endIndex {
        let end = bytes[start...].firstIndex(of: 10) ?? bytes.endIndex
        let line = bytes[start..<end]
        start = end + 1
        guard let first = line.first else { continue }
        if ASCII.isWhitespace(first) {
          pending?.value += " " + Self.text(Self.trimmed(line))
          continue
        }
        if let pending { appendReceived(pending.name, pending.value) }
        pending = Self.field(line)
      }
    }
    if let pending { appendReceived(pending.name, pending.value) }
  }

  private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

  private static func field(_ line: Bytes) -> (name: FieldName, value: String)? {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let name = FieldName(unchecked: String(decoding: line[line.startIndex..<colon], as: UTF8.self))
    let value = trimmed(line[(colon + 1)...])
    return (name, name == .setCookie ? FieldOctets.text(value) : text(value))
  }

  private static func trimmed(_ bytes: Bytes) -> Bytes {
    var bytes = bytes
    while let first = bytes.first, ASCII.isWhitespace(first) { bytes.removeFirst() }
    while let last = bytes.last, ASCII.isWhitespace(last) || last == 13 { bytes.removeLast() }
    return bytes
  }

  /// UTF-8 where it is that, else Latin-1, which every byte is (RFC 9110 §5.5).
  private static func text(_ bytes: Bytes) -> String {
    String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }
}
