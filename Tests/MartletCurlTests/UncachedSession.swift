import MartletCurl
import MartletEngine

extension HTTPSession {
  /// Returns a session without a cache: files that nginx serves become cacheable as they grow older.
  static func uncached(_ transport: CurlTransport = CurlTransport()) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.cache = nil
    return HTTPSession(transport: transport, configuration: configuration)
  }
}
