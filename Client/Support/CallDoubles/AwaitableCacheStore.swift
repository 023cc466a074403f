package import MartletEngine
package import MartletSemantics
@_spi(Toolkit) import MartletTesting

/// A cache store in memory whose commits a test can await, such as that of a validation in the background.
package struct AwaitableCacheStore: CacheStore {
  private let memory = MemoryCacheStore()
  private let count = Awaitable(0)

  package init() {}

  package var storesQueries: Bool { true }

  /// Suspends until `count` entries have been committed.
  package func commits(_ count: Int) async throws {
    _ = try await self.count.wait { $0 >= count ? true : nil }
  }

  package func entries(for key: CacheKey) async -> [CacheEntry] { await memory.entries(for: key) }

  package func open(_ id: CacheEntry.ID, range: Range<Int64>) async -> (any BodySource)? {
    await memory.open(id, range: range)
  }

  package func begin(_ entry: CacheEntry) async -> (any CacheWriter)? {
    await memory.begin(entry).map { Writer(base: $0, count: count) }
  }

  package func update(_ entry: CacheEntry) async { await memory.update(entry) }

  package func remove(_ selection: CacheSelection) async { await memory.remove(selection) }

  package func usage() async -> HTTPCache.Usage { await memory.usage() }

  private struct Writer: CacheWriter {
    let base: any CacheWriter
    let count: Awaitable<Int>

    func append(_ chunk: Data) async throws { try await base.append(chunk) }

    func commit() async throws {
      try await base.commit()
      count.update { $0 += 1 }
    }

    func abort() async { await base.abort() }
  }
}
