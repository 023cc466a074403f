#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Opens the socket that a server listens on.
enum ListeningSocket {
  /// Listens on 127.0.0.1 and returns the descriptor and the port that it got.
  static func open(port: Int) throws(LoopbackServerError) -> (descriptor: Int32, port: Int) {
    guard let wanted = UInt16(exactly: port) else { throw LoopbackServerError("\(port) is no port: use 0 to 65535") }
    let descriptor = SystemCalls.makeSocket()
    guard descriptor >= 0 else { throw failure("open a socket", port) }
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = wanted.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, length) == 0 && listen(descriptor, 1024) == 0
          && getsockname(descriptor, address, &length) == 0
      }
    }
    guard isListening else {
      let error = failure("listen", port)
      close(descriptor)
      throw error
    }
    return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
  }

  private static func failure(_ what: String, _ port: Int) -> LoopbackServerError {
    let reason = String(cString: strerror(errno))
    return LoopbackServerError("cannot \(what) on 127.0.0.1:\(port): \(reason); port 0 takes any that is free")
  }
}
