/// An IPv4 or IPv6 address.
@_spi(Toolkit) public struct IPAddress: Sendable, Hashable {
  /// The version of the Internet Protocol.
  public enum Family: Sendable, Hashable {
    case v4
    case v6

    /// The number of bits of an address.
    package var width: Int { self == .v4 ? 32 : 128 }
  }

  public let family: Family
  /// The address as a number; of an IPv4 address, only the lower 32 bits are used.
  public let bits: UInt128
  /// The index of the network interface to which an IPv6 address belongs (RFC 4007 §11); 0 if there is none.
  package let zone: UInt32

  /// Makes an address from its number. Bits beyond the family's width are dropped.
  package init(_ family: Family, _ bits: UInt128, zone: UInt32 = 0) {
    self.family = family
    self.bits = family == .v4 ? bits & 0xFFFF_FFFF : bits
    self.zone = family == .v4 ? 0 : zone
  }

  /// Parses a literal: `192.0.2.1`, or `2001:db8::1` with an optional zone. Other notations of IPv4 addresses (`127.1`,
  /// `0x7f.0.0.1`) are refused; see ``init(loose:)``.
  ///
  /// - Parameters:
  ///   - text: the literal, without brackets. nil is returned for any other text.
  ///   - zone: returns the index of the interface that a zone names, nil for none. By default only the index itself.
  public init?(literal text: some StringProtocol, zone: (String) -> UInt32? = { zoneIndex($0) }) {
    let bytes = Array(text.utf8)  // Every new connection parses its host, and a text takes ten times as long.
    let end = bytes.firstIndex(of: UInt8(ascii: "%")) ?? bytes.count
    guard (2...45).contains(end) else { return nil }
    let address = bytes[..<end]
    guard address.contains(UInt8(ascii: ":")) else {
      guard end == bytes.count, let bits = Self.dotted(address) else { return nil }
      self.init(.v4, UInt128(bits))
      return
    }
    guard let bits = Self.groups(Array(address)) else { return nil }
    guard end < bytes.count else {
      self.init(.v6, bits)
      return
    }
    guard let index = zone(String(decoding: bytes[(end + 1)...], as: UTF8.self)) else { return nil }
    self.init(.v6, bits, zone: index)
  }

  /// Parses an IPv4 address in the other notations that `getaddrinfo` and the URL standard accept, too: one to four
  /// numbers, decimal, octal (`0177`) or hexadecimal (`0x7f`), the last of which fills the rest.
  package init?(loose text: some StringProtocol) {
    var parts = Substring(text).split(separator: ".", omittingEmptySubsequences: false)
    if parts.count > 1, parts.last?.isEmpty == true { parts.removeLast() }
    guard (1...4).contains(parts.count) else { return nil }
    var address: UInt64 = 0
    for (index, part) in parts.enumerated() {
      guard let number = Self.number(part.utf8) else { return nil }
      let isLast = index == parts.count - 1
      let width = isLast ? 8 * (4 - index) : 8
      guard number < 1 << UInt64(width) else { return nil }
      address = address << UInt64(width) | number
    }
    self.init(.v4, UInt128(address))
  }

  /// Returns the zone of an index (RFC 4007 §11.2); nil for 0 and for any other text.
  public static func zoneIndex(_ text: String) -> UInt32? {
    guard !text.isEmpty, text.utf8.allSatisfy(ASCII.isDigit), let index = UInt32(text), index > 0 else { return nil }
    return index
  }

  public static let loopback4 = IPAddress(.v4, 0x7F00_0001)
  public static let loopback6 = IPAddress(.v6, 1)

  /// The IPv4 address that an IPv6 address contains (RFC 4291 §2.5.5.2), `::ffff:192.0.2.1`; other addresses are
  /// returned as they are.
  package var unmapped: IPAddress {
    family == .v6 && bits >> 32 == 0xFFFF ? IPAddress(.v4, bits) : self
  }

  /// The address without its zone.
  package var withoutZone: IPAddress { IPAddress(family, bits) }
}

extension IPAddress {
  /// Four decimal numbers without leading zeros.
  private static func dotted(_ text: ArraySlice<UInt8>) -> UInt32? {
    var address: UInt32 = 0
    var points = 0
    /// The number so far; nil before its first digit.
    var number: UInt32?
    for byte in text {
      if byte == UInt8(ascii: ".") {
        guard let complete = number, points < 3 else { return nil }
        (address, number, points) = (address << 8 | complete, nil, points + 1)
      } else {
        guard ASCII.isDigit(byte), number != 0 else { return nil }
        let longer = (number ?? 0) * 10 + UInt32(byte - 48)
        guard longer < 256 else { return nil }
        number = longer
      }
    }
    guard points == 3, let last = number else { return nil }
    return address << 8 | last
  }

