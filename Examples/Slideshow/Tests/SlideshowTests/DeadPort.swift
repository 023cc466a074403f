#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The port of a server that has stopped: connections to it are refused. As long as this is kept nobody else gets the port;
/// otherwise the server of a test that runs at the same time might.
final class DeadPort: Sendable {
  private let descriptor: Int32

  struct Taken: Error {
    let port: Int
  }

  init(_ port: Int) throws {
    #if canImport(Glibc)
    let stream = Int32(SOCK_STREAM.rawValue)
    #else
    let stream = SOCK_STREAM
    #endif
    descriptor = socket(AF_INET, stream, 0)
    // Connections of the server may still linger on the port; afterwards it is not to be shared.
    share(true)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw Taken(port: port) }
    share(false)
  }

  deinit { close(descriptor) }

  private func share(_ isShared: Bool) {
    var value: Int32 = isShared ? 1 : 0
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &value, socklen_t(MemoryLayout<Int32>.size))
  }
}
