#if os(Linux)
import MartletEngine

/// Decides to which addresses a transport may connect. It is asked for every address before a connection is opened:
/// those of a name, literals, those of overrides, and that of a proxy.
///
/// Behind a proxy to which the name of the origin is passed on, the proxy's address is the only one that is asked for,
/// also if the origin's name is an address.
package struct AddressPolicy: Sendable {
  /// Returns the reason why an address is refused, for the error's message; nil if it is allowed.
  package typealias Refusal = @Sendable (_ address: SocketAddress, _ host: String) -> String?

  /// nil if every address is allowed.
  private let refusal: Refusal?

  /// Makes a policy. The closure is called on the transport's own thread, so it must return quickly.
  package init(refusing refusal: @escaping Refusal) { self.refusal = refusal }

  private init() { refusal = nil }

  /// Allows every address.
  package static let any = AddressPolicy()

  /// Allows the addresses of the public Internet only: for programs that fetch URLs which others have written. Refused
  /// are loopback, private, link-local, multicast and other special addresses (RFC 6890), IPv6 addresses that contain
  /// such an IPv4 address, and unix sockets.
  package static let publicAddresses = AddressPolicy { address, _ in
    guard let ip = address.ip else { return "a unix socket is not a public address" }
    return ip.isPublic ? nil : "not a public address"
  }

  /// Returns the addresses that are allowed.
  ///
  /// - Throws: ``HTTPError/Kind/cannotConnect`` if none is allowed.
  func admitted(_ addresses: [SocketAddress], of host: String) throws(HTTPError) -> [SocketAddress] {
    guard let refusal, !addresses.isEmpty else { return addresses }
    var reasons: [String] = []
    let admitted = addresses.filter { address in
      guard let reason = refusal(address, host) else { return true }
      reasons.append("\(address): \(reason)")
      return false
    }
    guard admitted.isEmpty else { return admitted }
    throw HTTPError(
      .cannotConnect,
      "\(host): the address policy allows none of its addresses: \(reasons.prefix(8).joined(separator: "; "))",
      phase: .resolving)
  }
}

extension IPAddress {
  /// Whether the address is reachable from the public Internet.
  package var isPublic: Bool {
    let address = embedded
    return !Self.special.contains { $0.contains(address) }
  }

  /// The IPv4 address to which packets for an IPv6 address are translated or tunnelled: mapped (RFC 4291 §2.5.5.2),
  /// NAT64 (RFC 6052 §2.1), 6to4 (RFC 3056 §2); other addresses are returned as they are.
  private var embedded: IPAddress {
    guard family == .v6 else { return self }
    if bits >> 32 == 0x0064_FF9B_0000_0000_0000_0000 { return IPAddress(.v4, bits) }
    if bits >> 112 == 0x2002 { return IPAddress(.v4, bits >> 80) }
    return unmapped
  }

  /// The special-purpose addresses of RFC 6890 and of the registries that it has founded, and multicast.
  private static let special = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4",
    "::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fc00::/7",
    "fe80::/10", "fec0::/10", "ff00::/8",
  ].compactMap { AddressPrefix($0) }
}
#endif
