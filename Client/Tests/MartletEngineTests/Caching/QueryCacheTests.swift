import MartletEngine
import MartletSemantics
import MartletSockets
@_spi(Toolkit) import MartletTesting
import Synchronization
import TestSupport
import Testing

/// Responses to QUERY in the cache (RFC 10008 §2.7).
@Suite(.timeLimit(.minutes(5)))
struct QueryCacheTests {
  private func query(_ text: String, _ type: String = "text/query", path: String = "/feed") -> HTTPRequest {
    HTTPRequest(.query, url("http://a.example" + path), fields: [.contentType: type], body: .data(Data(text.utf8)))
  }

  /// A fixture whose origin answers with what it received.
  private func fixture(_ control: String = "max-age=60", _ fields: HTTPFields = [:]) -> CacheFixture {
    CacheFixture { request in
      let body = String(decoding: try await request.readBody(), as: UTF8.self)
      return .cacheable("\(request.method) \(body)", control, fields)
    }
  }

  @Test func anEqualQueryIsAnsweredFromTheCache() async throws {
    let fixture = fixture()

    let first = try await fixture.send(query("a"))
    let second = try await fixture.send(query("a"))

    #expect(first.source == .network && second.source == .cache)
    #expect(second.text == "QUERY a")
    #expect(fixture.sent.count == 1)
  }

  @Test func anotherContentTypeCodingOrTargetIsAnotherQuery() async throws {
    let fixture = fixture()
    var coded = query("a")
    coded.fields[.contentEncoding] = "x-own"
    var language = query("a")
    language.fields[.contentLanguage] = "de"
    let requests = [
      query("a"), query("b"), query("a", "text/other"), coded, language, query("a", path: "/feed?x"),
      HTTPRequest(.get, url("http://a.example/feed")),
    ]

    for request in requests + requests { _ = try await fixture.send(request) }

    #expect(fixture.sent.count == requests.count)
    #expect(fixture.cache.statistics.hits == requests.count)
  }

