#if os(Linux)
import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// Addresses of hosts that take precedence over name servers, for example for a server that is not in DNS yet:
/// `ResolveOverrides(["api.example.com": ["192.0.2.7"], "api.example.com:8443": ["127.0.0.1", "::1"]])`
struct ResolveOverrides: Sendable, Hashable {
  private let table: [String: [IPAddress]]

  /// No overrides.
  static let none = ResolveOverrides()

  private init() { table = [:] }

  /// Makes overrides.
  ///
  /// - Parameter entries: the addresses of `host`, or of `host:port` for one port only, which takes precedence. A host
  ///   may be written as in a URL.
  /// - Throws: ``HTTPError/Kind/invalidRequest`` if an entry has no address, or text that is not an address.
  init(_ entries: [String: [String]]) throws(HTTPError) {
    var table: [String: [IPAddress]] = [:]
    for (host, texts) in entries {
      let addresses = texts.compactMap { IPAddress($0) }
      guard !host.isEmpty, !addresses.isEmpty, addresses.count == texts.count else {
        throw HTTPError(
          .invalidRequest, "the override of '\(host)' is not a list of IP addresses: \(texts)", phase: .preparing)
      }
      table[Self.key(host)] = addresses
    }
    self.table = table
  }

  private static func key(_ entry: String) -> String {
    if let host = HostName.canonical(entry) { return host }
    guard let colon = entry.lastIndex(of: ":"), let host = HostName.canonical(entry[..<colon]) else {
      return ASCII.lowercased(entry)
    }
    return host + entry[colon...]
  }

  /// Returns the addresses of a host in lower case; nil if it has none here.
  func addresses(of host: String, port: Int) -> [IPAddress]? {
    table.isEmpty ? nil : table["\(host):\(port)"] ?? table[host]
  }
}
#endif
