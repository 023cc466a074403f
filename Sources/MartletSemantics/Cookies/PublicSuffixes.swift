/// Which domains are registries, below which strangers register their names: `com`, `co.uk`, `github.io`.
///
/// A cookie for a public suffix would reach them all, so that it is refused (RFC 6265bis §5.7). The Public Suffix List
/// (https://publicsuffix.org) says which they are; where no list is at hand, ``singleLabels`` is the least one can do.
///
/// ```swift
/// let suffixes = PublicSuffixes { ["com", "co.uk"].contains($0) }
/// suffixes.site(of: "www.example.co.uk")   // "example.co.uk"
/// ```
public struct PublicSuffixes: Sendable {
  private let isSuffix: @Sendable (String) -> Bool

  /// Makes a list.
  ///
  /// - Parameter isSuffix: says whether a domain is a public suffix. It is asked with names in lower case and A-labels
  ///   (`xn--…`), without a dot at either end, from many tasks at the same time.
  public init(_ isSuffix: @escaping @Sendable (String) -> Bool) { self.isSuffix = isSuffix }

  /// The rule where there is no list: a name without a dot is a public suffix, and nothing else. It stops `com`, but not
  /// `co.uk`.
  public static let singleLabels = PublicSuffixes { !$0.utf8.contains(UInt8(ascii: ".")) }

  /// Whether the domain is a public suffix. An address is none.
  public func contains(_ domain: String) -> Bool {
    guard !domain.isEmpty, !CookieHost.isAddress(domain) else { return false }
    return isSuffix(domain.hasSuffix(".") ? String(domain.dropLast()) : domain)
  }

  /// The site of a host: the registrable domain, which is the shortest domain above the host that is no public suffix. The
  /// host itself where there is none: an address, a public suffix, a name without dots.
  ///
  /// - Parameter host: in lower case and A-labels.
  public func site(of host: String) -> String {
    guard !CookieHost.isAddress(host) else { return host }
    var end = host.utf8.endIndex
    while let dot = host.utf8[..<end].lastIndex(of: UInt8(ascii: ".")) {
      let domain = String(host[host.utf8.index(after: dot)...])
      // A dot at the end belongs to the last label.
      if !domain.isEmpty, !contains(domain) { return domain }
      end = dot
    }
    return host
  }
}
