import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CachingTransportTests {
  @Test func aFreshResponseIsUsedAgain() async throws {
    let fixture = CacheFixture(.cacheable("one", "max-age=60", [.setCookie: "a=b"]))

    let first = try await fixture.get()
    fixture.wall.advance(30)
    let second = try await fixture.get()

    #expect(first.source == .network)
    #expect(first.networkHead?.fields[.setCookie] == "a=b")
    #expect(second.source == .cache)
    #expect(second.text == "one")
    #expect(second.fields[.age] == "30")
    #expect(second.fields[.setCookie] == "a=b")
    #expect(second.networkHead == nil)
    #expect(second.response.body.length == 3)
    #expect(fixture.sent.count == 1)
    #expect(fixture.cache.statistics.hits == 1)
    #expect(fixture.cache.statistics.misses == 1)
    #expect(fixture.cache.statistics.stored == 1)
  }

  @Test func aStaleResponseIsValidated() async throws {
    let fixture = CacheFixture(
      .cacheable("one", "max-age=5", [.eTag: "\"a\"", "X-Test": "old"]),
      .notModified([.eTag: "\"a\"", .cacheControl: "max-age=60", "X-Test": "new", .setCookie: "c=d"]))

    _ = try await fixture.get()
    fixture.wall.advance(10)
    let second = try await fixture.get()
    fixture.wall.advance(30)
    let third = try await fixture.get()

    #expect(fixture.sent[1].fields[.ifNoneMatch] == "\"a\"")
    #expect(second.source == .revalidated)
    #expect(second.status == .ok)
    #expect(second.text == "one")
    #expect(second.fields["X-Test"] == "new")
    #expect(second.networkHead?.status == .notModified)
    #expect(second.networkHead?.fields[.setCookie] == "c=d")
    #expect(third.source == .cache)
    #expect(third.fields[.age] == "30")
    #expect(third.fields["X-Test"] == "new")
    #expect(fixture.cache.statistics.revalidations == 1)
  }

  @Test func aNewResponseReplacesTheStaleOne() async throws {
    let fixture = CacheFixture(
      .cacheable("one", "max-age=5", [.eTag: "\"a\""]), .cacheable("two", "max-age=60", [.eTag: "\"b\""]))

    _ = try await fixture.get()
    fixture.wall.advance(10)
    let second = try await fixture.get()
    let third = try await fixture.get()

    #expect([second.text, third.text] == ["two", "two"])
    #expect([second.source, third.source] == [.network, .cache])
    #expect(try await fixture.cache.usage().entries == 1)
  }

  @Test func variantsAreStoredBesideEachOther() async throws {
    let fixture = CacheFixture { request in
      .cacheable(request.fields["Foo"] ?? "none", "max-age=60", [.vary: "Foo"])
    }

    let texts = [
      try await fixture.get("/", ["Foo": "1"]), try await fixture.get("/", ["Foo": "2"]),
      try await fixture.get("/", ["Foo": "1"]), try await fixture.get("/", ["Foo": "2"]), try await fixture.get(),
    ].map(\.text)

    #expect(texts == ["1", "2", "1", "2", "none"])
    #expect(fixture.sent.count == 3)
  }

  @Test func aKeyHasAtMost32Variants() async throws {
    let fixture = CacheFixture { _ in .cacheable("one", "max-age=6000", [.vary: "Foo"]) }

    for number in 1...40 {
      _ = try await fixture.get("/", ["Foo": "\(number)"])
      fixture.wall.advance(1)
    }

    #expect(try await fixture.cache.usage().entries == 32)
    #expect(try await fixture.get("/", ["Foo": "40"]).source == .cache)
    #expect(try await fixture.get("/", ["Foo": "1"]).source == .network)
  }

  @Test func partitionsAreSeparate() async throws {
    let fixture = CacheFixture(.cacheable("of a", "max-age=60"), .cacheable("of b", "max-age=60"))

    let texts = [
      try await fixture.get(partition: "a"), try await fixture.get(partition: "b"),
      try await fixture.get(partition: "a"),
      try await fixture.get(partition: "b"),
    ].map(\.text)

    #expect(texts == ["of a", "of b", "of a", "of b"])
  }

  @Test func aResponseToOneUserIsNotUsedForAnother() async throws {
    let fixture = CacheFixture { request in
      .cacheable("for \(request.fields[.authorization] ?? "all")", "max-age=60")
    }

    let texts = [
      try await fixture.get("/", [.authorization: "a"]), try await fixture.get("/", [.authorization: "b"]),
      try await fixture.get(), try await fixture.get("/", [.authorization: "a"]),
    ].map(\.text)

    #expect(texts == ["for a", "for b", "for all", "for a"])
    #expect(fixture.sent.count == 3)
  }

  @Test func withinAPartitionStoredResponsesAreUsedWithARenewedToken() async throws {
    let fixture = CacheFixture { .cacheable("for \($0.fields[.authorization] ?? "all")", "max-age=60") }

    let texts = [
      try await fixture.get("/", [.authorization: "a"], partition: "anna"),
      try await fixture.get("/", [.authorization: "b"], partition: "anna"), try await fixture.get(partition: "anna"),
      try await fixture.get("/", [.authorization: "c"], partition: "ben"),
      try await fixture.get("/", [.authorization: "c"]), try await fixture.get("/", [.authorization: "a"]),
    ].map(\.text)

    #expect(texts == ["for a", "for a", "for a", "for c", "for c", "for a"])
    #expect(fixture.sent.count == 4)
  }

  @Test func requestsWithAnotherHostThanTheURLsDoNotUseTheCache() async throws {
    let fixture = CacheFixture { .cacheable("of \($0.fields[.host] ?? "a")", "max-age=60", [.contentLocation: "/"]) }
    var post = HTTPRequest(.post, url("http://a.example/"), fields: [.host: "b.example"])
    post.body = .data(Data("x".utf8))

    _ = try await fixture.send(post)
    let texts = [
      try await fixture.get("/", [.host: "b.example"]), try await fixture.get(),
      try await fixture.get("/", [.host: "b.example"]), try await fixture.get("/", [.host: "a.example:80"]),
    ].map(\.text)

    #expect(texts == ["of b.example", "of a", "of b.example", "of a"])
    await #expect { try await fixture.get("/", [.host: "b.example"], policy: .returnCacheDataDontLoad) } throws: {
      ($0 as? HTTPError)?.kind == .notCached
    }
  }

  @Test func aHeadRequestIsAnsweredFromAStoredGet() async throws {
    let fixture = CacheFixture(.cacheable("one", "max-age=60", [.contentLength: "3"]))

    _ = try await fixture.get()
    let head = try await fixture.send(HTTPRequest(.head, url("http://a.example/")))

    #expect(head.source == .cache)
    #expect(head.text.isEmpty)
    #expect(head.fields[.contentLength] == "3")
  }

  @Test func aHeadRequestUpdatesTheStoredGet() async throws {
    let fixture = CacheFixture(
      .cacheable("one", "max-age=5", ["X-Test": "old"]),
      MockResponse(fields: [.cacheControl: "max-age=1000", "X-Test": "new"]))

    _ = try await fixture.get()
    fixture.wall.advance(10)
    _ = try await fixture.send(HTTPRequest(.head, url("http://a.example/")))
    let third = try await fixture.get()

    #expect(third.source == .cache)
    #expect(third.text == "one")
    #expect(third.fields["X-Test"] == "new")
  }

  @Test func aRangeIsTakenFromACompleteResponse() async throws {
    let fixture = CacheFixture(.cacheable("0123456789", "max-age=60"))

    _ = try await fixture.get()
    let part = try await fixture.get("/", [.range: "bytes=2-4"])

    #expect(part.status == .partialContent)
    #expect(part.text == "234")
    #expect(part.fields[.contentRange] == "bytes 2-4/10")
  }

  @Test func aPartialResponseIsNotStoredAsComplete() async throws {
    let fixture = CacheFixture(
      MockResponse(
        status: .partialContent, fields: [.cacheControl: "max-age=60", .contentRange: "bytes 0-2/10"],
        content: Data("012".utf8)),
      .cacheable("0123456789", "max-age=60"))

    _ = try await fixture.get("/", [.range: "bytes=0-2"])
    let whole = try await fixture.get()

    #expect(whole.text == "0123456789")
    #expect(whole.source == .network)
  }

  @Test(arguments: [("POST", 200, 1), ("M-SEARCH", 200, 1), ("DELETE", 302, 1), ("PUT", 500, 0), ("OPTIONS", 200, 0)])
  func anUnsafeRequestRemovesWhatIsStored(method: String, status: Int, more: Int) async throws {
    let fixture = CacheFixture { request in
      request.method == .get ? .cacheable("one", "max-age=60") : .status(HTTPStatus(status))
    }
    var change = HTTPRequest(.get, url("http://a.example/"))
    change.method = try #require(HTTPMethod(rawValue: method))
    change.options.redirectPolicy = .manual

    _ = try await fixture.get()
    _ = try await fixture.send(change)
    let again = try await fixture.get()

    #expect(again.source == (more == 1 ? .network : .cache))
  }

  @Test func theResponseToAPostMayAnswerALaterGet() async throws {
    let fixture = CacheFixture(.cacheable("one", "max-age=60", [.contentLocation: "/"]))

    _ = try await fixture.send(HTTPRequest(.post, url("http://a.example/"), body: .data(Data("x".utf8))))

    #expect(try await fixture.get().source == .cache)
  }

  @Test func aGetWithABodyDoesNotUseTheCache() async throws {
    let fixture = CacheFixture { request in
      .cacheable(request.request.body.bytes.map { String(decoding: $0, as: UTF8.self) } ?? "", "max-age=60")
    }

    let texts = [
      try await fixture.get().text,
      try await fixture.send(HTTPRequest(.get, url("http://a.example/"), body: .data(Data("b".utf8)))).text,
      try await fixture.get().text,
    ]

    #expect(texts == ["", "b", ""])
    #expect(fixture.sent.count == 2)
  }

  @Test func aReaderOfATruncatedRedirectBodyFails() async throws {
    let fixture = CacheFixture(
      MockResponse(status: 301, fields: [.cacheControl: "max-age=60", .location: "/new"]) {
        ResponseBody(length: 5, from: BrokenOff())
      })
    var request = HTTPRequest(.get, url("http://a.example/"))
    request.options.redirectPolicy = .manual

    await #expect { try await fixture.send(request) } throws: { ($0 as? HTTPError)?.kind == .connectionLost }
  }

  private struct BrokenOff: BodySource {
    func next() async throws -> Data? { throw HTTPError(.connectionLost, "gone") }
  }

  @Test func aStoredRedirectIsFollowed() async throws {
    let fixture = CacheFixture { request in
      guard request.url.path == "/old" else { return .cacheable("there", "max-age=60") }
      var redirect = MockResponse.redirect(to: "/new", status: 301)
      redirect.fields[.cacheControl] = "max-age=60"
      return redirect
    }

    _ = try await fixture.get("/old")
    let second = try await fixture.get("/old")

    #expect(second.text == "there")
    #expect(fixture.sent.map(\.url.path) == ["/old", "/new"])
  }

  @Test(arguments: [nil, 5] as [Int64?])
  func aRedirectThatIsFollowedIsStoredWithItsBody(length: Int64?) async throws {
    let fixture = CacheFixture { request in
      guard request.url.path == "/old" else { return .cacheable("there", "max-age=60") }
      return MockResponse(status: 301, fields: [.cacheControl: "max-age=60", .location: "/new"]) {
        ResponseBody(length: length, from: Pieces(count: 5))
      }
    }

    _ = try await fixture.get("/old")
    let again = try await fixture.get("/old")

    #expect(again.text == "there")
    #expect(fixture.sent.map(\.url.path) == ["/old", "/new"])
  }

  @Test func aRedirectWithALargeOrSlowBodyIsFollowedWithoutStoringIt() async throws {
    let gate = Gate()
    let fixture = CacheFixture { request in
      guard request.url.path != "/new" else { return .cacheable("there", "max-age=60") }
      return MockResponse(status: 301, fields: [.cacheControl: "max-age=60", .location: "/new"]) {
        ResponseBody(from: Pieces(count: request.url.path == "/slow" ? 1 : 100_000, then: gate))
      }
    }

    #expect(try await fixture.get("/large").text == "there")
    async let slow = fixture.get("/slow")
    try await fixture.clock.sleepers(1)
    fixture.clock.advance(by: .seconds(1))
    #expect(try await slow.text == "there")
    #expect(try await fixture.cache.usage().entries == 1)
    gate.open()
  }

  /// Single bytes, and then the end. If there is a gate, the end comes when it is open.
  private final class Pieces: BodySource {
    private let rest: Mutex<Int>
    private let gate: Gate?

    init(count: Int, then gate: Gate? = nil) {
      rest = Mutex(count)
      self.gate = gate
    }

    func next() async throws -> Data? {
      let isThere = rest.withLock { rest in
        rest -= 1
        return rest >= 0
      }
      if isThere { return Data([0]) }
      try await gate?.wait()
      return nil
    }
  }

  @Test func onlyIfCachedIsAnsweredWithGatewayTimeout() async throws {
    let fixture = CacheFixture()

    let answer = try await fixture.get("/", [.cacheControl: "only-if-cached"])

    #expect(answer.status == .gatewayTimeout)
    #expect(fixture.sent.isEmpty)
  }

  @Test func aRequestThatForbidsNetworkAccessFailsWithoutStoredResponse() async throws {
    let fixture = CacheFixture(.cacheable("one", "max-age=5"))

    await #expect { try await fixture.get(policy: .returnCacheDataDontLoad) } throws: {
      ($0 as? HTTPError)?.kind == .notCached
    }
    _ = try await fixture.get()
    fixture.wall.advance(100)

    #expect(try await fixture.get(policy: .returnCacheDataDontLoad).source == .stale)
  }

  @Test func aReloadIsSentAndStored() async throws {
    let fixture = CacheFixture(.cacheable("one", "max-age=60"), .cacheable("two", "max-age=60"))

    _ = try await fixture.get()
    let reloaded = try await fixture.get(policy: .reloadIgnoringCacheData)

    #expect(reloaded.text == "two")
    #expect(fixture.sent[1].fields[.cacheControl] == "no-cache")
    #expect(try await fixture.get().text == "two")
  }

  @Test func aConditionOfTheCallerIsAnsweredFromTheCache() async throws {
    let fixture = CacheFixture(.cacheable("one", "max-age=60", [.eTag: "\"a\""]))

    _ = try await fixture.get()
    let answer = try await fixture.get("/", [.ifNoneMatch: "\"a\""])

    #expect(answer.status == .notModified)
    #expect(answer.text.isEmpty)
    #expect(answer.source == .cache)
  }

  @Test func withoutACacheEveryRequestIsSent() async throws {
    let transport = ScriptedTransport(.cacheable("one", "max-age=60"), .cacheable("two", "max-age=60"))
    var configuration = SessionConfiguration()
    configuration.cache = nil
    let session = HTTPSession(transport: transport, configuration: configuration)

    _ = try await session.data(for: HTTPRequest(.get, origin))
    let (data, response) = try await session.data(for: HTTPRequest(.get, origin))

    #expect(String(decoding: data, as: UTF8.self) == "two")
    #expect(response.source == .network)
  }

  @Test func sessionsOfOneConfigurationShareItsCache() async throws {
    let transport = ScriptedTransport(.cacheable("one", "max-age=3600"))
    let configuration = SessionConfiguration()

    for expected in [HTTPResponse.Source.network, .cache] {
      let session = HTTPSession(transport: transport, configuration: configuration)
      #expect(try await session.data(for: HTTPRequest(.get, origin)).1.source == expected)
    }
  }
}
