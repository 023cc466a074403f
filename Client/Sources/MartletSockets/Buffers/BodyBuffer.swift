#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Collects the bytes of a response's body until they are delivered.
///
/// Its memory either has room for the whole body or is a chunk. It belongs to one thread.
struct BodyBuffer {
  private let pool: ChunkPool
  /// The block to free; its first bytes may not belong to the body.
  private var block: UnsafeMutableRawPointer?
  /// The pool size of the block if it is a chunk; nil otherwise.
  private var chunk: ChunkPool.Size?
  /// The size of the body that is delivered in one piece; nil for a chunk.
  private var bodySize: Int?
  /// The position of the body's bytes.
  private var memory: UnsafeMutableRawPointer?
  private var capacity = 0
  /// The number of bytes in the buffer.
  private(set) var count = 0

  /// Makes a buffer without memory.
  init(_ pool: ChunkPool) { self.pool = pool }

  /// Whether it has memory.
  var isAllocated: Bool { memory != nil }

  /// Whether there is no room for another byte.
  var isFull: Bool { count == capacity }

  /// Whether the memory is for a whole body, and some of it is still missing.
  var isIncompleteBody: Bool { bodySize.map { count < $0 } ?? false }

  /// Whether a body of this size is delivered in a chunk: if it fills at least half of the chunk.
  static func usesChunk(bodySize: Int) -> Bool {
    bodySize <= ChunkPool.Size.usual.count && bodySize >= ChunkPool.Size.usual.count / 2
  }

  /// Allocates memory. Returns false if there is none.
  ///
  /// - Parameters:
  ///   - bodySize: the size of a body that is delivered in one piece; nil for a chunk.
  ///   - size: the size of a chunk.
  mutating func allocate(bodySize: Int?, chunk size: ChunkPool.Size = .usual) -> Bool {
    if let bodySize, !Self.usesChunk(bodySize: bodySize) {
      // One byte more than the body: if a read does not fill the memory, the socket has no more bytes.
      (chunk, capacity) = (nil, bodySize + 1)
      block = malloc(capacity)
    } else {
      (chunk, capacity) = (size, size.count)
      block = pool.take(size)
    }
    memory = block
    self.bodySize = bodySize
    count = 0
    return memory != nil
  }

  /// Takes over a chunk of the usual size that already contains bytes of the body. The rest of the chunk is room for
  /// more.
  ///
  /// - Parameters:
  ///   - chunk: the memory of the chunk.
  ///   - bytes: the bytes of the body, within the chunk.
  ///   - bodySize: the size of a body that is delivered in one piece; nil for a chunk.
  mutating func adopt(_ chunk: UnsafeMutableRawPointer, with bytes: UnsafeRawBufferPointer, bodySize: Int?) {
    let offset = bytes.baseAddress.map { UnsafeRawPointer(chunk).distance(to: $0) } ?? 0
    (block, self.chunk, self.bodySize) = (chunk, .usual, bodySize)
    memory = chunk + offset
    capacity = ChunkPool.Size.usual.count - offset
    count = bytes.count
  }

  /// Copies as many bytes as fit. Returns the rest.
  mutating func append(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    guard let memory else { return bytes }
    let size = min(bytes.count, capacity - count)
    UnsafeMutableRawBufferPointer(start: memory + count, count: size)
      .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<size]))
    count += size
    return UnsafeRawBufferPointer(rebasing: bytes[size...])
  }

  /// The memory after the bytes, to be filled in place; empty if there is none.
  var room: UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(start: memory.map { $0 + count }, count: capacity - count)
  }

  /// Adds bytes that were written into ``room``.
  mutating func addFilled(_ count: Int) { self.count += count }

  /// Removes and returns the bytes; nil if there are none. If a chunk contains only a few bytes, they are copied;
  /// otherwise the result takes over its memory.
  mutating func take() -> Data? {
    guard let memory, let block, count > 0 else { return nil }
    defer { forget() }
    guard let chunk else { return Data(bytesNoCopy: memory, count: count, deallocator: .free) }
    return pool.data(UnsafeRawBufferPointer(start: memory, count: count), in: block, chunk)
  }

  /// Frees the memory.
  mutating func release() {
    guard let block else { return }
    if let chunk { pool.give(back: block, chunk) } else { free(block) }
    forget()
  }

  private mutating func forget() {
    (block, chunk, bodySize) = (nil, nil, nil)
    memory = nil
    count = 0
    capacity = 0
  }
}
#endif
