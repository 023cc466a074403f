@_spi(Fleet) @_spi(Stores) @_spi(Transports) @testable import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

/// Requests to one cache that are in progress at the same time.
@Suite(.timeLimit(.minutes(5)))
struct CacheTransactionTests {
  private let cache = HTTPCache()
  private let clock = ManualClock()

  private func transaction(_ listeners: any EventListener...) -> CacheTransaction {
    let request = HTTPRequest(.get, url("http://a.example/"))
    return CacheTransaction(request, in: Call(listeners: listeners), of: cache)
  }

  private func start(_ transaction: CacheTransaction) async throws -> Bool {
    try await start(transaction, since: cache.inFlight.storedCount)
  }

  /// Whether the request is to be sent. If an identical one is under way, this is known after its end.
  private func start(_ transaction: CacheTransaction, since storedCount: Int) async throws -> Bool {
    switch transaction.joinOrRegister(since: storedCount) {
    case .started: return true
    case .outdated: return false
    case .joined(let result):
      try await transaction.wait(for: result, on: clock)
      return false
    }
  }

  /// A request that waits for the response to an identical request.
  private func waiting() async throws -> (transaction: CacheTransaction, isToBeSent: Task<Bool, any Error>) {
    let waits = Gate()
    let transaction = transaction(EventHandler { event, _ in if case .note = event { waits.open() } })
    let isToBeSent = Task { [self] in try await start(transaction) }
    try await waits.wait()
    return (transaction, isToBeSent)
  }

  @Test func aRequestThatIsDeallocatedIsAbandoned() async throws {
    var first: CacheTransaction? = transaction()
    try await #expect(start(#require(first)))
    let second = try await waiting()

    first = nil

    #expect(try await !second.isToBeSent.value)
    #expect(try await start(second.transaction))
    let third = try await waiting()
    second.transaction.finish(.stored)
    #expect(try await !third.isToBeSent.value)
  }

  @Test func aWaitingRequestIsSentByItselfWhereNothingIsShared() async throws {
    let first = transaction()
    #expect(try await start(first))
    let second = try await waiting()

    first.finish(.unshared)
    first.finish(.abandoned)

    #expect(try await !second.isToBeSent.value)
    let third = transaction()
    #expect(try await start(third))
    #expect(try await start(second.transaction))
  }

  @Test func waitingRequestsAreReleasedWhileTheResponseIsStillStored() async throws {
    let first = transaction()
    #expect(try await start(first))
    let second = try await waiting()

    first.releaseJoined(.unshared)

    #expect(try await !second.isToBeSent.value)
    #expect(first.isRegistered)
    #expect(!first.isFinished)
  }

  @Test func aResponseThatWasStoredSinceTheLookupIsLookedUpOnce() async throws {
    let storedCount = cache.inFlight.storedCount
    let (first, second) = (transaction(), transaction())
    #expect(try await start(first))
    first.finish(.stored)

    #expect(try await !start(second, since: storedCount))
    #expect(try await start(second, since: storedCount))
  }

  @Test func forAResponseThatCannotBeStoredNoLaterRequestWaits() async throws {
    let first = transaction()
    #expect(try await start(first))
    first.finish(.unstorable)

    let (second, third, fourth) = (transaction(), transaction(), transaction())
    #expect(try await start(second))
    #expect(try await start(third), "it does not wait for the second")
    cache.inFlight.removeUnstorable(third.key)  // its response is being stored
    third.finish(.stored)
    #expect(try await start(fourth))
    let fifth = try await waiting()
    fourth.finish(.stored)
    #expect(try await !fifth.isToBeSent.value)
    second.finish(.unshared)
  }

  @Test(arguments: [
    (CacheSelection.all, false), (.url("http://a.example/"), false), (.url("http://a.example/other"), true),
    (.partition(""), false), (.partition("anna"), true), (.key(CacheKey(url("http://a.example/"))), false),
    (.olderThan(.distantFuture), true),
  ])
  func aRemovalIncludesWhatIsBeingReceived(_ selection: CacheSelection, isRegistered: Bool) async throws {
    let transaction = transaction()
    transaction.register()
    #expect(transaction.isRegistered)

    try await cache.remove(selection)

    #expect(transaction.isRegistered == isRegistered)
    transaction.finish(.stored)
    #expect(!transaction.isRegistered)
  }

