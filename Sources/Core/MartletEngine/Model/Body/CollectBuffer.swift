import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A growing buffer that becomes a `Data` without a copy.
///
/// `Data.append` copies everything when it grows, which for a moment takes twice the memory; `realloc` moves large
/// blocks by remapping their pages.
struct CollectBuffer: ~Copyable {
  private var start: UnsafeMutableRawPointer?
  private var capacity: Int
  private(set) var count = 0

  /// - Parameter capacity: the announced length. At most 64 MiB are allocated for it in advance.
  init(capacity: Int) {
    self.capacity = max(0, min(capacity, 64 << 20))
    start = self.capacity > 0 ? malloc(self.capacity) : nil
    if start == nil { self.capacity = 0 }
    announced = capacity
  }

  private let announced: Int

  mutating func append(_ chunk: Data) throws(HTTPError) {
    guard !chunk.isEmpty else { return }
    try reserve(count + chunk.count)
    guard let start else { return }
    chunk.copyBytes(to: UnsafeMutableRawBufferPointer(start: start + count, count: chunk.count))
    count += chunk.count
  }

  private mutating func reserve(_ needed: Int) throws(HTTPError) {
    guard needed > capacity else { return }
    let doubled = max(needed, capacity * 2, 64 << 10)
    let target = needed <= announced ? min(doubled, announced) : doubled
    guard let grown = realloc(start, target) else {
      throw HTTPError(.other, "no memory for \(target) bytes of the response's body", phase: .receiving)
    }
    start = grown
    capacity = target
  }

  /// Returns the bytes; the buffer is empty afterwards.
  mutating func take() -> Data {
    guard let start, count > 0 else { return Data() }
    self.start = nil
    let fitted = count < capacity ? realloc(start, count) ?? start : start
    return Data(bytesNoCopy: fitted, count: count, deallocator: .free)
  }

  deinit { free(start) }
}
