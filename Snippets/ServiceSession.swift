// A session for a service with CSRF tokens, kept on disk, retried where that is safe, and watched.

import Martlet
import MartletSQLite

func makeSession(for service: URL, in folder: URL, log: HARRecorder) throws(HTTPError) -> HTTPSession {
  var configuration = SessionConfiguration()
  // what is added to requests, and what decides that they go again
  configuration.interceptors = [
    CorrelationInterceptor(),
    LanguageInterceptor(),
    CSRFInterceptor(root: service),
  ]
  configuration.retry = .standard
  // what is kept
  configuration.cookies = CookieJar(store: try SQLiteCookieStore(at: folder.appending(path: "cookies.sqlite")))
  configuration.cache = HTTPCache(store: try SQLiteCacheStore(at: folder.appending(path: "cache.sqlite")))
  configuration.options.cachePolicy = .returnCacheDataIfOffline
  // who watches
  configuration.listeners = [LogListener(), log]
  return HTTPSession(configuration: configuration)
}

func report(_ request: HTTPRequest, _ log: HARRecorder) throws {
  print(request.curlCommand())  // for a shell; secrets are left out
  try log.write(to: URL(filePath: "session.har"))  // for the browser's developer tools
}
