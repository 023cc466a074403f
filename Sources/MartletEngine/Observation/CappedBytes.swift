import MartletSemantics

/// The beginning of a body, and how long it was in all.
struct CappedBytes: Sendable {
  private(set) var bytes = Data()
  private(set) var count: Int64 = 0
  private let limit: Int

  init(limit: Int) { self.limit = limit }

  mutating func append(_ chunk: Data) {
    count += Int64(chunk.count)
    bytes += chunk.prefix(max(0, limit - bytes.count))
  }

  var isCutOff: Bool { count > bytes.count }

  /// The bytes, for a reader who takes them for text: not cut within a character.
  var readable: Data {
    guard isCutOff else { return bytes }
    for excess in 0..<4 where String(validating: bytes.dropLast(excess), as: UTF8.self) != nil {
      return bytes.dropLast(excess)
    }
    return bytes
  }
}
