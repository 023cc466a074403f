#if os(Linux)
@_spi(Transports) import MartletEngine

/// The memory that a loop's connections take turns to receive and decrypt into: one piece for each layer.
final class ReceiveMemory {
  private let chunks: ChunkPool
  /// The memory for reading sockets. It is a chunk: a body that fills much of it is delivered in it without a copy.
  private var chunk: UnsafeMutableRawPointer
  /// The end of the bytes received last.
  private var end: UnsafeMutableRawPointer?
  private let decrypted: [UnsafeMutableRawBufferPointer] = [16 << 10, 16 << 10].map {
    .allocate(byteCount: $0, alignment: 16)
  }

  /// - Throws: an error if there is no memory.
  init(_ chunks: ChunkPool) throws(HTTPError) {
    guard let chunk = chunks.take() else {
      throw HTTPError(.other, "the transport cannot be started: there is no memory", phase: .preparing)
    }
    self.chunks = chunks
    self.chunk = chunk
  }

  func room(ofLayer layer: Int) -> UnsafeMutableRawBufferPointer {
    layer == 0 ? UnsafeMutableRawBufferPointer(start: chunk, count: ChunkPool.Size.usual.count) : decrypted[layer - 1]
  }

  /// Notes that `count` bytes were received into the socket's room.
  func received(_ count: Int) { end = chunk + count }

  /// Whether a body that begins with these bytes would fit. They must be the last bytes that were received.
  func hasRoom(after bytes: UnsafeRawBufferPointer, for missing: Int) -> Bool {
    guard let end, let start = bytes.baseAddress, start + bytes.count == UnsafeRawPointer(end) else { return false }
    return missing <= ChunkPool.Size.usual.count - chunk.distance(to: end)
  }

  /// Gives away the chunk that was used last; nil if there is no memory for another.
  func giveAway() -> UnsafeMutableRawPointer? {
    guard let other = chunks.take() else { return nil }
    defer { (chunk, end) = (other, nil) }
    return chunk
  }

  deinit {
    chunks.give(back: chunk)
    for room in decrypted { room.deallocate() }
  }
}
#endif
