@_spi(Toolkit) import MartletSemantics
import Testing

/// Special addresses, and a policy's decision on each.
struct AddressPolicyTests {
  @Test func everySpecialRangeHasItsKind() throws {
    let table: [(AddressPolicy.Kind?, String)] = [
      (.unspecified, "0.0.0.0 0.255.255.255 ::"), (.loopback, "127.0.0.0 127.255.255.255 ::1"),
      (.privateUse, "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255"),
      (.uniqueLocal, "fc00:: fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff fec0::1 feff::1"),
      (.linkLocal, "169.254.0.0 169.254.169.253 169.254.255.255 fe80::1 fe80::1%3 febf::1"),
      (.sharedAddressSpace, "100.64.0.0 100.127.255.255"), (.multicast, "224.0.0.0 239.255.255.255 ff02::1 ffff::"),
      (.broadcast, "255.255.255.255"),
      (.documentation, "192.0.2.1 198.51.100.255 203.0.113.0 2001:db8::1 3fff:fff::1"),
      (.benchmarking, "198.18.0.0 198.19.255.255 2001:2::1"),
      (.reserved, "192.0.0.1 192.88.99.1 240.0.0.0 255.255.255.254 100::1 2001:3::1 2001:1ff::1 5f00::1"),
      (
        .metadata,
        "169.254.169.254 169.254.170.2 169.254.170.23 100.100.100.200 168.63.129.16 192.0.0.192 fd00:ec2::254 "
          + "fd00:ec2::23 fd20:ce::254 fd00:c1::a9fe:a9fe"
      ),
      (
        nil,
        """
        1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255 169.255.0.0 \
        172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255 \
        2606:4700::1111 2001:200::1 2003::1 fbff::1
        """
      ),
    ]
    for (kind, addresses) in table {
      for text in addresses.split(separator: " ") {
        #expect(try #require(IPAddress(literal: text), "\(text)").kind == kind, "\(text)")
      }
    }
  }

  @Test func addressesThatContainAnIPv4AddressAreJudgedByIt() throws {
    let forms: [(String) -> String] = [
      { "::ffff:\($0)" },  // mapped
      { "::\($0)" },  // compatible
      { "::ffff:0:\($0)" },  // translated
      { "64:ff9b::\($0)" },  // NAT64
      { "64:ff9b:1::\($0)" }, { "64:ff9b:1:807:6:5:\($0)" },  // NAT64 of a network, prefix of 96 bits
      { "64:ff9b:1:\(Self.hexadecimal($0, 16)):\(Self.hexadecimal($0, 0, shifted: true))::" },  // prefix of 48 bits
      { "2002:\(Self.hexadecimal($0, 16)):\(Self.hexadecimal($0, 0))::1" },  // 6to4
      { "2001:0:808:808:0:0:\(Self.hexadecimal($0, 16, inverted: true)):\(Self.hexadecimal($0, 0, inverted: true))" },
      { "2001:0:\(Self.hexadecimal($0, 16)):\(Self.hexadecimal($0, 0)):0:0:f7f7:f7f7" },  // Teredo: client, server
    ]
    let table: [(String, AddressPolicy.Kind?)] = [
      ("8.8.8.8", nil), ("127.0.0.1", .loopback), ("10.0.0.1", .privateUse), ("169.254.169.254", .metadata),
      ("192.168.1.1", .privateUse), ("100.64.0.1", .sharedAddressSpace),
    ]
    for (address, kind) in table {
      for form in forms {
        let text = form(address)
        #expect(try #require(IPAddress(literal: text), "\(text)").kind == kind, "\(text)")
      }
    }
    #expect(IPAddress(literal: "64:ff9b:1::")?.kind == .unspecified)
  }

