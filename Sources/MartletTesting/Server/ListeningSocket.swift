#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The socket that a server listens on, and the port, which stays the server's own also when it has stopped: otherwise another
/// server of the same test run might get it, and answer where nobody should.
struct ListeningSocket {
  let descriptor: Int32
  let port: Int
  private let reservation: Reservation

  /// Keeps a port by being bound to it, without listening: connections are refused.
  private final class Reservation: Sendable {
    let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { SystemCalls.closeDescriptor(descriptor) }
  }

  /// Listens on 127.0.0.1, at a port of the system's choice if 0 is asked for.
  init(port wanted: Int) throws(LoopbackServerError) {
    guard let number = UInt16(exactly: wanted) else {
      throw LoopbackServerError("\(wanted) is no port: use 0 to 65535")
    }
    let (held, port) = try Self.bound(to: number)
    reservation = Reservation(held)
    self.port = Int(port)
    descriptor = try Self.bound(to: port).descriptor
    guard listen(descriptor, 1024) == 0 else {
      let error = Self.failure("listen", wanted)
      SystemCalls.closeDescriptor(descriptor)
      throw error
    }
  }

  private static func bound(to port: UInt16) throws(LoopbackServerError) -> (descriptor: Int32, port: UInt16) {
    let descriptor = SystemCalls.makeSocket()
    guard descriptor >= 0 else { throw failure("open a socket", Int(port)) }
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
      }
    }
    guard isBound else {
      let error = failure("listen", Int(port))
      SystemCalls.closeDescriptor(descriptor)
      throw error
    }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  private static func failure(_ what: String, _ port: Int) -> LoopbackServerError {
    let reason = String(cString: strerror(errno))
    return LoopbackServerError("cannot \(what) on 127.0.0.1:\(port): \(reason); port 0 takes any that is free")
  }
}
