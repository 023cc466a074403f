#if os(Linux)
import Glibc
public import MartletSemantics
import Synchronization

/// Collects the bytes of a response's body until they are delivered.
///
/// Its memory has either the size of the whole body, or that of a chunk, and then comes from a pool. It belongs to one
/// thread.
@_spi(Transports) public struct BodyBuffer {
  private let pool: ChunkPool
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

  /// Whether the memory has the size of the whole body, and some of it is still missing.
  public var isIncompleteBody: Bool { isAllocated && count < capacity && capacity != ChunkPool.chunkSize }

  /// Allocates memory. Returns false if there is none.
  ///
  /// - Parameter bodySize: the size of a body that is to be delivered in one piece; nil for a chunk.
  public mutating func allocate(bodySize: Int?) -> Bool {
    capacity = bodySize ?? ChunkPool.chunkSize
    memory = capacity == ChunkPool.chunkSize ? pool.take() : malloc(capacity)
    count = 0
    return memory != nil
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

  /// Removes the bytes; nil if there are none. Only few bytes are copied: otherwise the memory becomes that of the
  /// result.
  public mutating func take() -> Data? {
    guard let memory, count > 0 else { return nil }
    defer { forget() }
    if capacity != ChunkPool.chunkSize { return Data(bytesNoCopy: memory, count: count, deallocator: .free) }
    guard count > ChunkPool.chunkSize / 8 else {
      defer { pool.give(back: memory) }
      return Data(bytes: memory, count: count)
    }
    return Data(
      bytesNoCopy: memory, count: count, deallocator: .custom { [pool] memory, _ in pool.give(back: memory) })
  }

  /// Frees the memory.
  public mutating func release() {
    guard let memory else { return }
    if capacity == ChunkPool.chunkSize { pool.give(back: memory) } else { free(memory) }
    forget()
  }

  private mutating func forget() {
    memory = nil
    count = 0
    capacity = 0
  }
}

/// Memory for the chunks of bodies. A new large block costs a page fault for every 4 KiB, a reused one costs none.
@_spi(Transports) public final class ChunkPool: Sendable {
  fileprivate static let chunkSize = 128 << 10
  private static let capacity = 16
  private let idle = Mutex<[UInt]>([])

  /// Makes an empty pool.
  public init() {}

  fileprivate func take() -> UnsafeMutableRawPointer? {
    if let address = idle.withLock({ $0.popLast() }) { return UnsafeMutableRawPointer(bitPattern: address) }
    return malloc(Self.chunkSize)
  }

  fileprivate func give(back memory: UnsafeMutableRawPointer) {
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
