public import MartletSemantics
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Memory for the bytes of bodies, used again: fresh memory costs a page fault for every 4 KiB.
///
/// Receiving, decoding, compressing and reading files take chunks from ``shared``. A chunk becomes the memory of the
/// `Data` that is delivered, and returns to the pool when that is released.
///
/// The pool keeps at most 16 unused chunks of 128 KiB and 8 of 512 KiB: 6 MiB. It returns a chunk to the system when
/// there is no room for it, or when nothing has needed it for 5 to 10 seconds. A fast download with the default
/// ``ConnectionConfiguration/readAhead`` of 2 MiB has five to eight large chunks in use: with fewer, it would map and
/// unmap memory without end.
@_spi(Transports) public final class ChunkPool: Sendable {
  /// The size of a chunk.
  public enum Size: Sendable {
    /// 128 KiB.
    case usual
    /// 512 KiB, for a body that arrives fast: handing 128 KiB to their reader takes longer than receiving them.
    case large

    /// In bytes.
    public var count: Int {
      switch self {
      case .usual: 128 << 10
      case .large: 512 << 10
      }
    }

    /// How many unused chunks are kept.
    fileprivate var kept: Int {
      switch self {
      case .usual: 16
      case .large: 8
      }
    }
  }

  /// The pool of the process.
  public static let shared = ChunkPool()

  /// The unused chunks of one size.
  private struct Unused {
    /// Their addresses, the last used one last.
    var chunks: [UInt] = []
    /// The fewest since the last review: nothing has needed this many.
    var fewest = 0

    mutating func removeUnneeded() -> ArraySlice<UInt> {
      let unneeded = chunks.prefix(fewest)
      chunks.removeFirst(fewest)
      fewest = chunks.count
      return unneeded
    }
  }

  private struct State {
    var usual = Unused()
    var large = Unused()
    /// Whether there will be a review.
    var isWatched = false

    subscript(size: Size) -> Unused {
      _read { yield size == .usual ? usual : large }
      _modify { if size == .usual { yield &usual } else { yield &large } }
    }
  }

  private let state = Mutex(State())
  private let review = Mutex<Alarm?>(nil)
  private let clock: any Clock<Duration>
  private static let reviewInterval = Duration.seconds(5)

  /// Makes an empty pool.
  ///
  /// - Parameter clock: measures how long chunks are unused.
  public init(clock: any Clock<Duration> = ContinuousClock()) { self.clock = clock }

  deinit {
    for size in [Size.usual, .large] {
      for address in state.withLock({ $0[size].chunks }) { Self.free(address, size) }
    }
  }

  /// Returns the memory of a chunk, with any content; nil if there is none.
  public func take(_ size: Size = .usual) -> UnsafeMutableRawPointer? {
    let address = state.withLock { state -> UInt? in
      guard let last = state[size].chunks.popLast() else { return nil }
      state[size].fewest = min(state[size].fewest, state[size].chunks.count)
      return last
    }
    if let address { return UnsafeMutableRawPointer(bitPattern: address) }
    // Mapped, not allocated: an allocator may keep what it gets back.
    let memory = mmap(nil, size.count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
    return memory == MAP_FAILED ? nil : memory
  }

  /// Takes back the memory of a chunk.
  public func give(back memory: UnsafeMutableRawPointer, _ size: Size = .usual) {
    let address = UInt(bitPattern: memory)
    let (isKept, isFirst) = state.withLock { state in
      guard state[size].chunks.count < size.kept else { return (false, false) }
      state[size].chunks.append(address)
      defer { state.isWatched = true }
      return (true, !state.isWatched)
    }
    if !isKept { Self.free(address, size) }
    if isFirst { planReview() }
  }

  private static func free(_ address: UInt, _ size: Size) {
    if let memory = UnsafeMutableRawPointer(bitPattern: address) { munmap(memory, size.count) }
  }
}

// MARK: - Delivery

extension ChunkPool {
  /// Returns bytes of a chunk, which must have been taken from this pool.
  ///
  /// If they fill at least half of the chunk, they stay where they are, and the chunk comes back when the last copy of
  /// the result is released. Otherwise they are copied, and the chunk comes back at once. So a result takes at most
  /// twice the memory that its size suggests, however long it is kept.
  public func data(
    _ bytes: UnsafeRawBufferPointer, in chunk: UnsafeMutableRawPointer, _ size: Size = .usual
  ) -> Data {
    guard let start = bytes.baseAddress, bytes.count >= size.count / 2 else {
      defer { give(back: chunk, size) }
      return Data(bytes)
    }
    let offset = UnsafeRawPointer(chunk).distance(to: start)
    return Data(
      bytesNoCopy: chunk + offset, count: bytes.count,
      deallocator: .custom { [self] start, _ in give(back: start - offset, size) })
  }
}

/// A chunk while it is filled. It returns to its pool unless ``data(_:)`` makes use of it.
struct Chunk: ~Copyable {
  private let pool: ChunkPool
  private let size: ChunkPool.Size
  /// Its memory; nil when it was given away.
  private var memory: UnsafeMutableRawPointer?

  /// Takes a chunk from a pool; nil if there is no memory.
  init?(_ size: ChunkPool.Size = .usual, of pool: ChunkPool) {
    guard let memory = pool.take(size) else { return nil }
    (self.pool, self.size, self.memory) = (pool, size, memory)
  }

  /// The memory to fill.
  var room: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: memory, count: size.count) }

  /// Returns the first bytes of the chunk.
  consuming func data(_ count: Int) -> Data {
    guard let chunk = memory else { return Data() }
    memory = nil
    return pool.data(UnsafeRawBufferPointer(start: chunk, count: count), in: chunk, size)
  }

  deinit { if let memory { pool.give(back: memory, size) } }
}

// MARK: - Review

extension ChunkPool {
  private func planReview() {
    let alarm = Alarm(after: Self.reviewInterval, on: clock) { [weak self] in self?.returnUnneeded() }
    review.withLock { $0 = alarm }
  }

  /// Returns the chunks that nothing has needed since the last review to the system.
  private func returnUnneeded() {
    let (usual, large, isOver) = state.withLock { state in
      let unneeded = (state.usual.removeUnneeded(), state.large.removeUnneeded())
      state.isWatched = !state.usual.chunks.isEmpty || !state.large.chunks.isEmpty
      return (unneeded.0, unneeded.1, !state.isWatched)
    }
    for address in usual { Self.free(address, .usual) }
    for address in large { Self.free(address, .large) }
    if !isOver { planReview() }
  }
}
