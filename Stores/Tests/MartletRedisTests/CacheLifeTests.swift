import MartletEngine
@_spi(Toolkit) import MartletSemantics
@_spi(Toolkit) import MartletTesting
import Testing

@testable import MartletRedis

@Suite struct CacheLifeTests {
  private let now = Date(timeIntervalSince1970: 1_000_000)

  /// The fields of the response, its age, and the seconds for which it is kept in addition to the retention.
  @Test(arguments: [
    ("max-age=60", 0.0, 60.0),
    ("max-age=60", 20, 40),
    ("max-age=60", 100, 0),
    ("max-age=60, stale-while-revalidate=30", 0, 90),
    ("max-age=60, stale-while-revalidate=30, stale-if-error=300", 10, 380),
    ("no-cache", 0, 0),
    ("stale-if-error=x", 0, 0),
  ])
  func theLifeIsFreshnessAndTheTimesOfStaleUse(control: String, age: Double, seconds: Double) {
    var options = RedisCacheOptions()
    options.retention = .seconds(1_000)
    #expect(life(control, age, options, random: 0) == .seconds(seconds + 1_000))
  }

  @Test func theLifeIsMadeLongerByUpToATenth() {
    var options = RedisCacheOptions()
    options.retention = .seconds(40)
    #expect(life("max-age=60", 0, options, random: 1).inMilliseconds.rounded() == 110_000)
    #expect(life("max-age=60", 0, options, random: 0.5).inMilliseconds.rounded() == 105_000)
  }

  @Test func theLifeHasALimit() {
    var options = RedisCacheOptions()
    options.lifetimeLimit = .seconds(11)
    #expect(life("max-age=31536000", 0, options, random: 1).inMilliseconds.rounded() == 11_000)
    #expect(life("max-age=31536000", 0, options, random: 0).inMilliseconds.rounded() == 10_000, "not all together")
    options.retention = .zero
    #expect(life("no-cache", 0, options, random: 0) == .seconds(1))
  }

  @Test func aLifeWithoutEndIsAHundredYears() {
    var options = RedisCacheOptions()
    (options.retention, options.lifetimeLimit) = (.seconds(Int64.max), .seconds(Int64.max))
    let years = life("max-age=60", 0, options, random: 1) / Duration.seconds(365 * 86_400)
    #expect(years.rounded() == 100)
  }

  @Test(
    arguments: [
      (.zero, "0"), (.microseconds(1), "1"), (.milliseconds(1_500), "1500"), (.seconds(Int64.max), "3153600000000"),
    ] as [(Duration, String)])
  func aTimeIsSentInWholeMilliseconds(time: Duration, text: String) {
    #expect(Data(milliseconds: time) == Data(text.utf8))
  }

  private func life(_ control: String, _ age: Double, _ options: RedisCacheOptions, random: Double) -> Duration {
    let received = now.addingTimeInterval(-age)
    let response = StoredResponse(
      head: ResponseHead(status: 200, fields: ["Cache-Control": control]), requestTime: received, responseTime: received
    )
    return CacheLife.of(response, at: now, options: options, random: random)
  }
}

@Suite struct CacheMemoryTests {
  private var memory = CacheMemory(limit: 100_000)

  private func place(_ key: String, variant: String = "", body: Int = 10) -> CacheMemory.Place {
    let response = StoredResponse(
      head: ResponseHead(status: 200, fields: [:]), variant: variant, requestTime: .distantPast,
      responseTime: .distantPast)
    let entry = CacheEntry(
      key: CacheKey(partition: "", normalizedURL: "https://example.com/" + key), response: response, length: Int64(body)
    )
    return CacheMemory.Place(
      key: key, record: CacheRecord(entry: entry, chunks: 0), body: Data(repeating: 1, count: body))
  }

  @Test mutating func aLookupIsAnsweredUntilItsTimeAndNoLonger() {
    let found = place("a")
    memory.set([found], of: "a", until: .seconds(10))
    #expect(memory.entries(of: "a", at: .seconds(9)) == [found.record.entry])
    #expect(memory.entries(of: "a", at: .seconds(10)) == nil)
    #expect(memory.place(of: found.record.entry.id)?.body?.count == 10)
  }

  @Test mutating func aChangeEndsTheAnswersOfItsKey() {
    let (old, new) = (place("a"), place("a"))
    memory.set([old], of: "a", until: .seconds(10))
    memory.add(new)
    #expect(memory.entries(of: "a", at: .zero) == nil)
    #expect(memory.place(of: old.record.entry.id) == nil, "it had the same variant")
    #expect(memory.place(of: new.record.entry.id) != nil)
  }

