import MartletCurl
import MartletEngine

extension HTTPSession {
  /// A session whose every request meets the wire: files that nginx serves become cacheable as they grow older.
  static func uncached(_ transport: CurlTransport = CurlTransport()) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.cache = nil
    return HTTPSession(transport: transport, configuration: configuration)
  }
}
