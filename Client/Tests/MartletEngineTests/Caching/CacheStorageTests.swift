@_spi(Transports) import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CacheStorageTests {
  private static let fields: HTTPFields = [.cacheControl: "max-age=60"]

  /// A body that consists of these chunks, and then ends or fails.
  private final class Chunks: BodySource {
    private let chunks: Mutex<[String]>
    private let error: HTTPError?

    init(_ chunks: [String], then error: HTTPError? = nil) {
      self.chunks = Mutex(chunks)
      self.error = error
    }

    func next() async throws -> Data? {
      if let chunk = chunks.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return Data(chunk.utf8) }
      if let error { throw error }
      return nil
    }
  }

  private func response(_ chunks: [String], length: Int64? = nil, then error: HTTPError? = nil) -> MockResponse {
    MockResponse(fields: Self.fields) { ResponseBody(length: length, from: Chunks(chunks, then: error)) }
  }

  @Test func aBodyIsStoredWhileItIsRead() async throws {
    let fixture = CacheFixture(response(["ab", "cd", "ef"]))
    let (body, _) = try await fixture.session.bytes(for: HTTPRequest(.get, origin))
    var chunks: [String] = []

    for try await chunk in body {
      #expect(try await fixture.cache.usage().entries == 0)
      chunks.append(String(decoding: chunk, as: UTF8.self))
    }

    #expect(chunks == ["ab", "cd", "ef"])
    #expect(try await fixture.get().text == "abcdef")
    #expect(fixture.sent.count == 1)
  }

  @Test func aBodyThatIsNotReadCompletelyIsNotStored() async throws {
    let fixture = CacheFixture(response(["ab", "cd"]), .cacheable("whole", "max-age=60"))
    do {
      let (body, _) = try await fixture.session.bytes(for: HTTPRequest(.get, origin))
      for try await _ in body { break }
      body.cancel()
    }

    #expect(try await fixture.cache.usage().entries == 0)
    #expect(try await fixture.get().text == "whole")
  }

  /// Its end when it is cancelled cannot be told from that of a whole body.
  private struct UnendingBody: BodySource {
    private let chunks = AsyncStream.makeStream(of: Data.self)

    init() { chunks.continuation.yield(Data("beginning".utf8)) }

    func next() async throws -> Data? {
      for await chunk in chunks.stream { return chunk }
      return nil
    }

    func cancel() { chunks.continuation.finish() }
  }

  @Test func aBodyThatIsCancelledWhileItIsReadIsNotStored() async throws {
    let unending = MockResponse(fields: Self.fields) { ResponseBody(length: nil, from: UnendingBody()) }
    let fixture = CacheFixture(unending, .cacheable("whole", "max-age=60"))
    let (body, _) = try await fixture.session.bytes(for: HTTPRequest(.get, origin))
    let (received, first) = AsyncStream.makeStream(of: Void.self)
    let reader = Task { for try await _ in body { first.yield() } }
    for await _ in received { break }
    for _ in 0..<100 { await Task.yield() }  // the reader waits for more

    body.cancel()
    _ = await reader.result

    #expect(try await fixture.cache.usage().entries == 0)
    #expect(try await fixture.get().text == "whole")
  }

  /// The length is not announced, so the store begins to write it. Its limit is a quarter of 32 MiB.
  @Test func aBodyThatTurnsOutTooLargeIsNoFailureOfTheStore() async throws {
    let size = (8 << 20) + 1
    let fixture = CacheFixture { _ in
      MockResponse(fields: Self.fields) { ResponseBody(length: nil, from: ResponseBody(Data(count: size)).source) }
    }
    let notes = Mutex<[String]>([])
    var request = HTTPRequest(.get, origin)
    request.options.listeners.append(
      EventHandler(.note) { event, _ in if case .note(let note) = event { notes.withLock { $0.append(note) } } })

    let (data, _) = try await fixture.session.data(for: request)

    #expect(data.count == size)
    #expect(fixture.cache.statistics.storeFailures == 0)
    #expect(fixture.cache.statistics.stored == 0)
    #expect(notes.withLock { $0 } == [])
    #expect(try await fixture.cache.usage().entries == 0)
  }

  @Test func aBodyThatIsNotReadIsNotStored() async throws {
    let fixture = CacheFixture(response(["ab", "cd"]))

    _ = try await fixture.session.bytes(for: HTTPRequest(.get, origin))

    #expect(try await fixture.cache.usage().entries == 0)
  }

  @Test func aBodyOfKnownLengthIsStoredWithItsLastByte() async throws {
    let fixture = CacheFixture(response(["ab", "cd"], length: 4))
    let (body, _) = try await fixture.session.bytes(for: HTTPRequest(.get, origin))
    var iterator = body.makeAsyncIterator()

    _ = try await iterator.next()
    _ = try await iterator.next()

    #expect(try await fixture.cache.usage().entries == 1)
  }

  @Test func aBodyThatFailsIsNotStored() async throws {
    let fixture = CacheFixture(response(["ab"], then: HTTPError(.connectionLost, "gone")))

    await #expect(throws: HTTPError.self) { try await fixture.get() }

    #expect(try await fixture.cache.usage().entries == 0)
  }

  @Test(arguments: [["ab"], ["abc", "de"]])
  func aBodyOfAnotherLengthThanAnnouncedIsNotStored(chunks: [String]) async throws {
    let fixture = CacheFixture(response(chunks, length: 4))

    _ = try? await fixture.get()

    #expect(try await fixture.cache.usage().entries == 0)
  }

  @Test func anEmptyBodyIsStoredAtOnce() async throws {
    let fixture = CacheFixture(MockResponse(status: .noContent, fields: Self.fields))

    _ = try await fixture.session.bytes(for: HTTPRequest(.get, origin))

    let again = try await fixture.get()
    #expect(again.source == .cache)
    #expect(again.status == .noContent)
  }

  @Test func aResponseThatIsRemovedWhileItIsReceivedIsNotStored() async throws {
    let fixture = CacheFixture(response(["ab", "cd"]))
    let (body, _) = try await fixture.session.bytes(for: HTTPRequest(.get, origin))
    var iterator = body.makeAsyncIterator()
    _ = try await iterator.next()

    try await fixture.cache.removeAll()
    while try await iterator.next() != nil {}

    #expect(try await fixture.cache.usage().entries == 0)
  }

  @Test func aResponseFromBeforeAnUnsafeRequestIsNotStored() async throws {
    let fixture = CacheFixture { request in
      request.method == .get ? .cacheable("before", "max-age=60") : .status(.noContent)
    }
    let (body, _) = try await fixture.session.bytes(for: HTTPRequest(.get, origin))

    _ = try await fixture.session.data(for: HTTPRequest(.put, origin))
    for try await _ in body {}

    #expect(try await fixture.cache.usage().entries == 0)
  }

  @Test func entriesAreRemovedByURLPartitionAndAge() async throws {
    let fixture = CacheFixture { .cacheable($0.url.path, "max-age=600") }
    for path in ["/a", "/b"] {
      for partition in ["x", "y"] { _ = try await fixture.get(path, partition: partition) }
      fixture.wall.advance(100)
    }
    func count() async throws -> Int { try await fixture.cache.usage().entries }

    try await fixture.cache.remove(url("http://a.example/b#x"))
    #expect(try await count() == 2)
    try await fixture.cache.removePartition("x")
    #expect(try await count() == 1)
    try await fixture.cache.remove(olderThan: .seconds(201))
    #expect(try await count() == 1)
    try await fixture.cache.remove(olderThan: .seconds(199))
    #expect(try await count() == 0)
  }

  @Test func theResponseToAPostIsNotStoredIfTheCacheWasEmptiedMeanwhile() async throws {
    let (isSent, mayAnswer) = (Gate(), Gate())
    let fixture = CacheFixture { _ in
      isSent.open()
      try await mayAnswer.wait()
      return .cacheable("one", "max-age=60", [.contentLocation: "/"])
    }
    let request = HTTPRequest(.post, url("http://a.example/"), body: .data(Data("x".utf8)))
    async let answer = fixture.send(request)
    try await isSent.wait()
    try await fixture.cache.removeAll()
    mayAnswer.open()

    #expect(try await answer.text == "one")
    #expect(try await fixture.cache.usage().entries == 0)
  }

  @Test(arguments: BrokenStore.Fault.allCases)
  func aStoreThatFailsFailsNoRequest(fault: BrokenStore.Fault) async throws {
    let fixture = CacheFixture(store: BrokenStore(fault)) { request in
      request.fields.contains(.ifNoneMatch)
        ? .notModified([.eTag: "\"a\""]) : .cacheable("one", "max-age=0", [.eTag: "\"a\""])
    }

    for _ in 1...2 { #expect(try await fixture.get().text == "one") }
    _ = try await fixture.send(HTTPRequest(.post, origin))

    #expect(fixture.cache.statistics.storeFailures > 0)
  }

  @Test func aResponseWhoseStoredBodyCannotBeOpenedIsRequestedAgain() async throws {
    let fixture = CacheFixture(store: BrokenStore(.open)) { _ in .cacheable("one", "max-age=60", [.eTag: "\"a\""]) }

    _ = try await fixture.get()
    let again = try await fixture.get()

    #expect(again.text == "one")
    #expect(again.source == .network)
    #expect(fixture.sent[1].fields[.ifNoneMatch] == nil)
  }

  @Test func aStoredBodyThatCannotBeOpenedIsNotRequestedAgainIfThePolicyForbidsIt() async throws {
    let fixture = CacheFixture(store: BrokenStore(.open)) { _ in .cacheable("one", "max-age=60") }
    _ = try await fixture.get()

    let error = await #expect(throws: HTTPError.self) { try await fixture.get(policy: .returnCacheDataDontLoad) }
    let unsent = try await fixture.get("/", [.cacheControl: "only-if-cached"])

    #expect(error?.kind == .notCached)
    #expect(unsent.response.status == .gatewayTimeout)
    #expect(fixture.sent.count == 1)
  }

  @Test func aValidatedResponseWhoseBodyCannotBeOpenedIsRequestedAgain() async throws {
    let fixture = CacheFixture(store: BrokenStore(.open)) { request in
      request.fields.contains(.ifNoneMatch)
        ? .notModified([.eTag: "\"a\""]) : .cacheable("one", "max-age=0", [.eTag: "\"a\""])
    }

    _ = try await fixture.get()
    let again = try await fixture.get()

    #expect(again.text == "one")
    #expect(fixture.sent.map { $0.fields[.ifNoneMatch] } == [nil, "\"a\"", nil])
  }
}

