public import MartletSemantics
import Synchronization

/// Keeps answers in memory, as long as the store lives.
///
/// A body is copied once, into one block of its size, when it is stored; reading it copies nothing.
public final class MemoryCacheStore: CacheStore {
  private let shelf: Mutex<MemoryShelf>

  /// Makes an empty store.
  ///
  /// - Parameters:
  ///   - capacity: the most bytes of bodies and heads, 32 MiB by default. What was used longest ago makes room.
  ///   - entryLimit: the most bytes of one body; a quarter of the capacity by default.
  public init(capacity: Int64 = 32 << 20, entryLimit: Int64? = nil) {
    shelf = Mutex(MemoryShelf(capacity: max(0, capacity), entryLimit: entryLimit ?? capacity / 4))
  }

  public func entries(for key: CacheKey) async -> [CacheEntry] { shelf.withLock { $0.entries(for: key) } }

  public func open(_ id: CacheEntry.ID, range: Range<Int64>) async -> (any BodySource)? {
    guard let body = shelf.withLock({ $0.use(id) }) else { return nil }
    let range = Range(uncheckedBounds: (Int(range.lowerBound), Int(range.upperBound))).clamped(to: 0..<body.count)
    return DataSource(range.count == body.count ? body : body.dropFirst(range.lowerBound).prefix(range.count))
  }

  public func begin(_ entry: CacheEntry) async -> (any CacheWriter)? {
    let limit = shelf.withLock { $0.entryLimit }
    return entry.length ?? 0 <= limit ? Writer(entry, limit: limit, store: self) : nil
  }

  public func update(_ entry: CacheEntry) async { shelf.withLock { $0.update(entry) } }

  public func remove(_ selection: CacheSelection) async { shelf.withLock { $0.remove(selection) } }

  public func usage() async -> CacheUsage { shelf.withLock { $0.usage } }

  /// Collects the bytes; the store sees nothing of them before they are whole.
  ///
  /// They are copied, because a chunk may be a small piece of a large buffer that its transport wants back.
  private final class Writer: CacheWriter {
    private let entry: CacheEntry
    private let limit: Int64
    private let store: MemoryCacheStore
    private let body: Mutex<Body>

    private struct Body: ~Copyable {
      var bytes: CollectBuffer
      var isOver = false
    }

    init(_ entry: CacheEntry, limit: Int64, store: MemoryCacheStore) {
      self.entry = entry
      self.limit = limit
      self.store = store
      body = Mutex(Body(bytes: CollectBuffer(capacity: Int(entry.length ?? 0))))
    }

    func append(_ chunk: Data) async throws {
      let isAccepted = try body.withLock { body throws(HTTPError) in
        guard !body.isOver, Int64(body.bytes.count + chunk.count) <= limit else {
          body.isOver = true
          _ = body.bytes.take()
          return false
        }
        try body.bytes.append(chunk)
        return true
      }
      guard isAccepted else { throw HTTPError.notStored(limit: limit) }
    }

    func commit() async throws {
      guard let bytes = take() else { throw HTTPError.notStored(limit: limit) }
      var entry = entry
      entry.length = Int64(bytes.count)
      store.shelf.withLock { [entry] in $0.insert(entry, body: bytes) }
    }

    func abort() async { _ = take() }

    private func take() -> Data? {
      body.withLock { body in
        guard !body.isOver else { return nil }
        body.isOver = true
        return body.bytes.take()
      }
    }
  }
}

extension HTTPError {
  fileprivate static func notStored(limit: Int64) -> HTTPError {
    HTTPError(.bodyTooLarge, "the body is larger than the \(limit) bytes that the store takes, or was given up")
  }
}
