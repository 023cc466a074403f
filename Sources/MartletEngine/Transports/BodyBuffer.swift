#if os(Linux)
import Glibc
public import MartletSemantics
import Synchronization

/// Collects the bytes of a response's body until they are delivered.
///
/// Its memory has either room for the whole body, or is a chunk. It belongs to one thread.
@_spi(Transports) public struct BodyBuffer {
  private let pool: ChunkPool
  /// What is freed in the end; the first bytes of a block may be no part of the body.
  private var block: UnsafeMutableRawPointer?
  /// Whether the block comes from the pool.
  private var isPooled = false
  /// The size of the body that is delivered in one piece; nil for a chunk.
  private var bodySize: Int?
  /// Where the body's bytes are.
  private var memory: UnsafeMutableRawPointer?
  private var capacity = 0
  /// The number of bytes in the buffer.
  public private(set) var count = 0

  /// Makes a buffer without memory.
  public init(_ pool: ChunkPool) { self.pool = pool }

  /// Whether it has memory.
  public var isAllocated: Bool { memory != nil }

  /// Whether there is no room for another byte.
  public var isFull: Bool { count == capacity }

  /// Whether the memory is for a whole body, and some of it is still missing.
  public var isIncompleteBody: Bool { bodySize.map { count < $0 } ?? false }

  /// Whether a body of this size is delivered in a chunk: it fills at least half of it.
  public static func usesChunk(bodySize: Int) -> Bool {
    bodySize <= ChunkPool.chunkSize && bodySize >= ChunkPool.chunkSize / 2
  }

  /// Allocates memory. Returns false if there is none.
  ///
  /// - Parameter bodySize: the size of a body that is to be delivered in one piece; nil for a chunk.
  public mutating func allocate(bodySize: Int?) -> Bool {
    isPooled = bodySize.map(Self.usesChunk) ?? true
    // one byte more than the body: a socket that does not fill it has no more bytes
    capacity = isPooled ? ChunkPool.chunkSize : (bodySize ?? 0) + 1
    block = isPooled ? pool.take() : malloc(capacity)
    memory = block
    self.bodySize = bodySize
    count = 0
    return memory != nil
  }

  /// Takes over a chunk of the pool in which bytes of the body are already. The rest of the chunk is room for more.
  ///
  /// - Parameters:
  ///   - chunk: the memory of the chunk.
  ///   - bytes: the bytes of the body, within the chunk.
  ///   - bodySize: the size of a body that is to be delivered in one piece; nil for a chunk.
  public mutating func adopt(_ chunk: UnsafeMutableRawPointer, with bytes: UnsafeRawBufferPointer, bodySize: Int?) {
    let offset = bytes.baseAddress.map { UnsafeRawPointer(chunk).distance(to: $0) } ?? 0
    (block, isPooled, self.bodySize) = (chunk, true, bodySize)
    memory = chunk + offset
    capacity = ChunkPool.chunkSize - offset
    count = bytes.count
  }

  /// Copies as many bytes as there is room for. Returns the others.
  public mutating func append(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    guard let memory else { return bytes }
    let size = min(bytes.count, capacity - count)
    UnsafeMutableRawBufferPointer(start: memory + count, count: size)
      .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<size]))
    count += size
    return UnsafeRawBufferPointer(rebasing: bytes[size...])
  }

  /// The memory after the bytes, to be filled in place; empty if there is none.
  public var room: UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(start: memory.map { $0 + count }, count: capacity - count)
  }

  /// Adds so many bytes that were written into ``room``.
  public mutating func addFilled(_ count: Int) { self.count += count }

  /// Removes the bytes; nil if there are none. Only few bytes of a chunk are copied: otherwise the memory becomes that of
  /// the result.
  public mutating func take() -> Data? {
    guard let memory, let block, count > 0 else { return nil }
    defer { forget() }
    if !isPooled { return Data(bytesNoCopy: memory, count: count, deallocator: .free) }
    guard count > ChunkPool.chunkSize / 8 else {
      defer { pool.give(back: block) }
      return Data(bytes: memory, count: count)
    }
    let offset = block.distance(to: memory)
    return Data(
      bytesNoCopy: memory, count: count,
      deallocator: .custom { [pool] memory, _ in pool.give(back: memory - offset) })
  }

  /// Frees the memory.
  public mutating func release() {
    guard let block else { return }
    if isPooled { pool.give(back: block) } else { free(block) }
    forget()
  }

  private mutating func forget() {
    (block, isPooled, bodySize) = (nil, false, nil)
    memory = nil
    count = 0
    capacity = 0
  }
}

/// Memory for the chunks of bodies. A new large block costs a page fault for every 4 KiB, a reused one costs none.
@_spi(Transports) public final class ChunkPool: Sendable {
  /// The size of a chunk.
  public static let chunkSize = 128 << 10
  private static let capacity = 16
  private let idle = Mutex<[UInt]>([])

  /// Makes an empty pool.
  public init() {}

  /// Returns the memory of a chunk; nil if there is none.
  public func take() -> UnsafeMutableRawPointer? {
    if let address = idle.withLock({ $0.popLast() }) { return UnsafeMutableRawPointer(bitPattern: address) }
    return malloc(Self.chunkSize)
  }

  /// Takes back the memory of a chunk.
  public func give(back memory: UnsafeMutableRawPointer) {
    let address = UInt(bitPattern: memory)
    let isKept = idle.withLock { idle in
      guard idle.count < Self.capacity else { return false }
      idle.append(address)
      return true
    }
    if !isKept { free(memory) }
  }

  deinit {
    idle.withLock { idle in
      for address in idle { free(UnsafeMutableRawPointer(bitPattern: address)) }
    }
  }
}
#endif
