import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

/// Identical requests at the same time.
@Suite(.timeLimit(.minutes(5)))
struct CollapsingTests {
  private let gate = Gate()

  /// A wire whose answers, or the first alone, come when the gate opens.
  private func held(_ control: String = "max-age=60", first: Bool = false) -> CacheFixture {
    CacheFixture { [gate] request in
      if !first || request.fields["X-Number"] == "1" { try await gate.wait() }
      return .cacheable("one", control)
    }
  }

  private func collapsed(_ count: Int, in fixture: CacheFixture) async {
    while fixture.cache.statistics.collapsed < count { await Task.yield() }
  }

  @Test func oneGoesOutForAll() async throws {
    let fixture = held()
    let tasks = (1...5).map { _ in Task { try await fixture.get() } }

    await collapsed(4, in: fixture)
    gate.open()
    var sources: [ResponseSource] = []
    for task in tasks {
      let answer = try await task.value
      #expect(answer.text == "one")
      sources.append(answer.source)
    }

    #expect(fixture.sent.count == 1)
    #expect(sources.count { $0 == .network } == 1)
    #expect(sources.count { $0 == .cache } == 4)
  }

  @Test func anAnswerThatCannotBeSharedReleasesTheOthers() async throws {
    let fixture = held("no-store")
    let tasks = (1...3).map { _ in Task { try await fixture.get() } }

    await collapsed(2, in: fixture)
    gate.open()
    for task in tasks { #expect(try await task.value.source == .network) }
    #expect(fixture.sent.count == 3)

    // From now on it is known that waiting is in vain.
    async let fourth = fixture.get()
    async let fifth = fixture.get()
    _ = try await (fourth, fifth)
    #expect(fixture.cache.statistics.collapsed == 2)
  }

  @Test func aFailedLeaderReleasesTheOthers() async throws {
    let fixture = CacheFixture { [gate] request in
      guard request.fields["X-Number"] == "1" else { return .cacheable("one", "max-age=60") }
      try await gate.wait()
      throw HTTPError(.connectionLost, "gone")
    }
    let leader = Task { try await fixture.get("/", ["X-Number": "1"]) }
    _ = try await fixture.wire.request(1)
    let follower = Task { try await fixture.get("/", ["X-Number": "2"]) }
    await collapsed(1, in: fixture)

    gate.open()

    await #expect(throws: HTTPError.self) { try await leader.value }
    #expect(try await follower.value.text == "one")
  }

  @Test func aCancelledLeaderFailsNobodyElse() async throws {
    let fixture = held(first: true)
    let leader = Task { try await fixture.get("/", ["X-Number": "1"]) }
    _ = try await fixture.wire.request(1)
    let followers = (2...4).map { number in Task { try await fixture.get("/", ["X-Number": "\(number)"]) } }
    await collapsed(3, in: fixture)

    leader.cancel()

    for follower in followers { #expect(try await follower.value.text == "one") }
    // One of them went in the leader's place.
    #expect(fixture.sent.count == 2)
  }

  @Test func aCancelledFollowerGoesAlone() async throws {
    let fixture = held()
    let leader = Task { try await fixture.get() }
    _ = try await fixture.wire.request(1)
    let follower = Task { try await fixture.get() }
    await collapsed(1, in: fixture)

    follower.cancel()

    await #expect { try await follower.value } throws: { ($0 as? HTTPError)?.isCancelled == true }
    gate.open()
    #expect(try await leader.value.text == "one")
  }

  @Test func aFollowerWaitsNoLongerThanForItsOwnResponse() async throws {
    let fixture = held(first: true)
    let leader = Task { try await fixture.get("/", ["X-Number": "1"]) }
    _ = try await fixture.wire.request(1)
    let follower = Task { try await fixture.get() }
    try await fixture.clock.sleepers(1)

    fixture.clock.advance(by: .seconds(60))

    #expect(try await follower.value.source == .network)
    gate.open()
    _ = try await leader.value
  }

  @Test func aReaderThatTakesItsTimeHoldsNobodyUp() async throws {
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
  func onlyWhatIsAskedTheSameIsShared(first: HTTPFields, second: HTTPFields, count: Int) async throws {
    let fixture = held()
    let tasks = [first, second].map { fields in Task { try await fixture.get("/", fields) } }
    if count == 2 { _ = try await fixture.wire.request(2) } else { await collapsed(1, in: fixture) }

    gate.open()

    for task in tasks { _ = try await task.value }
    #expect(fixture.sent.count == count)
  }
}
