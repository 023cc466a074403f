#if os(Linux)
import MartletEngine
import MartletSockets

extension HTTPSession {
  /// Returns a session over sockets without a cache: files that nginx serves become cacheable as they grow older.
  static func uncached(_ transport: SocketTransport = SocketTransport()) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.cache = nil
    return HTTPSession(transport: transport, configuration: configuration)
  }
}
#endif
