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
}
