#if os(Linux)
import CSockets
@_spi(Toolkit) public import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension IPAddress {
  /// Parses a literal whose zone may be the name of an interface (`fe80::1%eth0`).
  ///
  /// - Parameter text: the literal, without brackets. nil is returned for any other text, and if no interface has the
  ///   zone's name.
  @_spi(Toolkit) public init?(_ text: some StringProtocol) {
    self.init(literal: text) { name in
      if let index = Self.zoneIndex(name) { return index }
      guard !name.isEmpty, !name.utf8.contains(0), !name.utf8.allSatisfy(ASCII.isDigit) else { return nil }
      let index = if_nametoindex(name)
      return index == 0 ? nil : index
    }
  }

  /// Whether an interface of the machine that is up has an address in a network: neither one of the loopback interface
  /// nor one of the link alone.
  static var machineHasOne: Bool {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&list) == 0 else { return true }  // It is not known.
    defer { freeifaddrs(list) }
    var next = list
    while let entry = next?.pointee {
      next = entry.ifa_next
      let isUp = entry.ifa_flags & UInt32(IFF_UP) != 0
      guard isUp, entry.ifa_flags & UInt32(IFF_LOOPBACK) == 0, let address = entry.ifa_addr else { continue }
      let length = socklen_t(MemoryLayout<sockaddr_in6>.size)
      if let ip = SocketAddress(address, length: length)?.ip, ip.kind != .linkLocal { return true }
    }
    return false
  }
}
#endif
