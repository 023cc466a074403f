/// The names of most response fields, so that they are not made again for every response.
enum CommonNames {
  /// Returns the name for bytes that are a token.
  static func name(of bytes: UnsafeRawBufferPointer) -> FieldName {
    var slot = Self.slot(of: bytes)
    while let known = table[slot] {
      if isEqual(known.bytes, bytes) { return known.name }
      slot = (slot + 1) % size
    }
    return FieldName(unchecked: String(decoding: bytes.bindMemory(to: UInt8.self), as: UTF8.self))
  }

  private struct Known: Sendable {
    let bytes: [UInt8]
    let name: FieldName
  }

  /// A hash table with open addressing; less than half of it is filled.
  private static let table: [Known?] = {
    var table = [Known?](repeating: nil, count: size)
    for name in names {
      for spelling in [name, ASCII.lowercased(name)] {
        let bytes = Array(spelling.utf8)
        var slot = bytes.withUnsafeBytes { Self.slot(of: $0) }
        while table[slot] != nil { slot = (slot + 1) % size }
        table[slot] = Known(bytes: bytes, name: FieldName(unchecked: spelling))
      }
    }
    return table
  }()

  private static let size = 256

  private static func slot(of bytes: UnsafeRawBufferPointer) -> Int {
    guard let first = bytes.first, let last = bytes.last else { return 0 }
    return (bytes.count * 23 + Int(first) * 7 + Int(last) * 3 + Int(bytes[bytes.count / 2])) % size
  }

  private static func isEqual(_ known: [UInt8], _ bytes: UnsafeRawBufferPointer) -> Bool {
    guard known.count == bytes.count else { return false }
    for index in 0..<bytes.count where known[index] != bytes[index] { return false }
    return true
  }

  /// In the usual spelling over HTTP/1.1; over HTTP/2 they are in lower case.
  private static let names = [
    "Accept-Ranges", "Access-Control-Allow-Credentials", "Access-Control-Allow-Headers",
    "Access-Control-Allow-Methods", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Age", "Allow",
    "Alt-Svc", "Cache-Control", "Connection", "Content-Disposition", "Content-Encoding", "Content-Language",
    "Content-Length", "Content-Location", "Content-Range", "Content-Security-Policy", "Content-Type", "Date", "ETag",
    "Expires", "Keep-Alive", "Last-Modified", "Link", "Location", "OData-Version", "Pragma", "Referrer-Policy",
    "Retry-After", "Server", "Server-Timing", "Set-Cookie", "Strict-Transport-Security", "Transfer-Encoding", "Vary",
    "Via", "WWW-Authenticate", "X-CSRF-Token", "X-Content-Type-Options", "X-Frame-Options", "X-Powered-By",
    "X-Request-Id", "X-XSS-Protection",
  ]
}
