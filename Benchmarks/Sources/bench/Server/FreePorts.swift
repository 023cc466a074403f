import Glibc
import MeasuredClient

/// Ports on loopback, obtained from the kernel.
enum FreePorts {
  /// This number of unused ports.
  static func take(_ count: Int) throws -> [UInt16] {
    let sockets = (0..<count).map { _ in socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
    defer { for descriptor in sockets { close(descriptor) } }
    return try sockets.map { descriptor in
      var address = loopback(port: 0)
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let isBound = withSocketAddress(&address) { pointer in
        bind(descriptor, pointer, length) == 0 && getsockname(descriptor, pointer, &length) == 0
      }
      guard isBound else { throw BenchError("the system has no free port on loopback") }
      return UInt16(bigEndian: address.sin_port)
    }
  }

  static func isAnswering(_ port: UInt16) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = loopback(port: port)
    return withSocketAddress(&address) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 }
  }

  private static func loopback(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    return address
  }

  private static func withSocketAddress<Result>(
    _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> Result
  ) -> Result {
    withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
    }
  }
}