  /// 16 bits of an address.
  private static func hexadecimal(
    _ text: String, _ shift: Int, inverted: Bool = false, shifted: Bool = false
  ) -> String {
    let bits = IPAddress(literal: text)?.bits ?? 0
    let part = UInt16(truncatingIfNeeded: (inverted ? ~bits : bits) >> UInt128(shift))
    // bits 64 to 71 are unused, so the rest begins with the second byte of a group
    return shifted ? "\(String(part >> 8, radix: 16)):\(String(part << 8, radix: 16))" : String(part, radix: 16)
  }

  @Test func exceptionsAndRefusalsTakePrecedenceOverKinds() {
    var policy = AddressPolicy.publicAddresses
    policy.allowed = ["10.1.0.0/16", "fd00::/8", "169.254.0.0/16", "192.0.0.192"]
    policy.refused = ["10.1.9.0/24", "9.9.9.9"]
    let table: [(String, String?)] = [
      ("8.8.8.8", nil), ("10.1.2.3", nil), ("10.2.0.1", "a private use address"),
      ("10.1.9.9", "part of 10.1.9.0/24"), ("9.9.9.9", "part of 9.9.9.9"), ("::ffff:9.9.9.9", "part of 9.9.9.9"),
      ("64:ff9b::9.9.9.9", "part of 9.9.9.9"), ("2002:909:909::1", "part of 9.9.9.9"), ("::9.9.9.9", "part of 9.9.9.9"),
      ("::ffff:10.1.2.3", nil), ("64:ff9b::10.1.2.3", "private use"), ("fd00::1", nil), ("169.254.1.1", nil),
      ("169.254.169.254", "metadata"), ("fd00:ec2::254", "metadata"), ("192.0.0.192", nil), ("0x7f.1", "loopback"),
      ("a.example", "no IP address"),
    ]
    for (address, reason) in table {
      let found = policy.reason(refusing: address)
      if let reason { #expect(found?.contains(reason) == true, "\(address): \(found ?? "allowed")") }
      if reason == nil { #expect(found == nil, "\(address)") }
    }
    policy.refusedKinds = [.loopback]
    #expect(policy.reason(refusing: "10.2.0.1") == nil)
    policy.allowed = ["10.0.0.0/33"]
    #expect(policy.reason(refusing: "8.8.8.8")?.contains("addressPolicy.allowed has '10.0.0.0/33'") == true)
  }

  @Test func schemeAndPortAreJudgedBeforeTheNameIsResolved() throws {
    var policy = AddressPolicy.publicAddresses
    policy.ports = [443, 8443]
    policy.schemes = ["https"]
    let table: [(String, String?)] = [
      ("https://a.example/", nil), ("https://a.example:8443/", nil), ("https://a.example:444/", "the port 444"),
      ("http://a.example:443/", "the scheme http"),
    ]
    for (url, reason) in table { #expect(try refusal(policy, url)?.contains(reason ?? "") == reason.map { _ in true }) }
  }

  @Test func behindAProxyOnlyATrustedOneIsUsed() throws {
    var policy = AddressPolicy.publicAddresses
    #expect(try refusal(policy, "https://a.example/", isThroughProxy: true)?.contains("trustsProxies") == true)
    policy.trustsProxies = true
    let refused = [
      "http://127.0.0.1/", "http://[::1]/", "http://0x7f.1/", "http://2130706433/", "http://localhost/",
      "http://A.localhost./", "http://[64:ff9b::7f00:1]/",
    ]
    for url in refused {
      #expect(try refusal(policy, url, isThroughProxy: true)?.contains("loopback") == true, "\(url)")
    }
    for url in ["http://a.example/", "http://8.8.8.8/"] {
      #expect(try refusal(policy, url, isThroughProxy: true) == nil, "\(url)")
    }
    #expect(try refusal(.any, "http://127.0.0.1/", isThroughProxy: true) == nil)
  }

  private func refusal(_ policy: AddressPolicy, _ url: String, isThroughProxy: Bool = false) throws -> String? {
    let origin = try #require(URL(string: url).flatMap(Origin.init))
    return try AddressRules(policy).reason(refusing: origin, isThroughProxy: isThroughProxy)
  }
}
