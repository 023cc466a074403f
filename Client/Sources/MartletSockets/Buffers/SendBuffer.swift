/// Bytes that wait to be sent or encrypted. They are appended at the end and consumed from the front; the buffer reuses
/// its memory.
struct SendBuffer {
  private var bytes: [UInt8] = []
  /// How many bytes at the front were consumed.
  private var start = 0

  /// The number of bytes that wait.
  var count: Int { bytes.count - start }
  var isEmpty: Bool { start == bytes.count }

  /// Appends a copy of the bytes.
  mutating func append(_ more: UnsafeRawBufferPointer) { bytes.append(contentsOf: more) }

  /// Appends a copy of the bytes.
  mutating func append(_ more: some Collection<UInt8>) { bytes.append(contentsOf: more) }

  /// Calls the closure with the waiting bytes, which are valid only during the call.
  func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[start...])) }
  }

  /// Removes bytes at the front.
  ///
  /// - Parameter count: how many; no more than ``count``.
  mutating func consume(_ count: Int) {
    start += count
    if start == bytes.count {
      // An idle connection does not keep the memory that a large body needed.
      bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptCapacity)
      start = 0
    } else if start > Self.keptCapacity, start > bytes.count / 2 {
      bytes.removeFirst(start)
      start = 0
    }
  }

  private static let keptCapacity = 64 << 10
}
