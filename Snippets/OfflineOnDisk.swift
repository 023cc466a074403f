// Cookies and responses on disk: the next run of a program shows what the last one loaded, without a network.

import Martlet
import MartletSQLite
import MartletTesting

func makeSession(in folder: URL) throws -> HTTPSession {
  var configuration = SessionConfiguration()
  configuration.cookies = CookieJar(store: try SQLiteCookieStore(at: folder.appending(path: "cookies.sqlite")))
  configuration.cache = HTTPCache(store: try SQLiteCacheStore(at: folder.appending(path: "cache.sqlite")))
  configuration.options.cachePolicy = .returnCacheDataIfOffline
  configuration.options.partition = "anna"  // responses and cookies of other users are not found
  return HTTPSession(configuration: configuration)
}

let server = try LoopbackServer { _ in .text("news").with(.cacheControl, "max-age=0") }
let news = HTTPRequest(.get, server.url("/news"))
let folder = try TemporaryFolder()

let first = try makeSession(in: folder.url)
print(try await first.data(for: news).1.source)

server.stop()
let second = try makeSession(in: folder.url)
let (data, response) = try await second.data(for: news)
print(String(decoding: data, as: UTF8.self), response.source)

var required = news
required.options.cachePolicy = .useProtocolCachePolicy
do { _ = try await second.data(for: required) } catch { print(error.kind) }

var unknown = HTTPRequest(.get, server.url("/weather"))
unknown.options.cachePolicy = .returnCacheDataDontLoad
do { _ = try await second.data(for: unknown) } catch { print(error.kind) }

// Prints:
// network
// news offline
// cannotConnect
// notCached
