#if os(Linux)
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The field section of a response that is being received, as lines of text. It reuses its memory. An array would check
/// several times for each field whether it is shared and whether it has room. It is a class, so that nghttp2's call for
/// each field does not check for simultaneous access.
final class HTTP2FieldBlock {
  private var memory: UnsafeMutablePointer<UInt8>?
  private var capacity = 0
  private var count = 0
  /// How many more bytes the response may have; nil if the fields are dropped.
  private var room: Int?
  /// The bytes of the fields that count toward the limit of the heads.
  private(set) var size = 0
  /// The value of `:status`; 0 if there is none.
  private(set) var status = 0
  /// The value of `Content-Length`; nil if there is none.
  private(set) var contentLength: Int64?

  deinit { free(memory) }

  /// Begins another section.
  ///
  /// - Parameter room: the maximum number of bytes that it may have; nil to drop the fields.
  func begin(room: Int?) {
    if capacity > Self.keptCapacity {
      free(memory)
      memory = nil
      capacity = 0
    }
    self.room = room
    count = 0
    size = 0
    status = 0
    contentLength = nil
  }

  private static let keptCapacity = 16 << 10

  /// Appends a valid field. The only pseudo-field of a response, `:status`, becomes the line `HTTP/2 200 `.
  ///
  /// - Returns: whether the field fitted.
  func append(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let room else { return true }
    size += name.count + value.count + 4
    guard size <= room, reserve(name.count + value.count + 8) else { return false }
    if name.first == UInt8(ascii: ":") {
      status = value.reduce(0) { $0 * 10 + Int($1 & 15) }
      write("HTTP/2 ")
      write(value)
      write(" \r\n")
    } else {
      if Self.isContentLength(name) { contentLength = Self.number(value) }
      write(name)
      write(": ")
      write(value)
      write("\r\n")
    }
    return true
  }

  private static func isContentLength(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
    let expected: StaticString = "content-length"
    guard name.count == expected.utf8CodeUnitCount, let start = name.baseAddress else { return false }
    return memcmp(start, expected.utf8Start, name.count) == 0
  }

  /// The number of a `Content-Length`, which nghttp2 has checked to be digits; nil if it is too large.
  private static func number(_ digits: UnsafeBufferPointer<UInt8>) -> Int64? {
    var number: Int64 = 0
    for digit in digits {
      let (tenfold, overflows) = number.multipliedReportingOverflow(by: 10)
      let (sum, exceeds) = tenfold.addingReportingOverflow(Int64(digit & 15))
      guard !overflows, !exceeds else { return nil }
      number = sum
    }
    return number
  }

  /// A copy of the lines, each with its line break.
  var lines: [UInt8] { Array(UnsafeBufferPointer(start: memory, count: count)) }

  /// Makes room for this many more bytes. Returns false if there is no memory.
  private func reserve(_ more: Int) -> Bool {
    guard capacity - count < more else { return true }
    let larger = max(1024, 2 * capacity, count + more)
    guard let moved = realloc(memory, larger) else { return false }
    memory = moved.assumingMemoryBound(to: UInt8.self)
    capacity = larger
    return true
  }

  /// Appends bytes for which there is room.
  private func write(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard let memory, let start = bytes.baseAddress, bytes.count <= capacity - count else { return }
    memcpy(memory + count, start, bytes.count)
    count += bytes.count
  }

  private func write(_ text: StaticString) {
    write(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }
}
#endif
