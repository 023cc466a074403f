import Martlet
import MartletTesting
import Testing

struct Article: Codable, Hashable, Sendable {
  var id: Int
  var title: String
}

struct NewsService: Sendable {
  let api: URL
  let session: HTTPSession

  func articles() async throws(HTTPError) -> [Article] {
    let request = HTTPRequest(.get, api.appending(path: "articles"))
    return try await session.value(of: [Article].self, for: request).0
  }
}

@Suite(.timeLimit(.minutes(5)))
struct NewsTests {
  let api: URL

  init() throws {
    api = try #require(URL(string: "https://news.example"))
  }

  @Test func readsArticles() async throws {
    let mock = MockTransport { request in
      request.url.path == "/articles" ? .json(#"[{"id": 1, "title": "Summer"}]"#) : .status(.notFound)
    }
    let news = NewsService(api: api, session: HTTPSession(transport: mock))

    #expect(try await news.articles() == [Article(id: 1, title: "Summer")])
  }

  @Test func namesTheMemberThatCannotBeDecoded() async throws {
    let mock = MockTransport { _ in .json(#"[{"id": "one", "title": "Summer"}]"#) }
    let news = NewsService(api: api, session: HTTPSession(transport: mock))

    let error = try await #require(throws: HTTPError.self) { try await news.articles() }

    #expect(error.kind == .unexpectedResponse)
    #expect(error.message.contains("id"))
  }

  @Test func waitsAsLongAsTheServerAsks() async throws {
    let script = ScriptedTransport(
      .status(.serviceUnavailable, fields: [.retryAfter: "30"]),
      .json(#"[{"id": 1, "title": "Summer"}]"#))
    let clock = ManualClock()
    var configuration = SessionConfiguration()
    configuration.options.retryPolicy = .standard
    configuration.clock = clock
    let news = NewsService(api: api, session: HTTPSession(transport: script, configuration: configuration))

    let articles = Task { try await news.articles() }
    try await clock.sleepers(1)
    #expect(script.remaining == 1)
    clock.advance(by: .seconds(30))

    #expect(try await articles.value.count == 1)
  }

  @Test func failsWhenTheAnswerIsCutOff() async throws {
    let server = try LoopbackServer { _ in .json(#"[{"id": 1, "title": "Summer"}]"#).truncated(after: 10) }
    let news = NewsService(api: server.url, session: HTTPSession())

    let error = try await #require(throws: HTTPError.self) { try await news.articles() }

    #expect(error.kind == .connectionLost)
    #expect(server.requests.map(\.path) == ["/articles"])
  }
}
