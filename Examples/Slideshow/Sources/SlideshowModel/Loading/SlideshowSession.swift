import Martlet
package import MartletEngine
package import MartletSemantics
import MartletSQLite

// The one place that knows which transport the slideshow speaks through.
extension HTTPSession {
  /// The session of the slideshow: patient for 15 seconds, a minute for a whole picture, plain http on this computer only.
  /// What was shown once is shown again when the service cannot be reached.
  package static func slideshow(
    allowsInsecure: Bool = false, transport: any Transport = CurlTransport(), cache: HTTPCache = HTTPCache()
  ) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.options.responseTimeout = .seconds(15)
    configuration.options.idleTimeout = .seconds(15)
    configuration.options.deadline = .seconds(60)
    configuration.options.collectLimit = 64 << 20
    configuration.options.cachePolicy = .returnCacheDataIfOffline
    configuration.cache = cache
    if !allowsInsecure { configuration.interceptors = [PlainHTTP.Guard()] }
    return HTTPSession(transport: transport, configuration: configuration)
  }
}

extension HTTPCache {
  /// Where the cache is by default: `$XDG_CACHE_HOME` or `~/.cache`, and there `martlet-slideshow/cache.sqlite`.
  package static func defaultFile(environment: [String: String]) -> URL {
    UserFolder.cache.url(environment: environment).appending(path: "martlet-slideshow/cache.sqlite")
  }

  /// The cache in a file, which outlives the program; one in memory, and a warning, where there can be none.
  package static func slideshow(in file: URL) -> (HTTPCache, warning: String?) {
    do throws(HTTPError) {
      return (HTTPCache(store: try SQLiteCacheStore(at: file)), nil)
    } catch {
      return (HTTPCache(), "pictures are kept for this run only: \(error.message)")
    }
  }
}
