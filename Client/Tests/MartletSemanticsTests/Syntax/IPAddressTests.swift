@_spi(Toolkit) import MartletSemantics
import Testing

/// The text of addresses, and ranges of them.
struct IPAddressTests {
  @Test func literalsAreParsedAndWrittenInTheirShortestForm() throws {
    let table = [
      ("192.0.2.1", "192.0.2.1"), ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"), ("::", "::"),
      ("::1", "::1"), ("1::", "1::"), ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"), ("2001:db8::0:0:1", "2001:db8::1"),
      ("::ffff:192.0.2.1", "::ffff:192.0.2.1"), ("::ffff:c000:201", "::ffff:192.0.2.1"),
      ("64:ff9b::192.0.2.1", "64:ff9b::c000:201"), ("1:2:3:4:5:6:192.0.2.1", "1:2:3:4:5:6:c000:201"),
      ("fe80::1%1", "fe80::1%1"), ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"), ("1:0:3:4:5:6:7:8", "1:0:3:4:5:6:7:8"),
      ("1:0:0:4:0:0:7:8", "1::4:0:0:7:8"), ("1:0:0:4:0:0:0:8", "1:0:0:4::8"), ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
      ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
    ]
    for (text, expected) in table { #expect(IPAddress(literal: text)?.description == expected, "\(text)") }
    #expect(IPAddress(literal: "2001:db8::1") == IPAddress(literal: "2001:DB8:0::1"))
    #expect(IPAddress(literal: "::ffff:127.0.0.1")?.unmapped == .loopback4)
    #expect(IPAddress(literal: "::1")?.unmapped == .loopback6)
  }

  @Test(arguments: [
    "", " ", "127.1", "127.0.0.01", "0x7f.0.0.1", "2130706433", "1.2.3.4.5", "1.2.3.256", "1.2.3.4 ", "1.2.3.4%1",
    "1.2..4", "[::1]", ":", ":::", "1::2::3", ":1::2", "1::2:", "12345::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9",
    "1:2:3:4::5:6:7:8", "::1.2.3", "::1.2.3.4:5", "1.2.3.4::", "::+1", "::-1", "::-0", "::1%", "::1%0", "::1%lo",
    "::1%4294967296", "::1\0", "127.0.0.1\0.example.com", "example.com", "::g", "1.2.3.4/8",
  ])
  func otherTextIsNoAddress(_ text: String) { #expect(IPAddress(literal: text) == nil) }

  @Test func aLongTextIsNoAddress() { #expect(IPAddress(literal: String(repeating: "0", count: 100_000)) == nil) }

  @Test func otherNotationsOfIPv4AreReadAsResolversReadThem() {
    let table = [
      ("127.1", "127.0.0.1"), ("127.0.1", "127.0.0.1"), ("0177.0.0.1", "127.0.0.1"), ("0x7f.1", "127.0.0.1"),
      ("0X7F.0.0.0x1", "127.0.0.1"), ("2130706433", "127.0.0.1"), ("017700000001", "127.0.0.1"),
      ("0x7f000001", "127.0.0.1"), ("0", "0.0.0.0"), ("0x", "0.0.0.0"), ("169.254.43518", "169.254.169.254"),
      ("10.1.2.3.", "10.1.2.3"),
    ]
    for (text, expected) in table { #expect(IPAddress(loose: text)?.description == expected, "\(text)") }
    for text in ["", ".", "a", "1.2.3.4.5", "1..2", "256.1", "08", "1.16777216", "4294967296", "1.2.3.4.."] {
      #expect(IPAddress(loose: text) == nil, "\(text)")
    }
  }

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
      for address in inside {
        #expect(prefix.contains(try #require(IPAddress(literal: address))), "\(text) \(address)")
      }
      for address in outside {
        #expect(!prefix.contains(try #require(IPAddress(literal: address))), "\(text) \(address)")
      }
    }
  }

  @Test(arguments: [
    "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8", "10/8", "/8", "a/8", "fe80::1%1/64",
  ])
  func otherTextIsNoPrefix(_ text: String) { #expect(AddressPrefix(text) == nil) }
}
