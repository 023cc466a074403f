extension AddressPolicy {
  /// The purpose of a special-purpose address: the reason why it is not an address of the public Internet (RFC 6890 and
  /// the IANA registries of special-purpose addresses).
  @nonexhaustive public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// `0.0.0.0/8` and `::` (RFC 791 §3.2, RFC 4291 §2.5.2): on many systems, this machine.
    case unspecified
    /// `127.0.0.0/8` and `::1` (RFC 1122 §3.2.1.3, RFC 4291 §2.5.3).
    case loopback
    /// The services that give a cloud's virtual machine its identity and credentials: `169.254.169.254`,
    /// `169.254.170.2`, `169.254.170.23`, `100.100.100.200`, `168.63.129.16`, `192.0.0.192`, `fd00:ec2::254`,
    /// `fd00:ec2::23`, `fd20:ce::254`, `fd00:c1::a9fe:a9fe`.
    case metadata
    /// `10.0.0.0/8`, `172.16.0.0/12` and `192.168.0.0/16` (RFC 1918).
    case privateUse = "private use"
    /// `fc00::/7` (RFC 4193), and the former site-local `fec0::/10` (RFC 3879).
    case uniqueLocal = "unique local"
    /// `169.254.0.0/16` (RFC 3927) and `fe80::/10` (RFC 4291 §2.5.6).
    case linkLocal = "link-local"
    /// `100.64.0.0/10`, which providers use behind their address translation (RFC 6598).
    case sharedAddressSpace = "shared address space"
    /// `224.0.0.0/4` (RFC 5771) and `ff00::/8` (RFC 4291 §2.7).
    case multicast
    /// `255.255.255.255` (RFC 919 §7).
    case broadcast
    /// `192.0.2.0/24`, `198.51.100.0/24`, `203.0.113.0/24` (RFC 5737), `2001:db8::/32` (RFC 3849), `3fff::/20` (RFC
    /// 9637).
    case documentation
    /// `198.18.0.0/15` (RFC 2544) and `2001:2::/48` (RFC 5180).
    case benchmarking
    /// All other ranges of the registries that are not globally reachable, and `240.0.0.0/4` (RFC 1112 §4).
    case reserved
  }
}

extension IPAddress {
  /// Returns the kind of a special address; nil for an address of the public Internet.
  ///
  /// An IPv6 address may contain an IPv4 address to which its packets are translated or tunnelled. Then the IPv4
  /// address decides: mapped and compatible (RFC 4291 §2.5.5), translated (RFC 2765 §2.1), NAT64 (RFC 6052, RFC 8215),
  /// 6to4 (RFC 3056) and Teredo (RFC 4380).
  @_spi(Toolkit) public var kind: AddressPolicy.Kind? {
    let contained = contained
    guard contained.isEmpty else { return contained.lazy.compactMap(\.kind).first }
    return Self.kinds.first { $0.prefix.contains(self) }?.kind
  }

  /// The IPv4 addresses that an IPv6 address may contain; none for other addresses.
  var contained: [IPAddress] {
    guard family == .v6 else { return [] }
    switch true {
    case bits >> 32 == 0 && bits > 1,  // compatible
      bits >> 32 == 0xFFFF,  // mapped
      bits >> 32 == 0xFFFF_0000,  // translated
      bits >> 32 == 0x0064_FF9B_0000_0000_0000_0000:  // NAT64
      return [IPAddress(.v4, bits)]
    case bits >> 80 == 0x0064_FF9B_0001: return translatedLocally
    case bits >> 112 == 0x2002: return [IPAddress(.v4, bits >> 80)]
    // Teredo: the server, and the client with inverted bits.
    case bits >> 96 == 0x2001_0000: return [IPAddress(.v4, bits >> 64), IPAddress(.v4, ~bits)]
    default: return []
    }
  }

  /// The IPv4 addresses in an address of `64:ff9b:1::/48`, where each network chooses the length of the prefix before
  /// them (RFC 6052 §2.2): 48, 56, 64 or 96. A length is ruled out if its address would begin with 0, unless that holds
  /// for all lengths.
  private var translatedLocally: [IPAddress] {
    func field(_ first: Int, _ count: Int) -> UInt128 {
      bits >> UInt128(128 - first - count) & (1 << UInt128(count) - 1)
    }
    // The bits from 64 to 71 do not belong to the address.
    let numbers = [
      field(48, 16) << 16 | field(72, 16), field(56, 8) << 24 | field(72, 24), field(72, 32), field(96, 32),
    ]
    let plausible = numbers.filter { $0 >> 24 != 0 }
    return (plausible.isEmpty ? [0] : plausible).map { IPAddress(.v4, $0) }
  }

  /// The first range that contains an address counts, so narrow ranges precede wide ones.
  private static let kinds: [(prefix: AddressPrefix, kind: AddressPolicy.Kind)] = [
    (
      .metadata,
      "169.254.169.254 169.254.170.2 169.254.170.23 100.100.100.200 168.63.129.16 192.0.0.192 fd00:ec2::254 fd00:ec2::23 "
        + "fd20:ce::254 fd00:c1::a9fe:a9fe"
    ),
    (.broadcast, "255.255.255.255"),
    (.unspecified, "0.0.0.0/8 ::"),
    (.loopback, "127.0.0.0/8 ::1"),
    (.privateUse, "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16"),
    (.uniqueLocal, "fc00::/7 fec0::/10"),
    (.linkLocal, "169.254.0.0/16 fe80::/10"),
    (.sharedAddressSpace, "100.64.0.0/10"),
    (.multicast, "224.0.0.0/4 ff00::/8"),
    (.documentation, "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20"),
    (.benchmarking, "198.18.0.0/15 2001:2::/48"),
    (.reserved, "192.0.0.0/24 192.88.99.0/24 240.0.0.0/4 100::/64 2001::/23 5f00::/16"),
  ].flatMap { (kind: AddressPolicy.Kind, ranges: String) in
    ranges.split(separator: " ").compactMap { AddressPrefix($0) }.map { ($0, kind) }
  }
}
