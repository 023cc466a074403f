#if os(Linux)
import CSockets
package import MartletEngine
@_spi(Toolkit) package import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The destination of a socket: an address and a port, or the path of a Unix socket.
package struct SocketAddress: Sendable, Hashable {
  private enum Storage: Sendable, Hashable {
    case ip(IPAddress, port: UInt16)
    case unix(path: String)
  }

  private let storage: Storage

  private init(_ storage: Storage) { self.storage = storage }

  /// Makes the address of a TCP port.
  package init(_ address: IPAddress, port: UInt16) { storage = .ip(address, port: port) }

  /// Makes the address of a Unix socket.
  ///
  /// - Throws: ``HTTPError/Kind/invalidRequest`` if the path is empty, contains a NUL, or exceeds the system's limit of
  ///   107 bytes.
  package init(unixPath path: String) throws(HTTPError) {
    let limit = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
    guard !path.isEmpty, path.utf8.count <= limit, !path.utf8.contains(0) else {
      throw HTTPError(
        .invalidRequest,
        "the path of a unix socket has 1 to \(limit) bytes and no NUL; this one has \(path.utf8.count) bytes",
        phase: .preparing)
    }
    storage = .unix(path: path)
  }

  /// Reads an address in the system's form; nil if its family is not supported or it is too short.
  init?(_ address: UnsafePointer<sockaddr>, length: socklen_t) {
    let bytes = UnsafeRawBufferPointer(start: address, count: Int(length))
    guard bytes.count >= MemoryLayout<sa_family_t>.size else { return nil }
    switch Int32(bytes.loadUnaligned(as: sa_family_t.self)) {
    case AF_INET where bytes.count >= MemoryLayout<sockaddr_in>.size:
      let ip = bytes.loadUnaligned(as: sockaddr_in.self)
      let number = UInt128(UInt32(bigEndian: ip.sin_addr.s_addr))
      self.init(IPAddress(.v4, number), port: UInt16(bigEndian: ip.sin_port))
    case AF_INET6 where bytes.count >= MemoryLayout<sockaddr_in6>.size:
      let ip = bytes.loadUnaligned(as: sockaddr_in6.self)
      let number = withUnsafeBytes(of: ip.sin6_addr) { UInt128(bigEndian: $0.loadUnaligned(as: UInt128.self)) }
      self.init(IPAddress(.v6, number, zone: ip.sin6_scope_id), port: UInt16(bigEndian: ip.sin6_port))
    case AF_UNIX:
      let path = bytes.dropFirst(MemoryLayout<sa_family_t>.size).prefix { $0 != 0 }
      self.init(.unix(path: String(decoding: path, as: UTF8.self)))
    default: return nil
    }
  }

  /// The address; nil for a Unix socket.
  package var ip: IPAddress? { if case .ip(let address, _) = storage { address } else { nil } }
  /// The port; 0 for a Unix socket.
  package var port: Int { if case .ip(_, let port) = storage { Int(port) } else { 0 } }
  /// The path; nil unless it is a Unix socket.
  package var path: String? { if case .unix(let path) = storage { path } else { nil } }

  /// The family, as an argument of `socket`.
  package var family: Int32 {
    switch storage {
    case .ip(let address, _): address.family == .v4 ? AF_INET : AF_INET6
    case .unix: AF_UNIX
    }
  }

  /// Calls the closure with the address in the form of `connect` and `bind`. The pointer is valid only during the call.
  func withSockaddr<Result>(
    _ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Result
  ) rethrows -> Result {
    switch storage {
    case .ip(let address, let port) where address.family == .v4:
      var value = sockaddr_in()
      value.sin_family = sa_family_t(AF_INET)
      value.sin_port = port.bigEndian
      value.sin_addr.s_addr = UInt32(truncatingIfNeeded: address.bits).bigEndian
      return try Self.pass(&value, MemoryLayout<sockaddr_in>.size, to: body)
    case .ip(let address, let port):
      var value = sockaddr_in6()
      value.sin6_family = sa_family_t(AF_INET6)
      value.sin6_port = port.bigEndian
      withUnsafeMutableBytes(of: &value.sin6_addr) { $0.storeBytes(of: address.bits.bigEndian, as: UInt128.self) }
      value.sin6_scope_id = address.zone
      return try Self.pass(&value, MemoryLayout<sockaddr_in6>.size, to: body)
    case .unix(let path):
      var value = sockaddr_un()
      value.sun_family = sa_family_t(AF_UNIX)
      // The rest of the structure is 0, which ends the path.
      withUnsafeMutableBytes(of: &value.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
      return try Self.pass(&value, MemoryLayout<sockaddr_un>.size, to: body)
    }
  }

  private static func pass<Value, Result>(
    _ value: inout Value, _ size: Int, to body: (UnsafePointer<sockaddr>, socklen_t) throws -> Result
  ) rethrows -> Result {
    try withUnsafePointer(to: &value) { pointer in
      try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { try body($0, socklen_t(size)) }
    }
  }
}

extension SocketAddress: CustomStringConvertible {
  /// `192.0.2.1:80`, `[2001:db8::1]:80`, or the path of a Unix socket.
  package var description: String {
    switch storage {
    case .ip(let address, let port): address.family == .v4 ? "\(address):\(port)" : "[\(address)]:\(port)"
    case .unix(let path): path
    }
  }
}
#endif
