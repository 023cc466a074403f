import Martlet
package import MartletEngine
package import MartletSemantics
import MartletSQLite

extension HTTPSession {
  /// The session of the slideshow: a response timeout of 15 seconds, a minute for a whole picture, plain http on this
  /// computer only. If the service cannot be reached, stored responses are used.
  package static func slideshow(
    allowsInsecure: Bool = false, transport: any Transport = DefaultTransport(), cache: HTTPCache = HTTPCache(),
    listeners: [any EventListener] = []
  ) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.options.responseTimeout = .seconds(15)
    configuration.options.idleTimeout = .seconds(15)
    configuration.options.deadline = .seconds(60)
    configuration.options.collectLimit = 64 << 20
    configuration.options.cachePolicy = .returnCacheDataIfOffline
    configuration.cache = cache
    configuration.listeners = listeners
    if !allowsInsecure { configuration.interceptors = [PlainHTTP.Guard()] }
    return HTTPSession(transport: transport, configuration: configuration)
  }
}

extension HTTPCache {
  /// The default location of the cache: `martlet-slideshow/cache.sqlite` in `$XDG_CACHE_HOME` or `~/.cache`.
  package static func defaultFile(environment: [String: String]) -> URL {
    UserFolder.cache.url(environment: environment).appending(path: "martlet-slideshow/cache.sqlite")
  }

  /// The cache in a file, which the next run of the program finds again; in memory if there can be no file.
  ///
  /// - Parameter warn: receives problems with the file: it could not be made, or it was damaged and set aside. It may
  ///   be called at any time.
  package static func slideshow(in file: URL, warn: @escaping @Sendable (Explanation) -> Void) -> HTTPCache {
    do throws(HTTPError) {
      return HTTPCache(
        store: try SQLiteCacheStore(at: file) { problem in
          let sentence = "The pictures that were kept are damaged: they were set aside, and are fetched again."
          warn(Explanation(sentence, details: "\(problem)"))
        })
    } catch {
      let sentence = "Pictures are kept only until the program ends: choose another file with --cache."
      warn(Explanation(sentence, details: "\(file.path): \(error.message)"))
      return HTTPCache()
    }
  }
}
