/// Limits the servers that a transport may connect to, for services that fetch URLs from strangers: without it, such a
/// URL can reach the service's own network (server-side request forgery).
///
/// ```swift
/// var connection = ConnectionConfiguration()
/// connection.addressPolicy = .publicAddresses
/// connection.addressPolicy.schemes = ["https"]
/// let session = HTTPSession(connection: connection)
/// ```
///
/// The policy checks the actual address of a connection, after its name was resolved, and the name is not resolved a
/// second time. So the same rules apply to a name whose address changes (DNS rebinding), a redirect, an address in an
/// unusual notation (`0x7f.1`, `2130706433`) and an override of a name. If a name has several addresses, the allowed
/// ones are used. A refusal is an error whose message names the host, the address and the rule.
///
/// A request through a proxy is refused, because only the proxy knows the address; see ``trustsProxies``.
public struct AddressPolicy: Sendable, Hashable {
  /// The kinds of special addresses that are refused.
  public var refusedKinds: Set<AddressPolicy.Kind>
  /// Addresses that are allowed although their kind is refused: `192.0.2.7`, or a range such as `10.1.0.0/16`. A range
  /// does not allow the metadata service of a cloud, even if it contains the address: list the address itself. None by
  /// default.
  public var allowed: [String] = []
  /// Addresses that are refused even if ``allowed`` contains them, in the same form. None by default.
  public var refused: [String] = []
  /// The ports that are allowed; nil, the default, for all.
  public var ports: Set<Int>?
  /// The schemes that are allowed, in lower case; http and https by default. A WebSocket's are http for ws, and https
  /// for wss.
  public var schemes: Set<String> = ["http", "https"]
  /// Whether requests may go through a proxy, which is then trusted not to connect to refused addresses. False by
  /// default: such a request fails.
  ///
  /// The proxy's own address is not checked. Port, scheme, a host that is an address and `localhost` are checked before
  /// the proxy is used, and so is an address that is resolved here (SOCKS5 without names).
  public var trustsProxies = false

  /// Makes a policy.
  public init(refusing kinds: Set<AddressPolicy.Kind>) { refusedKinds = kinds }

  /// Allows every address: the default of a transport.
  public static let any: AddressPolicy = {
    var policy = AddressPolicy(refusing: [])
    policy.trustsProxies = true
    return policy
  }()

  /// Allows only the addresses of the public Internet, which have no ``AddressPolicy/Kind``.
  public static let publicAddresses = AddressPolicy(refusing: Set(AddressPolicy.Kind.allCases))

  /// Returns why the policy refuses an address; nil if it allows the address. Transports call it before they connect;
  /// call it yourself if your program opens connections by other means.
  ///
  /// - Parameter address: an IPv4 or IPv6 address, without brackets.
  public func reason(refusing address: String) -> String? {
    guard let address = IPAddress(literal: address) ?? IPAddress(loose: address) else { return "it is no IP address" }
    do throws(AddressPolicyFault) { return try AddressRules(self).reason(refusing: address) } catch {
      return error.message
    }
  }
}

/// The mistake in an invalid policy.
package struct AddressPolicyFault: Error {
  package let message: String
}

/// The rules of an ``AddressPolicy``, parsed once for all connections of a transport. It is a class, because the parts
/// of a transport are copied often.
package final class AddressRules: Sendable {
  private let policy: AddressPolicy
  private let allowed: [AddressPrefix]
  private let refused: [AddressPrefix]
  /// Whether everything is allowed.
  package let allowsAll: Bool

  package init(_ policy: AddressPolicy) throws(AddressPolicyFault) {
    self.policy = policy
    allowed = try Self.prefixes(policy.allowed, "allowed")
    refused = try Self.prefixes(policy.refused, "refused")
    var plain = AddressPolicy.any
    plain.allowed = policy.allowed
    allowsAll = policy == plain
  }

  private static func prefixes(_ texts: [String], _ name: String) throws(AddressPolicyFault) -> [AddressPrefix] {
    var prefixes: [AddressPrefix] = []
    for text in texts {
      guard let prefix = AddressPrefix(text) else {
        let message =
          "addressPolicy.\(name) has '\(text)', which is neither an IP address nor a range such as 10.0.0.0/8"
        throw AddressPolicyFault(message: message)
      }
      prefixes.append(prefix)
    }
    return prefixes
  }

  /// Returns the rule that refuses an address; nil if it is allowed.
  package func reason(refusing address: IPAddress) -> String? {
    let contained = address.contained
    let prefix = refused.first { Self.contains($0, address) || contained.contains(where: $0.contains) }
    if let prefix { return "refused as part of \(prefix)" }
    let kinds = (contained.isEmpty ? [address] : contained).lazy.compactMap(\.kind)
    guard let kind = kinds.first(where: policy.refusedKinds.contains) else { return nil }
    let isAllowed = allowed.contains { Self.contains($0, address) && (kind != .metadata || $0.isOneAddress) }
    guard !isAllowed else { return nil }
    switch kind {
    case .metadata: return "it is a cloud's metadata service"
    case .unspecified: return "it is an unspecified address"
    default: return "it is a \(kind.rawValue) address"
    }
  }

  /// Returns the rule that refuses an origin before its address is known; nil if it depends on that.
  ///
  /// - Parameter isThroughProxy: whether a proxy connects to the origin.
  package func reason(refusing origin: Origin, isThroughProxy: Bool) -> String? {
    guard !allowsAll else { return nil }
    guard policy.schemes.contains(origin.scheme) else { return "the scheme \(origin.scheme) is not allowed" }
    if let ports = policy.ports, !ports.contains(origin.port) { return "the port \(origin.port) is not allowed" }
    guard isThroughProxy else { return nil }
    guard policy.trustsProxies else {
      return
        "its address is not known behind a proxy: use Proxy.direct, or set trustsProxies if the proxy refuses such addresses"
    }
    return reasonBehindProxy(origin.host)
  }

  /// Returns the rule that refuses a host behind a proxy. The proxy resolves the name; only certain facts are checked
  /// here.
  private func reasonBehindProxy(_ host: String) -> String? {
    if HostName.isLocal(host) { return reason(refusing: .loopback6) }
    let address = String(host.prefix { $0 != "%" })  // without the zone
    return IPAddress(literal: address).flatMap { reason(refusing: $0) }
  }

  /// Whether a range contains an address. A range of IPv4 addresses also contains the mapped ones.
  private static func contains(_ prefix: AddressPrefix, _ address: IPAddress) -> Bool {
    prefix.contains(address) || prefix.contains(address.unmapped)
  }
}

extension AddressPrefix: CustomStringConvertible {
  /// `192.0.2.0/24`, or the address itself.
  package var description: String { isOneAddress ? "\(address)" : "\(address)/\(length)" }
}
