/// The domains under which anybody can register names: `com`, `co.uk`, `github.io`.
///
/// A cookie for a public suffix would be sent to all of these names, so it is rejected (RFC 6265bis §5.7). The Public
/// Suffix List (https://publicsuffix.org) defines them; without the list, ``singleLabels`` is the minimum.
///
/// ```swift
/// let suffixes = PublicSuffixes { ["com", "co.uk"].contains($0) }
/// suffixes.site(of: "www.example.co.uk")   // "example.co.uk"
/// ```
public struct PublicSuffixes: Sendable {
  private let isSuffix: @Sendable (String) -> Bool

  /// Makes a list.
  ///
  /// - Parameter isSuffix: returns whether a domain is a public suffix. Called concurrently, with names in lower case
  ///   and A-labels (`xn--…`), without a dot at either end.
  public init(_ isSuffix: @escaping @Sendable (String) -> Bool) { self.isSuffix = isSuffix }

  /// The rule to use without a list: only names without a dot are public suffixes, so `com` is one, but not `co.uk`.
  public static let singleLabels = PublicSuffixes { !$0.utf8.contains(UInt8(ascii: ".")) }

  /// Whether the domain is a public suffix. An address is not.
  public func contains(_ domain: String) -> Bool {
    guard !domain.isEmpty, !HostName.isAddress(domain) else { return false }
    return isSuffix(domain.hasSuffix(".") ? String(domain.dropLast()) : domain)
  }

  /// Returns the site of a host: its registrable domain, which is the shortest domain of the host that is not a public
  /// suffix. The host itself if there is none: for an address, a public suffix, or a name without dots.
  ///
  /// - Parameter host: the host in lower case and A-labels.
  public func site(of host: String) -> String {
    guard !HostName.isAddress(host) else { return host }
    var end = host.utf8.endIndex
    while let dot = host.utf8[..<end].lastIndex(of: UInt8(ascii: ".")) {
      let domain = String(host[host.utf8.index(after: dot)...])
      // A trailing dot belongs to the last label.
      if !domain.isEmpty, !contains(domain) { return domain }
      end = dot
    }
    return host
  }
}
