#if os(Linux)
import Glibc
import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Testing

@_spi(Toolkit) @testable import MartletSockets

/// Addresses: their text, ranges of them, and their form in the system.
struct SocketAddressTests {
  @Test func aZoneIsAnIndexOrTheNameOfAnInterface() {
    #expect(IPAddress("fe80::1%1")?.description == "fe80::1%1")
    #expect(IPAddress("fe80::1%lo")?.description == "fe80::1%1")
    for text in ["::1%", "::1%0", "::1%none0", "::1%4294967296", "::1%lo\0", "1.2.3.4%1"] {
      #expect(IPAddress(text) == nil, "\(text)")
    }
  }

  @Test(arguments: ["192.0.2.1", "2001:db8::7", "fe80::1%3", "::ffff:1.2.3.4"])
  func theSystemsStructureHasTheSameAddress(_ text: String) throws {
    let address = SocketAddress(try #require(IPAddress(text)), port: 8443)
    let copy = address.withSockaddr { pointer, length in
      let family = UnsafeRawPointer(pointer).load(as: UInt16.self)  // `sa_family_t`, the first member
      #expect(Int32(family) == address.family)
      return SocketAddress(pointer, length: length)
    }
    #expect(copy == address)
    #expect(copy?.port == 8443)
    #expect(address.withSockaddr { SocketAddress($0, length: $1 - 1) } == nil)
    #expect(address.withSockaddr { pointer, _ in SocketAddress(pointer, length: 0) } == nil)
  }

  @Test func aUnixSocketHasAPathOfAtMost107Bytes() throws {
    let address = try SocketAddress(unixPath: "/run/\(String(repeating: "a", count: 102))")
    #expect(address.withSockaddr { SocketAddress($0, length: $1) } == address)
    #expect(address.path?.utf8.count == 107)
    #expect(address.ip == nil)
    for path in ["", "/a\0b", String(repeating: "a", count: 108)] {
      let error = #expect(throws: HTTPError.self) { try SocketAddress(unixPath: path) }
      #expect(error?.kind == .invalidRequest)
    }
  }

  @Test func theSystemAcceptsTheStructure() throws {
    let listener = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
    guard listener >= 0 else { return }  // a machine without IPv6
    defer { close(listener) }
    let address = SocketAddress(.loopback6, port: 0)
    guard address.withSockaddr({ bind(listener, $0, $1) }) == 0 else { return }
    var storage = sockaddr_storage(), length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let bound = withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        getsockname(listener, $0, &length) == 0 ? SocketAddress($0, length: length) : nil
      }
    }
    #expect(bound?.ip == .loopback6)
    #expect(bound?.port != 0)
    #expect(bound.map { "\($0)".hasPrefix("[::1]:") } == true)
  }
}
#endif
