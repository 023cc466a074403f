import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

/// A store that takes long delays no response by more than a second.
@Suite(.timeLimit(.minutes(5)))
struct SlowStoreTests {
  private let store = WaitingStore()

  private var fixture: CacheFixture { CacheFixture(store: store) { _ in .cacheable("one", "max-age=60") } }

  @Test func aResponseArrivesBeforeAStoreThatTakesLongHasIt() async throws {
    let fixture = fixture
    async let answer = fixture.get()
    try await fixture.clock.sleepers(1, within: .seconds(1))
    fixture.clock.advance(by: .seconds(1))

    #expect(try await answer.text == "one")
    #expect(fixture.cache.statistics.stored == 0)
    store.mayCommit.open()
    // It waits for the identical request, whose response is being stored.
    #expect(try await fixture.get().source == .cache)
    #expect(fixture.sent.count == 1 && fixture.cache.statistics.stored == 1)
  }

  @Test func aReaderThatGoesDoesNotEndTheStoringOfACompleteBody() async throws {
    let fixture = fixture
    do {
      let reader = Task {
        let (body, _) = try await fixture.session.bytes(for: HTTPRequest(.get, url("http://a.example/")))
        for try await _ in body {}
        body.cancel()
      }
      try await fixture.clock.sleepers(1, within: .seconds(1))
      reader.cancel()
      _ = await reader.result
    }

    store.mayCommit.open()

    try await until { fixture.cache.statistics.stored == 1 }
    #expect(try await fixture.get().source == .cache)
  }
}

/// A store in memory that completes entries when its gate is open.
private struct WaitingStore: CacheStore {
  let mayCommit = Gate()
  private let memory = MemoryCacheStore()

  func entries(for key: CacheKey) async throws -> [CacheEntry] { await memory.entries(for: key) }

  func open(_ id: CacheEntry.ID, range: Range<Int64>) async throws -> (any BodySource)? {
    await memory.open(id, range: range)
  }

  func begin(_ entry: CacheEntry) async throws -> (any CacheWriter)? {
    await memory.begin(entry).map { Writer(gate: mayCommit, base: $0) }
  }

  func update(_ entry: CacheEntry) async throws { await memory.update(entry) }

  func remove(_ selection: CacheSelection) async throws { await memory.remove(selection) }

  func usage() async throws -> HTTPCache.Usage { await memory.usage() }

  private struct Writer: CacheWriter {
    let gate: Gate
    let base: any CacheWriter

    func append(_ chunk: Data) async throws { try await base.append(chunk) }

    func commit() async throws {
      try await gate.wait()
      try await base.commit()
    }

    func abort() async { await base.abort() }
  }
}
