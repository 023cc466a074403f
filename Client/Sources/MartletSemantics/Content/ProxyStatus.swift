/// How a proxy or gateway on the way handled a response, and why it failed (`Proxy-Status`, RFC 9209).
///
/// ```swift
/// response.fields.proxyStatuses.first?.error   // "connection_timeout": the CDN could not reach the origin
/// ```
///
/// Anyone on the way can add the field: it helps to find a fault, and proves nothing (§4).
public struct ProxyStatus: Sendable, Hashable, CustomStringConvertible {
  /// The name of the intermediary.
  public let name: String
  /// The type of the error that the intermediary has met, such as `connection_timeout` or `dns_error` (§2.3); nil if
  /// there was none.
  public let error: String?
  /// The server that the intermediary has chosen, as a host, an address or another name; nil if it does not say
  /// (§2.1.2).
  public let nextHop: String?
  /// The protocol that it has used with that server, as ALPN names it: `h2`; nil if it does not say (§2.1.3). Names
  /// that are not UTF-8 are omitted.
  public let nextProtocol: String?
  /// The status that it has received; nil if it does not say (§2.1.4).
  public let receivedStatus: HTTPStatus?
  /// More about the error, in the intermediary's own words; nil if there is nothing (§2.1.5).
  public let details: String?
  /// All parameters, among them those of certain errors, such as `rcode` of `dns_error`.
  public let parameters: StructuredField.Parameters

  /// The status in words: `ExampleCDN: connection_timeout, next hop backend.example.org:8001`.
  public var description: String {
    var parts: [String] = []
    if let error { parts.append(error) }
    if let receivedStatus { parts.append("received status \(receivedStatus.code)") }
    if let nextHop { parts.append("next hop \(nextHop)") }
    if let nextProtocol { parts.append("over \(nextProtocol)") }
    if let details { parts.append(details) }
    return parts.isEmpty ? name : name + ": " + parts.joined(separator: ", ")
  }

  /// A parameter of another type than the RFC says counts as absent. Its own example has an error that is a string,
  /// although errors are tokens.
  fileprivate init?(_ member: StructuredField.Member) {
    guard let item = member.item, let name = item.value.text else { return nil }
    self.name = name
    parameters = item.parameters
    error = parameters["error"]?.text
    nextHop = parameters["next-hop"]?.text
    receivedStatus = parameters["received-status"]?.status
    details = parameters["details"]?.string
    if case .bytes(let bytes)? = parameters["next-protocol"] {
      nextProtocol = String(data: bytes, encoding: .utf8)
    } else {
      nextProtocol = parameters["next-protocol"]?.token
    }
  }
}

extension HTTPFields {
  /// What proxies on the way say (`Proxy-Status`, RFC 9209): the one nearest to the origin first. Empty if the field is
  /// absent or invalid. Members that are not named by a token or a string are omitted.
  public var proxyStatuses: [ProxyStatus] { members(of: "Proxy-Status").compactMap { ProxyStatus($0) } }
}
