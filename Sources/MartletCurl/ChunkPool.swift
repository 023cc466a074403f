#if os(Linux)
import Glibc
import MartletSemantics
import Synchronization

/// Buffers for the chunks of bodies. A fresh large block costs a page fault for every 4 KiB; a returned one costs none.
final class ChunkPool: Sendable {
  static let chunkSize = 128 << 10
  private static let capacity = 16
  private let idle = Mutex<[UInt]>([])

  func take() -> UnsafeMutableRawPointer? {
    if let address = idle.withLock({ $0.popLast() }) { return UnsafeMutableRawPointer(bitPattern: address) }
    return malloc(Self.chunkSize)
  }

  func give(back buffer: UnsafeMutableRawPointer) {
    let address = UInt(bitPattern: buffer)
    let isKept = idle.withLock { idle in
      guard idle.count < Self.capacity else { return false }
      idle.append(address)
      return true
    }
    if !isKept { free(buffer) }
  }

  deinit {
    idle.withLock { idle in
      for address in idle { free(UnsafeMutableRawPointer(bitPattern: address)) }
    }
  }
}
#endif
