#if os(Linux)
import CSockets
import Glibc
import MartletSemantics

/// An IPv4 or IPv6 address.
package struct IPAddress: Sendable, Hashable {
  /// The version of the Internet Protocol.
  package enum Family: Sendable, Hashable {
    case v4
    case v6

    /// The number of bits of an address.
    var width: Int { self == .v4 ? 32 : 128 }
  }

  package let family: Family
  /// The address as a number; of an IPv4 address, only the lower 32 bits are used.
  package let bits: UInt128
  /// The index of the network interface to which an IPv6 address belongs (RFC 4007 §11); 0 if there is none.
  package let zone: UInt32

  /// Makes an address from its number. Bits beyond the family's width are dropped.
  package init(_ family: Family, _ bits: UInt128, zone: UInt32 = 0) {
    self.family = family
    self.bits = family == .v4 ? bits & 0xFFFF_FFFF : bits
    self.zone = family == .v4 ? 0 : zone
  }

  /// Parses a literal: `192.0.2.1`, or `2001:db8::1` with an optional zone, which is the index or the name of an
  /// interface (`fe80::1%eth0`). Other notations of IPv4 addresses (`127.1`, `0x7f.0.0.1`) are refused.
  ///
  /// - Parameter text: the literal, without brackets. nil is returned for any other text, and if no interface has the
  ///   zone's name.
  package init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
    guard let address = parts.first, address.utf8.count <= 45,
      address.utf8.allSatisfy({ ASCII.hexadecimalValue($0) != nil || $0 == 46 || $0 == 58 })
    else { return nil }
    if !address.utf8.contains(58) {
      var number: UInt32 = 0
      guard parts.count == 1, inet_pton(AF_INET, String(address), &number) == 1 else { return nil }
      self.init(.v4, UInt128(UInt32(bigEndian: number)))
      return
    }
    var number: UInt128 = 0
    guard inet_pton(AF_INET6, String(address), &number) == 1 else { return nil }
    guard parts.count == 2 else {
      self.init(.v6, UInt128(bigEndian: number))
      return
    }
    guard let zone = Self.zone(String(parts[1])) else { return nil }
    self.init(.v6, UInt128(bigEndian: number), zone: zone)
  }

  private static func zone(_ name: String) -> UInt32? {
    guard !name.isEmpty, !name.utf8.contains(0) else { return nil }
    if name.utf8.allSatisfy(ASCII.isDigit) { return UInt32(name).flatMap { $0 == 0 ? nil : $0 } }
    let index = if_nametoindex(name)
    return index == 0 ? nil : index
  }

  static let loopback4 = IPAddress(.v4, 0x7F00_0001)
  static let loopback6 = IPAddress(.v6, 1)

  /// The IPv4 address that an IPv6 address contains (RFC 4291 §2.5.5.2), `::ffff:192.0.2.1`; other addresses are
  /// returned as they are.
  package var unmapped: IPAddress {
    family == .v6 && bits >> 32 == 0xFFFF ? IPAddress(.v4, bits) : self
  }

  /// The address without its zone.
  var withoutZone: IPAddress { IPAddress(family, bits) }
}

extension IPAddress: CustomStringConvertible {
  /// The text form (RFC 5952); a zone is its index.
  package var description: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    switch family {
    case .v4:
      var number = UInt32(truncatingIfNeeded: bits).bigEndian
      inet_ntop(AF_INET, &number, &text, socklen_t(text.count))
    case .v6:
      var number = bits.bigEndian
      inet_ntop(AF_INET6, &number, &text, socklen_t(text.count))
    }
    let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return zone == 0 ? address : "\(address)%\(zone)"
  }
}

/// A range of addresses that begin with the same bits (CIDR, RFC 4632 §3.1): `192.0.2.0/24`.
package struct AddressPrefix: Sendable, Hashable {
  let address: IPAddress
  let length: Int

  /// Parses `address/length`, or an address alone, which stands for itself. The address may have bits beyond the
  /// length; it has no zone.
  package init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = parts.first, let address = IPAddress(first), address.zone == 0 else { return nil }
    self.address = address
    guard parts.count == 2 else {
      length = address.family.width
      return
    }
    let digits = parts[1].utf8
    guard (1...3).contains(digits.count), digits.allSatisfy(ASCII.isDigit), let length = Int(parts[1]),
      length <= address.family.width
    else { return nil }
    self.length = length
  }

  /// Whether an address is in the range, whatever its zone. An IPv6 address is in no range of IPv4 addresses.
  package func contains(_ other: IPAddress) -> Bool {
    guard other.family == address.family else { return false }
    // a shift by all bits of a number gives 0
    return (other.bits ^ address.bits) >> UInt128(address.family.width - length) == 0
  }
}
#endif
