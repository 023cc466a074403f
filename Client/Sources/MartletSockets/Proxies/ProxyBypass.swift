#if os(Linux)
@_spi(Toolkit) import MartletSemantics

/// The hosts that are connected to without a proxy, in the syntax of `no_proxy`: entries separated by commas or spaces.
///
/// | entry | matches |
/// |---|---|
/// | `*`, as the only entry | every host |
/// | `example.com`, `.example.com` | the host and its subdomains, whatever their case, with or without a dot at the end |
/// | `*.example.com` | the subdomains of the host |
/// | `192.0.2.1`, `192.0.2.0/24` | the address; the addresses that begin with these bits |
/// | `2001:db8::1`, `[2001:db8::1]`, `2001:db8::/32` | the same for IPv6, in any notation and whatever the zone |
/// | `example.com:8080`, `[::1]:8080` | the same hosts, at this port only |
///
/// This follows curl, with some differences where curl 7.88 ignores what the entry says. An entry with a port matches
/// (curl: never), IPv6 addresses are compared as addresses (curl: as text), and a prefix of length 0 is the whole
/// family (curl: one address). `*.example.com` matches, as in Go, .NET and undici (curl: never). As in curl, names are
/// not resolved to compare their addresses.
struct ProxyBypass: Sendable, Hashable {
  private enum Hosts: Sendable, Hashable {
    case all
    /// A domain in lower case without dots around it.
    case domain(String)
    /// The domains below one.
    case subdomains(String)
    case addresses(AddressPrefix)
  }

  private struct Entry: Sendable, Hashable {
    let hosts: Hosts
    /// The only port; nil for all.
    let port: Int?
  }

  private let entries: [Entry]

  /// Parses a list. Entries without a meaning match nothing.
  init(_ list: String) {
    let items = list.split { $0 == "," || $0 == " " || $0 == "\t" }
    entries = list == "*" ? [Entry(hosts: .all, port: nil)] : items.compactMap(Self.entry)
  }

  /// Whether requests to the host are sent without the proxy.
  ///
  /// - Parameters:
  ///   - host: the host in lower case, an address without brackets, as in an `Origin`.
  ///   - port: the port of the request.
  func contains(_ host: String, port: Int) -> Bool {
    guard !entries.isEmpty else { return false }
    let address = IPAddress(host)?.withoutZone
    let name = host.hasSuffix(".") ? host.dropLast() : host[...]
    return entries.contains { entry in
      guard entry.port == nil || entry.port == port else { return false }
      switch entry.hosts {
      case .all: return true
      case .subdomains(let domain): return address == nil && name.hasSuffix(".\(domain)")
      case .domain(let domain): return address == nil && (name == domain || name.hasSuffix(".\(domain)"))
      case .addresses(let prefix): return address.map(prefix.contains) ?? false
      }
    }
  }

  private static func entry(_ text: Substring) -> Entry? {
    if let hosts = hosts(text) { return Entry(hosts: hosts, port: nil) }
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (1...65_535).contains(port), let hosts = hosts(text[..<colon])
    else { return nil }
    return Entry(hosts: hosts, port: port)
  }

  private static func hosts(_ text: Substring) -> Hosts? {
    if text.hasPrefix("[") { return unbracketed(text).flatMap(AddressPrefix.init).map { .addresses($0) } }
    if let prefix = AddressPrefix(text) { return .addresses(prefix) }
    guard !text.contains(":"), !text.contains("/") else { return nil }
    var domain = text
    let isStarred = domain.hasPrefix("*.")
    if isStarred { domain.removeFirst() }
    if domain.hasPrefix(".") { domain.removeFirst() }
    if domain.hasSuffix(".") { domain.removeLast() }
    guard !domain.isEmpty, let canonical = HostName.canonical(domain) else { return nil }
    if isStarred { return AddressPrefix(canonical) == nil ? .subdomains(canonical) : nil }
    return AddressPrefix(canonical).map { .addresses($0) } ?? .domain(canonical)
  }

  /// Returns `::/8` for `[::]/8`; nil if the brackets do not surround the address.
  private static func unbracketed(_ text: Substring) -> String? {
    guard let end = text.firstIndex(of: "]") else { return nil }
    let length = text[text.index(after: end)...]
    guard length.isEmpty || length.hasPrefix("/") else { return nil }
    return String(text[..<end].dropFirst() + length)
  }
}
#endif