  private static func number(_ text: Substring.UTF8View) -> UInt64? {
    guard let first = text.first, text.count <= 32 else { return nil }
    var digits = text
    var radix: UInt64 = 10
    if first == 48, text.count > 1 {
      let isHexadecimal = text.dropFirst().first == UInt8(ascii: "x") || text.dropFirst().first == UInt8(ascii: "X")
      digits = isHexadecimal ? text.dropFirst(2) : text.dropFirst()
      radix = isHexadecimal ? 16 : 8
    }
    var number: UInt64 = 0
    for digit in digits {
      guard let value = ASCII.hexadecimalValue(digit).map(UInt64.init), value < radix else { return nil }
      number = number * radix + value
      guard number <= 0xFFFF_FFFF else { return nil }
    }
    return number
  }

  /// Eight groups of up to four hexadecimal digits; `::` stands for one or more groups of zeros, and the last two may
  /// be an IPv4 address (RFC 4291 §2.2).
  private static func groups(_ text: [UInt8]) -> UInt128? {
    var before: [UInt16] = []
    var after: [UInt16]?
    var position = 0
    if text.starts(with: [58, 58]) {
      after = []
      position = 2
    }
    while position < text.count {
      let end = text[position...].firstIndex(of: 58) ?? text.count
      let part = text[position..<end]
      var found: [UInt16] = []
      if end == text.count, let address = dotted(part) {
        found = [UInt16(address >> 16), UInt16(truncatingIfNeeded: address)]
      } else if (1...4).contains(part.count), part.allSatisfy({ ASCII.hexadecimalValue($0) != nil }),
        let group = UInt16(String(decoding: part, as: UTF8.self), radix: 16)
      {
        found = [group]
      } else {
        return nil
      }
      if after == nil { before += found } else { after? += found }
      guard end < text.count else { break }
      position = end + 1
      guard position < text.count else { return nil }  // one colon at the end
      if text[position] == 58 {
        guard after == nil else { return nil }
        after = []
        position += 1
      }
    }
    let count = before.count + (after?.count ?? 0)
    guard after == nil ? count == 8 : count < 8 else { return nil }
    let all = before + Array(repeating: 0, count: 8 - count) + (after ?? [])
    return all.reduce(UInt128(0)) { $0 << 16 | UInt128($1) }
  }
}

extension IPAddress: CustomStringConvertible {
  /// The text form (RFC 5952); a zone is its index.
  public var description: String {
    guard family == .v6 else { return Self.dotted(bits) }
    let address = bits >> 32 == 0xFFFF ? "::ffff:\(Self.dotted(bits))" : hexadecimal
    return zone == 0 ? address : "\(address)%\(zone)"
  }

  private static func dotted(_ bits: UInt128) -> String {
    [24, 16, 8, 0].map { String(UInt8(truncatingIfNeeded: bits >> UInt128($0))) }.joined(separator: ".")
  }

  private var hexadecimal: String {
    let groups = (0..<8).map { UInt16(truncatingIfNeeded: bits >> UInt128(112 - 16 * $0)) }
    var longest = 0..<0
    var start = 0
    for index in 0...8 where index == 8 || groups[index] != 0 {
      // The first of equally long runs, and none of a single group (RFC 5952 §4.2).
      if index - start > max(1, longest.count) { longest = start..<index }
      start = index + 1
    }
    func text(_ part: ArraySlice<UInt16>) -> String { part.map { String($0, radix: 16) }.joined(separator: ":") }
    guard !longest.isEmpty else { return text(groups[...]) }
    return text(groups[..<longest.lowerBound]) + "::" + text(groups[longest.upperBound...])
  }
}

/// A range of addresses that begin with the same bits (CIDR, RFC 4632 §3.1): `192.0.2.0/24`.
package struct AddressPrefix: Sendable, Hashable {
  package let address: IPAddress
  package let length: Int

  /// Parses `address/length`, or an address alone, which is a range by itself. The address may have bits beyond the
  /// length; it has no zone.
  package init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = parts.first, let address = IPAddress(literal: first), address.zone == 0 else { return nil }
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
    // Shifting a number by all its bits gives 0.
    return (other.bits ^ address.bits) >> UInt128(address.family.width - length) == 0
  }

  /// Whether the range is one address.
  package var isOneAddress: Bool { length == address.family.width }
}