/// A store in memory, one of whose operations fails.
struct BrokenStore: CacheStore {
  enum Fault: Sendable, CaseIterable { case entries, open, begin, append, commit, update, remove, read }

  private let fault: Fault
  private let memory = MemoryCacheStore()

  init(_ fault: Fault) { self.fault = fault }

  private func check(_ place: Fault) throws {
    if fault == place { throw HTTPError(.other, "the store cannot \(place)") }
  }

  func entries(for key: CacheKey) async throws -> [CacheEntry] {
    try check(.entries)
    return await memory.entries(for: key)
  }

  func open(_ id: CacheEntry.ID, range: Range<Int64>) async throws -> (any BodySource)? {
    try check(.open)
    guard fault != .read else { return FailingSource() }
    return await memory.open(id, range: range)
  }

  func begin(_ entry: CacheEntry) async throws -> (any CacheWriter)? {
    try check(.begin)
    return await memory.begin(entry).map { Writer(store: self, base: $0) }
  }

  func update(_ entry: CacheEntry) async throws {
    try check(.update)
    await memory.update(entry)
  }

  func remove(_ selection: CacheSelection) async throws {
    try check(.remove)
    await memory.remove(selection)
  }

  func usage() async throws -> HTTPCache.Usage { await memory.usage() }

  private struct FailingSource: BodySource {
    func next() async throws -> Data? { throw HTTPError(.other, "the store cannot read") }
  }

  private struct Writer: CacheWriter {
    let store: BrokenStore
    let base: any CacheWriter

    func append(_ chunk: Data) async throws {
      try store.check(.append)
      try await base.append(chunk)
    }

    func commit() async throws {
      try store.check(.commit)
      try await base.commit()
    }

    func abort() async { await base.abort() }
  }
}
