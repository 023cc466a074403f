/// What a stored answer is found by: the target's URL (RFC 9111 §2), within a partition.
///
/// Answers that were stored for one partition are never seen from another: a partition for each user or tenant keeps
/// their answers apart.
///
/// ```swift
/// CacheKey(URL(string: "HTTP://Example.com:80#top")!).url   // "http://example.com/"
/// ```
public struct CacheKey: Sendable, Hashable {
  /// The partition; the empty one by default.
  public let partition: String
  /// The URL as it is compared: without fragment and user information, scheme and host in lower case, without the
  /// scheme's own port, and with a path (RFC 9110 §4.2.3). Path and query stay as they are.
  public let url: String

  /// Makes the key of a URL.
  public init(_ url: URL, partition: String = "") {
    self.partition = partition
    self.url = Self.normal(url)
  }

  /// Makes a key from its parts, as a store kept them.
  public init(partition: String, normalizedURL: String) {
    self.partition = partition
    url = normalizedURL
  }

  private static func normal(_ url: URL) -> String {
    guard let origin = Origin(url), let parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else {
      return url.absoluteString
    }
    let path = parts.percentEncodedPath
    return origin.description + (path.isEmpty ? "/" : path) + (parts.percentEncodedQuery.map { "?" + $0 } ?? "")
  }
}
