import Martlet
import MartletSQLite

func makeSession(in folder: URL, for user: String) throws -> HTTPSession {
  var configuration = SessionConfiguration()
  configuration.cache = HTTPCache(store: try SQLiteCacheStore(at: folder.appending(path: "cache.sqlite")))
  configuration.options.cachePolicy = .returnCacheDataIfOffline
  configuration.options.partition = user
  return HTTPSession(configuration: configuration)
}
