@_spi(Stores) import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// Requests that several processes need, but only one of which is sent.
@Suite(.timeLimit(.minutes(5)))
struct FleetStoreTests {
  private let fresh: HTTPFields = ["Cache-Control": "max-age=60"]

  @Test func theProcessWithTheLeaseSendsTheRequestAndEndsTheLeaseWhenTheResponseIsStored() async throws {
    let store = LeasingStore()
    let fixture = CacheFixture(store: store) { [fresh] _ in MockResponse(fields: fresh, content: Data("new".utf8)) }
    #expect(try await fixture.get().text == "new")
    #expect(store.asked == 1)
    #expect(store.outcomes == [.stored])
    #expect(try await fixture.get().text == "new")
    #expect(store.asked == 1, "a stored response needs no lease")
  }

  @Test func whatWasStoredBeforeTheLeaseIsUsed() async throws {
    let other = CacheFixture(MockResponse(fields: fresh, content: Data("other".utf8)))
    let store = LeasingStore()
    let fixture = CacheFixture(store: store) { _ in MockResponse(content: Data("own".utf8)) }
    store.whenAsked = { count in
      if count == 1 { try await other.store(in: store) }
      return .send
    }
    #expect(try await fixture.get().text == "other")
    #expect(fixture.sent.isEmpty)
    #expect(store.outcomes == [.failed], "nothing was sent, and the lease is free")
  }

  @Test func aRequestWaitsForThatOfAnotherProcess() async throws {
    let other = CacheFixture(MockResponse(fields: fresh, content: Data("other".utf8)))
    let store = LeasingStore()
    let fixture = CacheFixture(store: store) { _ in MockResponse(content: Data("own".utf8)) }
    let asked = AsyncStream<Void>.makeStream()
    store.whenAsked = { count in
      if count == 4 { try await other.store(in: store) }
      asked.continuation.yield()
      return .wait(.seconds(5))
    }
    let answer = Task { try await fixture.get() }
    var asks = asked.stream.makeAsyncIterator()
    for _ in 0..<4 {
      await asks.next()  // the sleep before it has ended then
      try await fixture.clock.sleepers(1)
      fixture.clock.advance(by: .milliseconds(50))
    }
    #expect(try await answer.value.text == "other")
    #expect(fixture.sent.isEmpty)
  }

  @Test func aRequestThatHasWaitedForLongEnoughIsSent() async throws {
    let store = LeasingStore()
    let fixture = CacheFixture(store: store) { _ in MockResponse(content: Data("own".utf8)) }
    let asked = AsyncStream<Void>.makeStream()
    store.whenAsked = { _ in
      asked.continuation.yield()
      return .wait(.milliseconds(5))
    }
    let answer = Task { try await fixture.get() }
    var asks = asked.stream.makeAsyncIterator()
    for milliseconds in [2, 3] {
      await asks.next()
      try await fixture.clock.sleepers(1)
      fixture.clock.advance(by: .milliseconds(milliseconds))
    }
    #expect(try await answer.value.text == "own")
    #expect(fixture.sent.count == 1)
  }

  @Test func aStoreThatFailsOrKnowsNothingHoldsNobodyUp() async throws {
    struct Gone: Error {}
    let store = LeasingStore()
    let fixture = CacheFixture(store: store) { _ in MockResponse(content: Data("own".utf8)) }
    store.whenAsked = { count in if count == 1 { throw Gone() } else { .nothing } }
    #expect(try await fixture.get("/1").text == "own")
    #expect(try await fixture.get("/2").text == "own")
    #expect(fixture.sent.count == 2)
    #expect(fixture.cache.statistics.storeFailures == 1)
  }

  @Test func othersLearnWhatBecameOfTheRequest() async throws {
    let store = LeasingStore()
    let fixture = CacheFixture(store: store) { request in
      guard request.url.path != "/fails" else { return .failure(HTTPError(.cannotConnect, "gone")) }
      return MockResponse(fields: ["Cache-Control": "no-store"], content: Data("own".utf8))
    }
    _ = try? await fixture.get("/fails")
    #expect(store.outcomes == [.failed], "another may have more luck")
    _ = try await fixture.get("/unstorable")
    #expect(store.outcomes == [.failed, .unshared])
  }