  @Test func aRemovalDoesNotIncludeTheResponseToTheRequestThatCausesIt() async throws {
    let (own, other) = (transaction(), transaction())
    own.register()
    other.register()

    await cache.remove(.key(own.key), for: own)
    #expect(own.isRegistered)
    #expect(!other.isRegistered)

    await cache.remove(.key(own.key), for: other)
    #expect(!own.isRegistered, "another request has caused this one")
    await cache.remove(.key(own.key), for: own)
    #expect(!own.isRegistered, "its own removal does not undo the earlier one")
    let later = transaction()
    later.register()
    #expect(later.isRegistered)
  }

  @Test func removalsThatAreForgottenIncludeEveryResponse() async throws {
    let (early, late) = (transaction(), transaction())
    early.register()
    try await cache.remove(.url("http://b.example/0"))
    late.register()

    for index in 1...1000 {
      #expect(early.isRegistered)
      try await cache.remove(.url("http://b.example/\(index)"))
    }

    #expect(!early.isRegistered)
    #expect(late.isRegistered)
  }
}

/// Identical requests of a session at the same time.
@Suite(.timeLimit(.minutes(5)))
struct CollapsingTests {
  private let gate = Gate()

  /// A session whose responses, or only the first, arrive when the gate opens.
  private func held(_ control: String = "max-age=60", first: Bool = false) -> CacheFixture {
    CacheFixture { [gate] request in
      if !first || request.fields["X-Number"] == "1" { try await gate.wait() }
      return .cacheable("one", control)
    }
  }

  @Test func oneRequestIsSentForAll() async throws {
    let fixture = held()
    let tasks = (1...5).map { _ in Task { try await fixture.get() } }

    await fixture.collapsed(4)
    gate.open()
    var sources: [HTTPResponse.Source] = []
    for task in tasks {
      let answer = try await task.value
      #expect(answer.text == "one")
      sources.append(answer.source)
    }

    #expect(fixture.sent.count == 1)
    #expect(sources.count { $0 == .network } == 1)
    #expect(sources.count { $0 == .cache } == 4)
  }

