import Martlet
import MartletSQLite

func makeSession(in folder: URL, for user: String) throws -> HTTPSession {
  var configuration = SessionConfiguration()
  configuration.cache = HTTPCache(store: try SQLiteCacheStore(at: folder.appending(path: "cache.sqlite")))
  configuration.options.cachePolicy = .returnCacheDataIfOffline
  configuration.options.partition = user
  return HTTPSession(configuration: configuration)
}

struct Article: Codable, Sendable {
  var title: String
  var picture: URL
}

struct NewsList: Sendable {
  var articles: [Article]
  var isOffline: Bool
}

func loadNews(from api: URL, in session: HTTPSession) async throws(HTTPError) -> NewsList {
  let request = HTTPRequest(.get, api.appending(path: "articles"))
  let (articles, response) = try await session.value(of: [Article].self, for: request)
  return NewsList(articles: articles, isOffline: response.source == .offline)
}