  @Test(arguments: [[:], ["Cache-Control": "max-age=60"]])
  func afterATemporaryErrorAnotherProcessSendsTheRequest(fields: HTTPFields) async throws {
    let store = LeasingStore()
    let fixture = CacheFixture(store: store) { _ in MockResponse(status: 503, fields: fields, content: Data("no".utf8))
    }
    #expect(try await fixture.get().text == "no")
    #expect(store.outcomes.first == .failed)
  }

  @Test func theLeaseOfAValidationInTheBackgroundEndsWhenTheResponseIsStored() async throws {
    let store = LeasingStore()
    let fixture = CacheFixture(store: store) { _ in
      MockResponse(
        fields: ["Cache-Control": "max-age=60, stale-while-revalidate=60"], content: Data("body".utf8))
    }
    _ = try await fixture.get()
    fixture.wall.advance(90)
    _ = try await fixture.get()
    await store.ended(2)
    #expect(store.outcomes == [.stored, .stored])
  }

  @Test func requestsThatAreNotSharedDoNotAsk() async throws {
    let store = LeasingStore()
    let fixture = CacheFixture(store: store) { _ in MockResponse(content: Data("own".utf8)) }
    _ = try await fixture.get(policy: .reloadIgnoringCacheData)
    _ = try await fixture.send(HTTPRequest(.post, url("http://a.example/")))
    #expect(store.asked == 0)
  }

  @Test func identicalRequestsHaveTheSameNameAndOthersAnother() async throws {
    let store = LeasingStore()
    let fixture = CacheFixture(store: store) { _ in
      MockResponse(fields: ["Cache-Control": "no-store"], content: Data("own".utf8))
    }
    _ = try await fixture.get("/a?secret=1")
    _ = try await fixture.get("/b")
    _ = try await fixture.get("/c", ["Authorization": "Basic x"])
    _ = try await fixture.get("/d", partition: "me")
    #expect(Set(store.names).count == 4)
    #expect(store.names.allSatisfy { $0.count == 64 && !$0.contains("secret") })
  }
}

/// A store in memory that simulates other processes as a test requires.
private final class LeasingStore: FleetStore {
  enum Answer: Sendable {
    case send
    case wait(Duration)
    case nothing
  }

  private struct State {
    var names: [String] = []
    var outcomes: [FleetOutcome] = []
    var whenAsked: @Sendable (_ count: Int) async throws -> Answer = { _ in .send }
  }

  let memory = MemoryCacheStore()
  private let ends = AsyncStream<Void>.makeStream()
  private let state = Mutex(State())

  var names: [String] { state.withLock { $0.names } }
  var asked: Int { names.count }
  var outcomes: [FleetOutcome] { state.withLock { $0.outcomes } }

  /// Suspends until this number of leases have ended.
  func ended(_ count: Int) async {
    guard outcomes.count < count else { return }
    for await _ in ends.stream where outcomes.count >= count { return }
  }

  var whenAsked: @Sendable (_ count: Int) async throws -> Answer {
    get { state.withLock { $0.whenAsked } }
    set { state.withLock { $0.whenAsked = newValue } }
  }

  func requestLease(for name: String) async throws -> FleetAnswer? {
    state.withLock { $0.names.append(name) }
    switch try await whenAsked(asked) {
    case .send:
      return .send(
        Lease { outcome in
          self.state.withLock { $0.outcomes.append(outcome) }
          self.ends.continuation.yield()
        })
    case .wait(let longest): return .wait(longest)
    case .nothing: return nil
    }
  }

  private final class Lease: FleetLease {
    let ended: @Sendable (FleetOutcome) -> Void

    init(ended: @escaping @Sendable (FleetOutcome) -> Void) { self.ended = ended }

    func end(_ outcome: FleetOutcome) { ended(outcome) }
  }

  func entries(for key: CacheKey) async -> [CacheEntry] { await memory.entries(for: key) }
  func open(_ id: CacheEntry.ID, range: Range<Int64>) async -> (any BodySource)? { await memory.open(id, range: range) }
  func begin(_ entry: CacheEntry) async -> (any CacheWriter)? { await memory.begin(entry) }
  func update(_ entry: CacheEntry) async { await memory.update(entry) }
  func remove(_ selection: CacheSelection) async { await memory.remove(selection) }
  func usage() async -> HTTPCache.Usage { await memory.usage() }
}

extension CacheFixture {
  /// Stores a response like another process, with this session's transport.
  fileprivate func store(in store: LeasingStore) async throws {
    let other = CacheFixture(store: store.memory, transport: transport)
    _ = try await other.get()
  }
}
