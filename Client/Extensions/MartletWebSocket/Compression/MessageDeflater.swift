import MartletSemantics

#if canImport(CZlib)
import CZlib
#else
import zlib
#endif

/// Compresses the messages of one direction (RFC 7692 §7.2.1). Later messages refer to earlier ones, unless the
/// agreement makes each message independent. One task uses it at a time.
final class MessageDeflater {
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  private let resets: Bool
  private var room = [UInt8](repeating: 0, count: 16 << 10)

  /// Makes a compressor; nil if there is no memory, or the window is 256 bytes, which zlib does not support. Messages
  /// are then sent uncompressed, which is always allowed (§6).
  init?(windowBits: Int, resets: Bool) {
    self.resets = resets
    stream.initialize(to: z_stream())
    guard windowBits > 8,
      deflateInit2_(
        stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -Int32(windowBits), 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
        Int32(MemoryLayout<z_stream>.size)) == Z_OK
    else { return nil }
  }

  /// Returns the next piece of a message, compressed. Everything in it can be decompressed at once.
  func compress(_ bytes: UnsafeRawBufferPointer, isLast: Bool) -> [UInt8] {
    var output: [UInt8] = []
    var rest = bytes
    repeat {
      let part = UnsafeRawBufferPointer(rebasing: rest.prefix(1 << 30))  // zlib counts in 32 bits
      rest = UnsafeRawBufferPointer(rebasing: rest[part.count...])
      run(part, flush: rest.isEmpty ? Z_SYNC_FLUSH : Z_NO_FLUSH, into: &output)
    } while !rest.isEmpty
    guard isLast else { return output }
    // `==` would choose the `suffix` of sequences, which walks the whole message.
    if output.suffix(4).elementsEqual([0, 0, 0xFF, 0xFF]) { output.removeLast(4) }
    if output.isEmpty { output = [0] }  // §7.2.3.6: an empty block
    if resets { deflateReset(stream) }
    return output
  }

  private func run(_ input: UnsafeRawBufferPointer, flush: Int32, into output: inout [UInt8]) {
    stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
    stream.pointee.avail_in = UInt32(input.count)
    room.withUnsafeMutableBufferPointer { room in
      repeat {
        stream.pointee.next_out = room.baseAddress
        stream.pointee.avail_out = UInt32(room.count)
        deflate(stream, flush)
        output.append(contentsOf: room.prefix(room.count - Int(stream.pointee.avail_out)))
      } while stream.pointee.avail_out == 0
    }
  }

  deinit {
    deflateEnd(stream)
    stream.deallocate()
  }
}
