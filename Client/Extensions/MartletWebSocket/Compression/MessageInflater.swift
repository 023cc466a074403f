@_spi(Toolkit) @_spi(Transports) import MartletSemantics

#if canImport(CZlib)
import CZlib
#else
import zlib
#endif

/// Decompresses the messages of one direction (RFC 7692 §7.2.2) in bounded steps, so that a reader exceeds no limit by
/// more than one step. One task uses it at a time.
final class MessageInflater {
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  private let resets: Bool
  private var room = [UInt8](repeating: 0, count: stepLimit)
  /// What the sender has removed from the end of the message (§7.2.1), and how much of it was read.
  private static let tail: [UInt8] = [0, 0, 0xFF, 0xFF]
  private var tailCount = 0

  /// The maximum number of bytes that a step produces.
  static let stepLimit = 16 << 10

  init(windowBits: Int, resets: Bool) throws(WebSocketFault) {
    self.resets = resets
    stream.initialize(to: z_stream())
    // A window of 256 bytes is not promised by every version of zlib; a larger one reads all that a smaller one does.
    guard inflateInit2_(stream, -Int32(max(9, windowBits)), ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
    else { throw WebSocketFault(1011, "there is no memory to decompress what it sent") }
  }

  /// The result of a step.
  struct Step {
    /// The number of bytes of the input that were read.
    var consumed: Int
    /// The bytes that this step decompressed.
    var output: Data
    /// Whether the input holds no more output: otherwise another step is needed, even without input.
    var isDone: Bool
  }

  /// Decompresses bytes of a message until they are read or the step is full.
  func decompress(_ input: UnsafeRawBufferPointer) throws(WebSocketFault) -> Step {
    stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
    let count = min(input.count, 1 << 30)  // zlib counts in 32 bits
    stream.pointee.avail_in = UInt32(count)
    let (code, output) = room.withUnsafeMutableBufferPointer { room in
      stream.pointee.next_out = room.baseAddress
      stream.pointee.avail_out = UInt32(room.count)
      let code = inflate(stream, Z_SYNC_FLUSH)
      return (code, Data(room.prefix(room.count - Int(stream.pointee.avail_out))))
    }
    let consumed = count - Int(stream.pointee.avail_in)
    switch code {
    case Z_OK, Z_BUF_ERROR: break
    // §7.2.3.4: blocks may follow one with BFINAL. They begin at a byte boundary and may refer to the bytes before it.
    case Z_STREAM_END: inflateResetKeep(stream)
    default: throw .invalidData("it sent a compressed message that cannot be decompressed")
    }
    let isFull = stream.pointee.avail_out == 0
    return Step(consumed: consumed, output: output, isDone: !isFull && consumed == input.count)
  }

  /// Decompresses the end of a message, after all its bytes, like ``decompress(_:)``. Call it until it is done.
  func decompressEnd() throws(WebSocketFault) -> Step {
    let tail = Self.tail.dropFirst(tailCount)
    let step = try tail.withUnsafeBytes { bytes in
      Result { () throws(WebSocketFault) in try decompress(bytes) }
    }.get()
    tailCount = step.isDone ? 0 : tailCount + step.consumed
    if step.isDone, resets { inflateReset(stream) }
    return step
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }
}
