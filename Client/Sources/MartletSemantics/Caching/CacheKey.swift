/// The key of stored responses: the URL of the target (RFC 9111 §2) within a partition. That of a QUERY also has a
/// digest of its content (RFC 10008 §2.7).
///
/// Responses of one partition are never used for another, so a partition for each user separates their responses.
/// Within a named partition, credentials do not separate responses, because the name identifies the user.
///
/// ```swift
/// CacheKey(URL(string: "HTTP://Example.com:80#top")!).url   // "http://example.com/"
/// ```
public struct CacheKey: Sendable, Hashable {
  /// The partition; empty by default.
  public let partition: String
  /// The normalized URL: without fragment, user information and default port, with scheme and host in lower case, and
  /// with a path (RFC 9110 §4.2.3). Path and query are unchanged. For a QUERY, ``content`` follows as a fragment, which
  /// no other key has.
  public let url: String
  /// A key is looked up several times, and its URL may be long.
  private let hash: Int

  /// Makes the key of a URL.
  public init(_ url: URL, partition: String = "") {
    self.init(url, URLReading(url), partition: partition)
  }

  /// Makes the key of a URL from its reading.
  package init(_ url: URL, _ reading: URLReading, partition: String) {
    self.init(partition: partition, normalizedURL: Self.normal(url, reading))
  }

  /// Makes a key from its stored parts.
  public init(partition: String, normalizedURL: String) {
    self.partition = partition
    url = normalizedURL
    var hasher = Hasher()
    hasher.combine(normalizedURL)
    hasher.combine(partition)
    hash = hasher.finalize()
  }

  /// Makes the key of a QUERY.
  ///
  /// - Parameters:
  ///   - target: the key of its target.
  ///   - content: the SHA-256 of `QueryContent.hashed(before:)` and its content.
  package init(_ target: CacheKey, content: Data) {
    let digits = content.map { byte in
      let text = String(byte, radix: 16)
      return text.utf8.count == 1 ? "0" + text : text
    }
    self.init(partition: target.partition, normalizedURL: target.url + "#" + digits.joined())
  }

  /// The digest of the content of a QUERY and of the fields that describe it, in hexadecimal; nil for other keys.
  public var content: String? { fragment.map { String(url[url.utf8.index(after: $0)...]) } }

  /// The key of a QUERY's target; of another request, the key itself.
  ///
  /// A store that removes the responses of a key also removes those of all QUERY requests with this target.
  public var target: CacheKey {
    fragment.map { CacheKey(partition: partition, normalizedURL: String(url[..<$0])) } ?? self
  }

  /// The start of the fragment of a QUERY's key: 64 digits follow. Found without a search.
  private var fragment: String.Index? {
    let bytes = url.utf8
    guard bytes.count > 65 else { return nil }
    let start = bytes.index(bytes.endIndex, offsetBy: -65)
    guard bytes[start] == UInt8(ascii: "#") else { return nil }
    return bytes[start...].dropFirst().allSatisfy(Self.isDigit) ? start : nil
  }

  /// Whether a byte is a hexadecimal digit in lower case.
  private static func isDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
    default: false
    }
  }

  public static func == (left: Self, right: Self) -> Bool {
    left.hash == right.hash && left.url == right.url && left.partition == right.partition
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(hash) }

  /// Whether the request has a `Host` field with another host than its URL. The response to such a request has no key.
  package static func isForeignHost(in request: RequestHead) -> Bool {
    guard request.fields.contains(.host) else { return false }
    let lines = request.fields[values: .host]
    guard let line = lines.first else { return false }
    guard lines.count == 1, let origin = Origin(request.url) else { return true }
    let own = origin.description.dropFirst(origin.scheme.count + 3)
    let port = ":\(origin.port)"
    return ![String(own), own.hasSuffix(port) ? String(own) : own + port].contains { ASCII.equalIgnoringCase($0, line) }
  }

  private static func normal(_ url: URL, _ reading: URLReading) -> String {
    guard !reading.isCacheKey, let origin = reading.origin else { return url.absoluteString }
    let target = target(of: url)
    return origin.description + (target.utf8.first == UInt8(ascii: "/") ? target : "/" + target)
  }

  /// Returns path and query as the URL's text has them.
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
