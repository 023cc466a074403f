/// What a host has announced with `Strict-Transport-Security` (RFC 6797): only https is to be used for it.
public struct StrictTransportPolicy: Sendable, Hashable {
  /// How many seconds the policy is valid, counted from the response; 0 withdraws it.
  public var maximumAge: Int
  /// Whether the policy applies to all subdomains of the host, too.
  public var includesSubdomains: Bool

  /// Makes a policy.
  public init(maximumAge: Int, includesSubdomains: Bool = false) {
    (self.maximumAge, self.includesSubdomains) = (maximumAge, includesSubdomains)
  }

  /// Parses the field of a response (§6.1); nil if it is missing or does not conform: it is then ignored as a whole. Of
  /// several fields, the first counts (§8.1).
  public init?(in fields: HTTPFields) {
    guard let value = fields[values: "Strict-Transport-Security"].first else { return nil }
    var names: Set<String> = []
    var age: Int?
    var includesSubdomains = false
    for element in FieldList.elements(of: Substring(value), separator: UInt8(ascii: ";")) {
      // No directive may appear twice. Unknown ones are ignored.
      guard let (name, value) = FieldParameters.pair(in: element),
        names.insert(name.canonicalName).inserted
      else { return nil }
      switch name.canonicalName {
      case "max-age":
        guard let seconds = value.flatMap(CacheControl.deltaSeconds) else { return nil }
        age = seconds
      case "includesubdomains":
        guard value == nil else { return nil }
        includesSubdomains = true
      default: break
      }
    }
    guard let age else { return nil }
    self.init(maximumAge: age, includesSubdomains: includesSubdomains)
  }

  /// The names whose policies may apply to a host: its own, and those of its superdomains, which apply if they include
  /// subdomains (§8.2). Empty for an address, to which none applies (§8.1.1).
  package static func candidates(for host: String) -> [String] {
    guard IPAddress(loose: host) == nil, !host.utf8.contains(UInt8(ascii: ":")) else { return [] }
    let name = host.hasSuffix(".") ? host.dropLast() : host[...]
    var candidates: [String] = []
    var rest = ASCII.lowercased(name)[...]
    while !rest.isEmpty {
      candidates.append(String(rest))
      guard let dot = rest.firstIndex(of: ".") else { break }
      rest = rest[rest.index(after: dot)...]
    }
    return candidates
  }

  /// Returns the URL with https in place of http, or wss in place of ws. An explicit port 80 becomes the default port,
  /// and any other is kept (§8.3). nil if the URL is not one of http or ws.
  package static func upgraded(_ url: URL) -> URL? {
    guard var components = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return nil }
    switch components.scheme.map(ASCII.lowercased) {
    case "http": components.scheme = "https"
    case "ws": components.scheme = "wss"
    default: return nil
    }
    if components.port == 80 { components.port = nil }
    return components.url
  }
}

/// Hosts that require https before they have said so, such as the ones of a file that a browser's list was made into.
///
/// A line of the file has a host. With a dot before it, its subdomains require https, too. Lines that begin with `#`
/// are comments.
///
/// ```
/// # our own
/// .example.com
/// login.example.net
/// ```
public struct StrictTransportList: Sendable, Hashable {
  /// The hosts, and whether their subdomains are included.
  private var hosts: [String: Bool] = [:]

  /// Makes an empty list.
  public init() {}

  /// Parses the text of a file.
  ///
  /// - Throws: ``InvalidLine`` for a line that is not a host.
  public init(parsing text: String) throws(InvalidLine) {
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (index, line) in lines.enumerated() {
      let line = ASCII.trimmed(line)
      guard !line.isEmpty, !line.hasPrefix("#") else { continue }
      let includesSubdomains = line.hasPrefix(".")
      let name = includesSubdomains ? line.dropFirst() : line
      guard let host = URL(string: "https://\(name)/").flatMap({ Origin($0) }), host.port == 443,
        !name.hasPrefix("."), !name.utf8.contains(where: { "/@?#:".utf8.contains($0) }),
        IPAddress(loose: host.host) == nil
      else { throw InvalidLine(number: index + 1) }
      hosts[host.host, default: false] = hosts[host.host] ?? false || includesSubdomains
    }
  }

  /// The number of hosts.
  public var count: Int { hosts.count }

  /// Whether a host requires https: it is in the list, or a superdomain is with its subdomains.
  public func contains(_ host: String) -> Bool {
    StrictTransportPolicy.candidates(for: host).enumerated().contains { index, name in
      hosts[name].map { index == 0 || $0 } ?? false
    }
  }

  /// A line that is not a host.
  public struct InvalidLine: Error, Sendable, Hashable, CustomStringConvertible {
    /// The number of the line, from 1.
    public let number: Int

    public var description: String {
      "line \(number) is not a host: write a name such as example.com, with a dot before it to include its subdomains"
    }
  }
}
