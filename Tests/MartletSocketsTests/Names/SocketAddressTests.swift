#if os(Linux)
import Glibc
import MartletEngine
import MartletSemantics
import Testing

@testable import MartletSockets

/// Addresses: their text, ranges of them, and how the system has them.
struct SocketAddressTests {
  @Test func literalsAreParsedAndWrittenInTheirShortestForm() throws {
    let table = [
      ("192.0.2.1", "192.0.2.1"), ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"), ("::", "::"),
      ("::1", "::1"), ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"), ("2001:db8::0:0:1", "2001:db8::1"),
      ("::ffff:192.0.2.1", "::ffff:192.0.2.1"), ("fe80::1%1", "fe80::1%1"), ("fe80::1%lo", "fe80::1%1"),
    ]
    for (text, expected) in table { #expect(IPAddress(text)?.description == expected, "\(text)") }
    #expect(IPAddress("2001:db8::1") == IPAddress("2001:DB8:0::1"))
    #expect(IPAddress("::ffff:127.0.0.1")?.unmapped == .loopback4)
    #expect(IPAddress("::1")?.unmapped == .loopback6)
  }

  @Test(arguments: [
    "", " ", "127.1", "127.0.0.01", "0x7f.0.0.1", "2130706433", "1.2.3.4.5", "1.2.3.256", "1.2.3.4 ", "1.2.3.4%1",
    "[::1]", ":::", "1::2::3", "12345::", "::1%", "::1%0", "::1%none0", "::1%4294967296", "::1%lo\0", "::1\0",
    "127.0.0.1\0.example.com", "example.com", "::g", "1.2.3.4/8", String(repeating: "0", count: 100_000),
  ])
  func otherTextIsNoAddress(_ text: String) { #expect(IPAddress(text) == nil) }

  @Test func aPrefixContainsTheAddressesThatBeginWithIt() throws {
    let table: [(String, inside: [String], outside: [String])] = [
      ("10.0.0.0/8", ["10.0.0.0", "10.255.255.255"], ["9.255.255.255", "11.0.0.0", "::ffff:10.0.0.1", "::a00:1"]),
      ("192.168.7.9/16", ["192.168.0.0"], ["192.169.0.0"]), ("192.0.2.1", ["192.0.2.1"], ["192.0.2.0"]),
      ("192.0.2.0/31", ["192.0.2.0", "192.0.2.1"], ["192.0.2.2"]), ("0.0.0.0/0", ["1.2.3.4"], ["::1"]),
      ("::/0", ["::1", "2001:db8::"], ["0.0.0.0"]), ("2001:db8::/33", ["2001:db8:7fff::"], ["2001:db8:8000::"]),
      ("fe80::/10", ["fe80::1%1", "febf::"], ["fec0::"]), ("::1", ["::1"], ["::2", "::"]),
    ]
    for (text, inside, outside) in table {
      let prefix = try #require(AddressPrefix(text))
      for address in inside { #expect(prefix.contains(try #require(IPAddress(address))), "\(text) \(address)") }
      for address in outside { #expect(!prefix.contains(try #require(IPAddress(address))), "\(text) \(address)") }
    }
  }

  @Test(arguments: [
    "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8", "10/8", "/8", "a/8", "fe80::1%1/64",
  ])
  func otherTextIsNoPrefix(_ text: String) { #expect(AddressPrefix(text) == nil) }

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

  // MARK: Policy

  @Test func onlyPublicAddressesArePublic() throws {
    let isPublic = ["1.1.1.1", "172.15.0.1", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
    let isSpecial = [
      "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.8.8.8", "169.254.169.254", "172.16.0.1", "172.31.255.255",
      "192.168.1.1", "224.0.0.1", "255.255.255.255", "::", "::1", "::7f00:1", "fe80::1", "fe80::1%1", "fd00::1",
      "ff02::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::",
    ]
    for text in isPublic { #expect(try #require(IPAddress(text)).isPublic, "\(text)") }
    for text in isSpecial { #expect(try !#require(IPAddress(text)).isPublic, "\(text)") }
  }

  @Test func thePolicyKeepsTheAddressesThatItAllows() throws {
    let good = SocketAddress(IPAddress(.v4, 0x0101_0101), port: 80), bad = SocketAddress(.loopback6, port: 80)
    #expect(try AddressPolicy.publicAddresses.admitted([bad, good], of: "a.example") == [good])
    #expect(try AddressPolicy.any.admitted([bad, good], of: "a.example") == [bad, good])
    let error = #expect(throws: HTTPError.self) {
      try AddressPolicy.publicAddresses.admitted([bad, try SocketAddress(unixPath: "/run/a")], of: "a.example")
    }
    #expect(error?.kind == .cannotConnect)
    #expect(error?.message.contains("a.example") == true)
    #expect(error?.message.contains("[::1]:80: not a public address; /run/a:") == true)
  }
}
#endif
