import MartletEngine
import MartletSemantics
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct MemoryCacheStoreTests {
  private static func entry(_ path: String, variant: String = "", length: Int64? = nil) -> CacheEntry {
    let time = Date(timeIntervalSince1970: 0)
    return CacheEntry(
      key: CacheKey(url("http://a.example/\(path)")),
      response: StoredResponse(
        head: ResponseHead(status: .ok), variant: variant, requestTime: time, responseTime: time), length: length)
  }

  @discardableResult
  private func put(
    _ path: String, _ body: String, variant: String = "", in store: MemoryCacheStore
  ) async throws -> CacheEntry {
    let entry = Self.entry(path, variant: variant, length: Int64(body.utf8.count))
    let writer = try #require(await store.begin(entry))
    try await writer.append(Data(body.utf8))
    try await writer.commit()
    return entry
  }

  private func read(_ entry: CacheEntry, _ range: Range<Int64>, in store: MemoryCacheStore) async throws -> String? {
    guard let source = await store.open(entry.id, range: range) else { return nil }
    return String(decoding: try await source.next() ?? Data(), as: UTF8.self)
  }

  @Test func anEntryIsFoundOnlyAfterItIsCommitted() async throws {
    let store = MemoryCacheStore()
    let entry = Self.entry("a")
    let writer = try #require(await store.begin(entry))
    try await writer.append(Data("abc".utf8))
    #expect(await store.entries(for: entry.key).isEmpty)

    try await writer.commit()

    #expect(await store.entries(for: entry.key).map(\.length) == [3])
    #expect(try await read(entry, 1..<3, in: store) == "bc")
  }

  @Test func anAbortedEntryIsNeverFound() async throws {
    let store = MemoryCacheStore()
    let entry = Self.entry("a")
    let writer = try #require(await store.begin(entry))
    try await writer.append(Data("abc".utf8))
    await writer.abort()

    await #expect(throws: CacheEntry.Refusal.self) { try await writer.commit() }
    #expect(await store.usage() == HTTPCache.Usage(entries: 0, bytes: 0))
  }

  @Test func committingReplacesTheEntryWithTheSameVariant() async throws {
    let store = MemoryCacheStore()
    try await put("a", "1", variant: "x", in: store)
    try await put("a", "2", variant: "y", in: store)

    let entry = try await put("a", "3", variant: "x", in: store)

    #expect(await store.entries(for: entry.key).map(\.response.variant).sorted() == ["x", "y"])
    #expect(try await read(entry, 0..<1, in: store) == "3")
  }

  @Test func theLeastRecentlyUsedEntriesAreRemovedFirst() async throws {
    let store = MemoryCacheStore(capacity: 6000, entryLimit: 2000)
    let body = String(repeating: "x", count: 1200)
    let entries = [
      try await put("a", body, in: store), try await put("b", body, in: store), try await put("c", body, in: store),
    ]
    _ = try await read(entries[0], 0..<1, in: store)

    try await put("d", body, in: store)

    #expect(await store.entries(for: entries[0].key).count == 1)
    #expect(await store.entries(for: entries[1].key).isEmpty)
    #expect(await store.usage().entries == 3)
    #expect(await store.usage().bytes <= 6000)
  }

  @Test func aBodyThatIsTooLargeIsNotStored() async throws {
    let store = MemoryCacheStore(capacity: 100, entryLimit: 10)
    #expect(await store.begin(Self.entry("a", length: 11)) == nil)

    let writer = try #require(await store.begin(Self.entry("a")))
    try await writer.append(Data("0123456789".utf8))

    await #expect(throws: CacheEntry.Refusal.self) { try await writer.append(Data("x".utf8)) }
    await #expect(throws: CacheEntry.Refusal.self) { try await writer.commit() }
  }

  @Test func anOpenBodyCanBeReadAfterItsEntryIsRemoved() async throws {
    let store = MemoryCacheStore()
    let entry = try await put("a", "abc", in: store)
    let source = try #require(await store.open(entry.id, range: 0..<3))

    await store.remove(.all)

    #expect(try await source.next() == Data("abc".utf8))
    #expect(await store.open(entry.id, range: 0..<3) == nil)
  }

  @Test func anUpdateChangesOnlyTheHead() async throws {
    let store = MemoryCacheStore()
    var entry = try await put("a", "abc", variant: "x", in: store)
    try await put("a", "def", variant: "y", in: store)
    entry.response.variant = "y"
    entry.response.head.fields["X-Test"] = "new"
    entry.length = nil

    await store.update(entry)
    await store.update(Self.entry("gone"))

    let found = await store.entries(for: entry.key)
    #expect(found.map(\.id) == [entry.id])
    #expect(found.first?.length == 3)
    #expect(found.first?.response.head.fields["X-Test"] == "new")
    #expect(await store.usage().entries == 1)
  }

  @Test func anEmptyStoreUsesNoBytes() async throws {
    let store = MemoryCacheStore()
    var entries: [CacheEntry] = []
    for index in 0..<20 { entries.append(try await put("\(index)", "x", in: store)) }

    for (index, entry) in entries.enumerated() {
      await store.remove(index.isMultiple(of: 2) ? .entry(entry.id) : .key(entry.key))
    }

    #expect(await store.usage() == HTTPCache.Usage(entries: 0, bytes: 0))
  }
}