  /// Such a store would keep the results of a target that has changed.
  @Test func aStoreThatDoesNotRemoveQueriesWithTheirTargetGetsNone() async throws {
    let store = BrokenStore(.read)
    let fixture = CacheFixture(store: store, .cacheable("one", "max-age=60"), .cacheable("two", "max-age=60"))
    #expect(!store.storesQueries)

    for text in ["one", "two"] { #expect(try await fixture.send(query("a")).text == text) }

    #expect(try await store.usage().entries == 0)
  }

  @Test func aStaleResultIsValidatedWithTheSameContent() async throws {
    let fixture = CacheFixture(
      .cacheable("one", "max-age=5", [.eTag: "\"a\""]), .notModified([.eTag: "\"a\"", .cacheControl: "max-age=60"]))

    _ = try await fixture.send(query("a"))
    fixture.wall.advance(10)
    let second = try await fixture.send(query("a"))
    let third = try await fixture.send(query("a"))

    #expect(second.source == .revalidated && third.source == .cache)
    #expect(third.text == "one")
    #expect(fixture.sent[1].method == .query && fixture.sent[1].fields[.ifNoneMatch] == "\"a\"")
    #expect(fixture.sent[1].body.bytes == Data("a".utf8))
  }

  @Test func anUnsafeRequestRemovesTheResultsOfItsTarget() async throws {
    let fixture = fixture()
    for text in ["a", "b"] { _ = try await fixture.send(query(text)) }
    _ = try await fixture.send(query("a", path: "/other"))

    _ = try await fixture.send(HTTPRequest(.post, url("http://a.example/feed"), body: .data(Data("new".utf8))))

    for text in ["a", "b"] { #expect(try await fixture.send(query(text)).source == .network) }
    #expect(try await fixture.send(query("a", path: "/other")).source == .cache)
    try await fixture.cache.remove(url("http://a.example/other"))
    #expect(try await fixture.send(query("a", path: "/other")).source == .network)
  }

  /// §2.3: a GET of `Content-Location` retrieves the result, but RFC 9111 lets no cache answer it with this response.
  @Test func aContentLocationIsNoKey() async throws {
    let fixture = fixture("max-age=60", [.contentLocation: "/results/17"])
    _ = try await fixture.get("/results/17")
    _ = try await fixture.send(query("a"))

    #expect(try await fixture.get("/results/17").source == .cache)
    #expect(try await fixture.get("/results/17").text == "GET ")
    #expect(try await fixture.get("/feed").source == .network)
  }

  @Test func aStreamThatCanBeReadAgainIsReadOnceAndSentAsItWasRead() async throws {
    let fixture = fixture()
    let opened = Mutex(0)
    func streamed() -> HTTPRequest {
      var request = query("")
      request.body = .stream {
        let number = opened.withLock { count in
          count += 1
          return count
        }
        return AsyncStream<Data> { stream in
          stream.yield(Data("part ".utf8))
          stream.yield(Data(number < 3 ? "one".utf8 : "two".utf8))
          stream.finish()
        }
      }
      return request
    }

    let answers = [
      try await fixture.send(streamed()), try await fixture.send(streamed()), try await fixture.send(streamed()),
    ]

    #expect(answers.map(\.text) == ["QUERY part one", "QUERY part one", "QUERY part two"])
    #expect(answers.map(\.source) == [.network, .cache, .network])
    #expect(opened.withLock { $0 } == 3)
  }

  @Test func contentThatCannotBePartOfAKeyIsSentWithoutTheCache() async throws {
    let long = Data(repeating: 7, count: (1 << 20) + 1)
    let bodies: [(RequestBody, String)] = [
      (.singleUse(AsyncStream { $0.finish() }), "its body can be read only once"),
      (.data(long), "its body has more than 1048576 bytes"),
      (
        .stream {
          AsyncStream {
            $0.yield(long); $0.finish()
          }
        }, "its body has more than 1048576 bytes"
      ),
    ]
    for (body, reason) in bodies {
      let reasons = Mutex<[String]>([])
      let fixture = fixture()
      var request = query("")
      request.body = body
      request.options.listeners.append(
        EventHandler(.cacheDecision) { event, _ in
          if case .cacheDecision(let decision) = event { reasons.withLock { $0.append(decision.reason) } }
        })

      #expect(try await fixture.send(request).source == .network)

      #expect(reasons.withLock { $0.count } == 1)
      #expect(reasons.withLock { $0.first }?.hasPrefix(reason) == true)
      #expect(try await fixture.cache.usage().entries == 0)
    }
  }

  @Test func aFileThatIsMissingFailsAsItDoesWithoutACache() async throws {
    let fixture = fixture()
    var request = query("")
    request.body = .file(URL(fileURLWithPath: "/nonexistent/query"))

    let error = await #expect(throws: HTTPError.self) { try await fixture.send(request) }
    #expect(error?.kind == .file)
  }

  @Test func equalQueriesAtTheSameTimeAreSentOnce() async throws {
    let gate = Gate()
    let fixture = CacheFixture { request in
      try await gate.wait()
      return .cacheable(String(decoding: try await request.readBody(), as: UTF8.self), "max-age=60")
    }

    let texts = try await withThrowingTaskGroup(of: String.self) { group in
      for text in ["a", "a", "a", "b"] { group.addTask { try await fixture.send(query(text)).text } }
      await fixture.collapsed(2)
      gate.open()
      return try await group.reduce(into: [String]()) { $0.append($1) }
    }

    #expect(texts.sorted() == ["a", "a", "a", "b"])
    #expect(fixture.sent.count == 2)
  }

  @Test func offlineAResultIsUsedAndAnUnknownQueryIsAnError() async throws {
    let fixture = fixture()
    _ = try await fixture.send(query("a"))
    var known = query("a")
    known.options.cachePolicy = .returnCacheDataDontLoad
    var unknown = query("b")
    unknown.options.cachePolicy = .returnCacheDataDontLoad

    #expect(try await fixture.send(known).source == .cache)
    let error = await #expect(throws: HTTPError.self) { try await fixture.send(unknown) }
    #expect(error?.kind == .notCached)
  }

  /// RFC 10008 §2.5 and §2.7 over real sockets.
  @Test func aQueryIsRedirectedAndItsResultUsedAgain() async throws {
    let server = try LoopbackServer { request in
      switch request.path {
      case "/moved": .redirect(to: "/feed", status: .permanentRedirect)
      case "/see": .redirect(to: "/result", status: .seeOther)
      default:
        .text("\(request.method) \(String(decoding: request.body, as: UTF8.self))").with(.cacheControl, "max-age=60")
      }
    }
    var configuration = SessionConfiguration()
    configuration.cache = HTTPCache()
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)
    func ask(_ path: String, _ text: String) async throws -> (String, HTTPResponse.Source) {
      let request = HTTPRequest(
        .query, server.url(path), fields: [.contentType: "text/query"], body: .data(Data(text.utf8)))
      let (data, response) = try await session.data(for: request)
      return (String(decoding: data, as: UTF8.self), response.source)
    }

    #expect(try await ask("/feed", "a") == ("QUERY a", .network))
    #expect(try await ask("/feed", "a") == ("QUERY a", .cache))
    #expect(try await ask("/moved", "a") == ("QUERY a", .cache))
    #expect(try await ask("/moved", "b") == ("QUERY b", .network))
    #expect(try await ask("/see", "a") == ("GET ", .network))
    #expect(
      server.requests.map { "\($0.method) \($0.path)" } == [
        "QUERY /feed", "QUERY /moved", "QUERY /moved", "QUERY /feed", "QUERY /see", "GET /result",
      ])
  }
}
