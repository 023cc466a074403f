#if os(Linux)
import MartletEngine
import MartletSemantics

extension AddressRules {
  /// Parses a policy.
  ///
  /// - Throws: ``HTTPError/Kind/invalidRequest``, which names the invalid entry.
  convenience init(checking policy: AddressPolicy) throws(HTTPError) {
    do throws(AddressPolicyFault) { try self.init(policy) } catch {
      throw HTTPError(.invalidRequest, error.message, phase: .preparing)
    }
  }

  /// Checks the facts that are known before the name is resolved: the host and the route.
  func check(_ origin: Origin, by route: ProxyRoute) throws(HTTPError) {
    guard let reason = reason(refusing: origin, isThroughProxy: route != .direct) else { return }
    throw HTTPError(.addressRefused, "\(origin): the address policy refuses it: \(reason)", phase: .preparing)
  }

  /// Returns the allowed addresses.
  ///
  /// - Throws: ``HTTPError/Kind/addressRefused`` if none is.
  func allowed(_ addresses: [SocketAddress], of host: String) throws(HTTPError) -> [SocketAddress] {
    guard !allowsAll, !addresses.isEmpty else { return addresses }
    var reasons: [String] = []
    let allowed = addresses.filter { address in
      guard let reason = address.ip.map(reason(refusing:)) ?? "a unix socket has no IP address" else { return true }
      reasons.append("\(address): \(reason)")
      return false
    }
    guard allowed.isEmpty else { return allowed }
    throw HTTPError(
      .addressRefused,
      "\(host): the address policy allows none of its addresses: \(reasons.prefix(8).joined(separator: "; "))",
      phase: .resolving)
  }
}
#endif
