#if os(Linux)
import MartletSemantics

/// A chunk that is being sent: of a request's body, or of the output of an upgraded connection.
struct UploadChunk {
  private(set) var bytes = Data()
  private var offset = 0

  init() {}

  init(_ bytes: Data) { self.bytes = bytes }

  var isSent: Bool { offset == bytes.count }

  /// Copies unsent bytes, which then count as sent. Returns how many.
  mutating func copy(into room: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(room.count, bytes.count - offset)
    guard count > 0 else { return 0 }
    let start = bytes.startIndex + offset
    bytes.copyBytes(to: room, from: start..<(start + count))
    offset += count
    return count
  }

  /// Passes the unsent bytes to the closure.
  func withUnsentBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[offset...])) }
  }

  mutating func markSent(_ count: Int) { offset += count }
}
#endif