  /// Entries were stored while the server was asked.
  @Test mutating func anOutdatedLookupReplacesNothing() {
    let (old, other, new) = (place("a"), place("a", variant: "2"), place("a"))
    memory.set([old], of: "a", until: .seconds(10))
    memory.add(new)
    #expect(memory.additions == 1)

    let earlier = CacheMemory.Place(key: "a", record: new.record, body: Data(count: 3))
    memory.set(outdated: [old, other, earlier], of: "a")

    #expect(memory.place(of: new.record.entry.id)?.body?.count == 10)
    #expect(memory.place(of: old.record.entry.id) != nil, "who has looked it up can open it")
    #expect(memory.place(of: other.record.entry.id) != nil)
    #expect(memory.entries(of: "a", at: .zero) == nil)
  }

  @Test mutating func aRemovalForgetsTheEntry() {
    let (one, two) = (place("a", variant: "1"), place("a", variant: "2"))
    memory.set([one, two], of: "a", until: .seconds(10))
    memory.remove(one.record.entry.id)
    #expect(memory.place(of: one.record.entry.id) == nil)
    #expect(memory.place(of: two.record.entry.id) != nil)
    #expect(memory.entries(of: "a", at: .zero) == nil)
    memory.remove("a")
    #expect(memory.place(of: two.record.entry.id) == nil)
  }

  @Test mutating func bodiesThatDoNotFitAreForgottenAndPlacesAreKept() {
    let places = (0..<50).map { place("\($0)", body: 5_000) }
    for place in places { memory.set([place], of: place.key, until: .seconds(10)) }
    let known = places.filter { memory.place(of: $0.record.entry.id)?.body != nil }
    #expect(known.map(\.key) == (30..<50).map { "\($0)" })
    #expect(places.allSatisfy { memory.entries(of: $0.key, at: .zero)?.count == 1 })
  }

  @Test mutating func placesThatDoNotFitAreForgotten() {
    let places = (0..<8_200).map { place("\($0)", body: 1) }
    for place in places { memory.set([place], of: place.key, until: .seconds(10)) }
    #expect(memory.place(of: places[7].record.entry.id) == nil)
    #expect(memory.entries(of: "7", at: .zero) == nil, "a part would look like all")
    #expect(memory.entries(of: "8", at: .zero)?.count == 1)
  }

  @Test mutating func withoutAnswersThePlacesAreStillKnown() {
    let found = place("a")
    memory.set([found], of: "a", until: .seconds(10))
    memory.forgetAnswers()
    #expect(memory.entries(of: "a", at: .zero) == nil)
    #expect(memory.place(of: found.record.entry.id)?.record == found.record)
    #expect(memory.place(of: found.record.entry.id)?.body == nil)
    #expect(memory.removals == 1)
    memory.remove("a")
    #expect(memory.place(of: found.record.entry.id) == nil)
  }

  @Test mutating func everyRemovalCounts() {
    let found = place("a")
    memory.set([found], of: "a", until: .seconds(10))
    memory.add(found)
    #expect(memory.removals == 0)
    memory.remove(found.record.entry.id)
    memory.remove("unknown")
    memory.removeAll()
    #expect(memory.removals == 3)
  }
}

@Suite(.timeLimit(.minutes(5)))
struct CacheRemovalTests {
  /// The removal of all entries searches the server in two steps, and the entry is stored between them.
  @Test func anEntryThatWasStoredDuringARemovalCanBeRemoved() async throws {
    let commands = Awaitable<[String]>([])
    let server = try FakeServer { words, _ in
      if let command = words.first { commands.update { $0.append(command) } }
      return switch words.first {
      case "SCAN", "EVALSHA": ""  // The test answers.
      case "EVAL": ":1\r\n"
      default: FakeServer.usual(words)
      }
    }
    let store = RedisCacheStore(try server.client())
    let removal = Task { try await store.remove(.all) }
    try await server.receive("SCAN")

    let date = Date(timeIntervalSince1970: 1_000_000)
    let response = StoredResponse(
      head: ResponseHead(status: 200, fields: [:]), requestTime: date, responseTime: date)
    let entry = CacheEntry(
      key: CacheKey(partition: "", normalizedURL: "https://example.com/"), response: response)
    let writer = try #require(try await store.begin(entry))
    let commit = Task { try await writer.commit() }
    try await server.receive("EVALSHA")
    server.send("*2\r\n$1\r\n1\r\n*0\r\n" + ":1\r\n", over: 0)
    try await commit.value
    _ = try await commands.wait { commands in commands.count { $0 == "SCAN" } == 2 ? true : nil }
    server.send("*2\r\n$1\r\n0\r\n*0\r\n", over: 0)
    try await removal.value

    try await store.remove(.entry(entry.id))
    #expect(commands.value.last == "EVAL")
    #expect(server.connectionCount == 1)
  }
}
