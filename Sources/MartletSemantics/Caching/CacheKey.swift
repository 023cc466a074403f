/// What a stored answer is found by: the target's URL (RFC 9111 §2), within a partition.
///
/// Answers that were stored for one partition are never seen from another: a partition for each user keeps their answers
/// apart. Within a partition that has a name, answers are not told apart by credentials, because that name stands for the
/// user.
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

  /// Whether a `Host` field of a request's own names another host than its URL: what such a request is answered with belongs
  /// to no URL that a key could be made of.
  package static func isForeignHost(in request: RequestHead) -> Bool {
    let lines = request.fields[values: .host]
    guard let line = lines.first else { return false }
    guard lines.count == 1, let origin = Origin(request.url) else { return true }
    let own = origin.description.dropFirst(origin.scheme.count + 3)
    let port = ":\(origin.port)"
    return ![String(own), own.hasSuffix(port) ? String(own) : own + port].contains { ASCII.equalIgnoringCase($0, line) }
  }

  private static func normal(_ url: URL) -> String {
    guard let origin = Origin(url) else { return url.absoluteString }
    let target = target(of: url)
    return origin.description + (target.utf8.first == UInt8(ascii: "/") ? target : "/" + target)
  }

  /// Path and query, cut from the URL's own text byte by byte: every request comes by here, and taking the URL apart by its
  /// components takes ten times as long.
  private static func target(of url: URL) -> String {
    var text = url.absoluteString
    return text.withUTF8 { bytes in
      var start = bytes.firstIndex(of: UInt8(ascii: "/")).map { $0 + 2 } ?? bytes.count
      while start < bytes.count, ![UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#")].contains(bytes[start]) {
        start += 1
      }
      let rest = bytes[min(start, bytes.count)...]
      return String(decoding: rest.prefix { $0 != UInt8(ascii: "#") }, as: UTF8.self)
    }
  }
}
