import Martlet
import MartletImages
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

func thumbnail(of article: Article) -> ImageRequest {
  ImageRequest(article.picture, targetSize: PixelSize(width: 96, height: 96), contentMode: .fill)
}

func show(_ list: NewsList, with loader: ImageLoader, ahead: ImagePrefetcher) async {
  ahead.prefetch(list.articles.map(thumbnail))  // all at once; a long list passes only pictures near its visible part
  for article in list.articles {
    do {
      let image = try await loader.image(for: thumbnail(of: article))
      print(article.title, image.bitmap.size)
    } catch {
      print(article.title, "no picture:", error.kind)
    }
  }
}

func signOut(_ user: String, of loader: ImageLoader) async throws {
  try await loader.removePartition(user)  // decoded images, and the user's part of the session's cache
}
