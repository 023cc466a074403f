/// The names of hosts: their canonical form, and which of them are below a domain (RFC 6265bis §5.1.2 and §5.1.3).
package enum HostName {
  /// Returns the canonical host: lower case, A-labels, an IPv6 address without brackets; nil if it is not a valid host.
  package static func canonical(_ host: some StringProtocol) -> String? {
    var host = Substring(host)
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    guard !host.isEmpty else { return nil }
    if host.utf8.allSatisfy({ $0 < 128 }) { return ASCII.lowercased(host) }
    // UTS #46 defines three more full stops.
    let labels = host.split(omittingEmptySubsequences: false) { ".\u{3002}\u{FF0E}\u{FF61}".contains($0) }
    let encoded = labels.compactMap { Punycode.encode(label: $0) }
    return encoded.count == labels.count ? encoded.joined(separator: ".") : nil
  }

  /// Whether the host is the domain or a subdomain of it. An address is not a subdomain of anything.
  package static func matches(_ host: String, domain: String) -> Bool {
    guard host.utf8.count != domain.utf8.count else { return host == domain }
    return isBelow(host, domain) && !isAddress(host)
  }

  /// Whether the host ends with a dot and the domain.
  private static func isBelow(_ host: String, _ domain: String) -> Bool {
    let difference = host.utf8.count - domain.utf8.count
    guard difference > 0, !domain.isEmpty, host.utf8.dropFirst(difference).elementsEqual(domain.utf8) else {
      return false
    }
    return host.utf8.dropFirst(difference - 1).first == UInt8(ascii: ".")
  }

  /// Whether the host is an IPv4 or IPv6 address.
  package static func isAddress(_ host: String) -> Bool {
    guard !host.utf8.contains(UInt8(ascii: ":")) else { return true }
    // Most names end with a letter.
    guard host.utf8.last.map(ASCII.isDigit) == true else { return false }
    let parts = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return parts.count == 4
      && parts.allSatisfy { part in
        (1...3).contains(part.count) && part.allSatisfy(ASCII.isDigit)
          && part.reduce(0) { $0 * 10 + Int($1 - 48) } <= 255
      }
  }
}