  @Test func aResponseThatCannotBeStoredReleasesThoseThatWait() async throws {
    let fixture = held("no-store")
    let tasks = (1...3).map { _ in Task { try await fixture.get() } }

    await fixture.collapsed(2)
    gate.open()
    for task in tasks { #expect(try await task.value.source == .network) }
    #expect(fixture.sent.count == 3)

    // Later requests do not wait.
    async let fourth = fixture.get()
    async let fifth = fixture.get()
    _ = try await (fourth, fifth)
    #expect(fixture.cache.statistics.collapsed == 2)
  }

  /// All of them reject a body that exceeds their limit: none waits until another one has.
  @Test(arguments: [true, false]) func aBodyAboveTheLimitReleasesThoseThatWait(isLengthKnown: Bool) async throws {
    let allWereSent = Gate()
    let content = Data(repeating: 1, count: 1_000)
    let fixture = CacheFixture { [gate] request in
      try await (request.fields["X-Number"] == "1" ? gate : allWereSent).wait()
      return MockResponse(fields: [.cacheControl: "max-age=60"]) {
        isLengthKnown ? ResponseBody(content) : ResponseBody(length: nil, from: ResponseBody(content).source)
      }
    }
    let tasks = (1...8).map { number in
      Task {
        var request = HTTPRequest(.get, url("http://a.example/"), fields: ["X-Number": "\(number)"])
        request.options.collectLimit = 999
        if number > 1 { _ = try await fixture.transport.request(1) }
        return try await fixture.send(request)
      }
    }
    await fixture.collapsed(7)

    gate.open()
    _ = try await fixture.transport.request(8)

    allWereSent.open()
    for task in tasks {
      await #expect { try await task.value } throws: { ($0 as? HTTPError)?.kind == .bodyTooLarge }
    }
  }

  @Test func aFailedRequestReleasesThoseThatWait() async throws {
    let fixture = CacheFixture { [gate] request in
      guard request.fields["X-Number"] == "1" else { return .cacheable("one", "max-age=60") }
      try await gate.wait()
      throw HTTPError(.connectionLost, "gone")
    }
    let first = Task { try await fixture.get("/", ["X-Number": "1"]) }
    _ = try await fixture.transport.request(1)
    let other = Task { try await fixture.get("/", ["X-Number": "2"]) }
    await fixture.collapsed(1)

    gate.open()

    await #expect(throws: HTTPError.self) { try await first.value }
    #expect(try await other.value.text == "one")
  }

  @Test func aCancelledRequestFailsNoOther() async throws {
    let fixture = held(first: true)
    let first = Task { try await fixture.get("/", ["X-Number": "1"]) }
    _ = try await fixture.transport.request(1)
    let others = (2...4).map { number in Task { try await fixture.get("/", ["X-Number": "\(number)"]) } }
    await fixture.collapsed(3)

    first.cancel()

    for other in others { #expect(try await other.value.text == "one") }
    // Another one of them was sent in its place.
    #expect(fixture.sent.count == 2)
  }

  /// Random schedules: whichever requests give up, even the one that is sent, the others get the response.
  @Test(arguments: 0..<10 as Range<UInt64>) func thoseThatGiveUpChangeNothingForTheOthers(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let fixture = held()
    let tasks = (0..<8).map { _ in Task { try await fixture.get() } }
    await fixture.collapsed(7)
    let givenUp = tasks.indices.shuffled(using: &random).prefix(.random(in: 1...7, using: &random))
    for index in givenUp {
      tasks[index].cancel()
      if Bool.random(using: &random) { _ = await tasks[index].result }
    }

    gate.open()

    for index in tasks.indices where !givenUp.contains(index) { #expect(try await tasks[index].value.text == "one") }
    for index in givenUp { _ = await tasks[index].result }
    #expect(fixture.sent.count <= 1 + givenUp.count)
    #expect(try await fixture.get().text == "one")
  }

  @Test func aCancelledRequestStopsWaiting() async throws {
    let fixture = held()
    let first = Task { try await fixture.get() }
    _ = try await fixture.transport.request(1)
    let other = Task { try await fixture.get() }
    await fixture.collapsed(1)

    other.cancel()

    await #expect { try await other.value } throws: { ($0 as? HTTPError)?.isCancelled == true }
    gate.open()
    #expect(try await first.value.text == "one")
  }

  @Test func aRequestWaitsNoLongerThanForItsOwnResponse() async throws {
    let fixture = held(first: true)
    let first = Task { try await fixture.get("/", ["X-Number": "1"]) }
    _ = try await fixture.transport.request(1)
    let other = Task { try await fixture.get() }
    try await fixture.clock.sleepers(1)

    fixture.clock.advance(by: .seconds(60))

    #expect(try await other.value.source == .network)
    gate.open()
    _ = try await first.value
  }

  @Test func aSlowReaderDelaysNoOtherRequest() async throws {
    let fixture = CacheFixture { _ in .cacheable("one", "max-age=60") }

    let (body, _) = try await fixture.session.bytes(for: HTTPRequest(.get, url("http://a.example/")))
    let other = try await fixture.get()

    #expect(other.source == .network)
    #expect(try await body.collect(upTo: 10) == Data("one".utf8))
  }

  @Test(
    arguments: [
      ([.authorization: "a"], [.authorization: "b"], 2), ([.accept: "a/b"], [.accept: "c/d"], 2),
      (["X-Request-Id": "1"], ["X-Request-Id": "2"], 1), ([.range: "bytes=0-0"], [.range: "bytes=0-0"], 2),
      ([.cacheControl: "no-cache"], [.cacheControl: "no-cache"], 2),
    ] as [(HTTPFields, HTTPFields, Int)])
  func onlyIdenticalRequestsAreShared(first: HTTPFields, second: HTTPFields, count: Int) async throws {
    let fixture = held()
    let tasks = [first, second].map { fields in Task { try await fixture.get("/", fields) } }
    if count == 2 { _ = try await fixture.transport.request(2) } else { await fixture.collapsed(1) }

    gate.open()

    for task in tasks { _ = try await task.value }
    #expect(fixture.sent.count == count)
  }
}
