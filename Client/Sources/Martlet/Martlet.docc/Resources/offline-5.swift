// A list that is shown offline, with pictures: responses are on disk, bitmaps in memory.

import Martlet
import MartletImages
import MartletSQLite
import MartletTesting

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

let photo = try ImageEncoder.encode(
  Bitmap(size: PixelSize(width: 300, height: 200), pixels: Array(repeating: 200, count: 240_000)), as: .png)
let server = try LoopbackServer { request in
  request.path == "/articles"
    ? .json(#"[{"title": "Summer", "picture": "\#(request.fields[.host].map { "http://\($0)/1.png" } ?? "")"}]"#)
    : .data(photo, type: "image/png").with(.cacheControl, "max-age=86400")
}
let folder = try TemporaryFolder()

let first = try makeSession(in: folder.url, for: "anna")
let list = try await loadNews(from: server.url, in: first)
let firstLoader = ImageLoader(session: first)
await show(list, with: firstLoader, ahead: ImagePrefetcher(loader: firstLoader))

server.stop()  // the next run of the program, without a network
let second = try makeSession(in: folder.url, for: "anna")
let loader = ImageLoader(session: second)
let stored = try await loadNews(from: server.url, in: second)
print("offline:", stored.isOffline)
await show(stored, with: loader, ahead: ImagePrefetcher(loader: loader))

try await signOut("anna", of: loader)
do { _ = try await loadNews(from: server.url, in: second) } catch { print(error.kind) }

// Prints:
// Summer 144×96
// offline: true
// Summer 144×96
// cannotConnect
