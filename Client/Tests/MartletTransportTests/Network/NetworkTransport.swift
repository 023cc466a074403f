import Glibc
import MartletEngine
import MartletSockets

extension HTTPSession {
  /// Makes a session without a cache, over sockets. Files that nginx serves become cacheable as they grow older.
  static func uncached(_ connection: ConnectionConfiguration = .init()) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.cache = nil
    return HTTPSession(transport: SocketTransport(connection), configuration: configuration)
  }
}

/// Returns the descriptors of this process whose sockets are connected to a port over IPv4.
func openConnections(to port: Int) -> [Int32] {
  (0..<10_000).filter { descriptor in
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
    }
    return result == 0 && address.sin_family == sa_family_t(AF_INET)
      && Int(UInt16(bigEndian: address.sin_port)) == port
  }
}
