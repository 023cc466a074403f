import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Joins the chunks of a body with one copy of each, or without a copy if there is only one.
///
/// A body of known length gets its memory at once: addresses, since the system adds a page when it is written. If the
/// length is unknown, the chunks are kept until the body ends or becomes large: memory that grows in steps would be
/// copied at each step. The memory of a large body grows by `realloc`, which moves large blocks by remapping their
/// pages. From 4 MiB on, huge pages save most of the page faults, which take longer than the bytes.
struct CollectBuffer: ~Copyable {
  private let announced: Int?
  /// The first chunks, until they are copied.
  private var chunks: [Data] = []
  private var start: UnsafeMutableRawPointer?
  private var capacity = 0
  private(set) var count = 0

  /// Up to this size, and this many of them, the chunks of a body of unknown length are kept.
  private static let (keptLimit, chunkLimit) = (1 << 20, 32)
  /// At most this much is allocated before it is needed.
  private static let reservationLimit = 1 << 30

  /// - Parameter announced: the announced length; nil if it is not known.
  init(announced: Int?) { self.announced = announced }

  mutating func append(_ chunk: Data) throws(HTTPError) {
    guard !chunk.isEmpty else { return }
    let total = count + chunk.count
    guard start != nil || !isKept(chunk, total) else {
      chunks.append(chunk)
      count = total
      return
    }
    try reserve(total)
    moveChunks()
    copy(chunk, to: count)
    count = total
  }

  /// Whether a chunk is kept for now.
  private func isKept(_ chunk: Data, _ total: Int) -> Bool {
    if let announced { return count == 0 && total >= announced }
    return total <= Self.keptLimit && chunks.count < Self.chunkLimit
  }

  private mutating func moveChunks() {
    var position = 0
    for chunk in chunks {
      copy(chunk, to: position)
      position += chunk.count
    }
    chunks = []
  }

  private func copy(_ chunk: Data, to position: Int) {
    guard let start else { return }
    chunk.copyBytes(to: UnsafeMutableRawBufferPointer(start: start + position, count: chunk.count))
  }

  private mutating func reserve(_ needed: Int) throws(HTTPError) {
    guard needed > capacity else { return }
    let inAdvance = min(announced ?? 0, Self.reservationLimit)
    var target = max(needed, capacity * 2, inAdvance)
    if let announced, needed <= announced { target = min(target, announced) }
    // Smaller allocations may succeed where this one fails.
    do { try setCapacity(target) } catch { try setCapacity(needed) }
  }

  private mutating func setCapacity(_ target: Int) throws(HTTPError) {
    guard let grown = realloc(start, target) else {
      throw HTTPError(.other, "no memory for \(target) bytes of the response's body", phase: .receiving)
    }
    start = grown
    capacity = target
    if target >= HugePages.smallestBlock {
      HugePages.advise(UnsafeMutableRawBufferPointer(start: grown, count: target))
    }
  }

  /// Returns the bytes; the buffer is empty afterwards.
  mutating func take() throws(HTTPError) -> Data {
    guard chunks.count == 1 else { return try takeBlock() }
    defer { (chunks, count) = ([], 0) }
    return chunks[0]
  }

  /// Returns the bytes in a block of their own, which is as large as they are; the buffer is empty afterwards.
  mutating func takeBlock() throws(HTTPError) -> Data {
    guard count > 0 else { return Data() }
    if count != capacity { try setCapacity(count) }
    moveChunks()
    defer { (start, capacity, count) = (nil, 0, 0) }
    return start.map { Data(bytesNoCopy: $0, count: count, deallocator: .free) } ?? Data()
  }

  deinit { free(start) }
}

/// Huge pages of 2 MiB, for large blocks that are soon written from end to end.
private enum HugePages {
  /// A smaller block would contain hardly a whole huge page.
  static let smallestBlock = 4 << 20

  /// Asks the system to use huge pages for a block. It does nothing where the system has none, or its administrator
  /// does not allow them.
  #if os(Linux)
  static func advise(_ block: UnsafeMutableRawBufferPointer) {
    guard let start = block.baseAddress else { return }
    let page = sysconf(Int32(_SC_PAGESIZE))
    let address = start.alignedUp(toMultipleOf: page)
    madvise(address, block.count - (address - start), MADV_HUGEPAGE)
  }
  #else
  static func advise(_ block: UnsafeMutableRawBufferPointer) {}
  #endif
}
