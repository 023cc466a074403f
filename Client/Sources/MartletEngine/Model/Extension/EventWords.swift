@_spi(Toolkit) public import MartletSemantics

/// The words for events that ``Event/description`` and more detailed reports share. They contain no secrets. Text from
/// elsewhere, such as from a server, is not escaped.
@_spi(Toolkit) public enum EventWords {
  /// Where a response comes from.
  static func origin(of source: HTTPResponse.Source) -> String {
    switch source {
    case .network: "the response comes from the network"
    case .cache: "the response comes from the cache, and is fresh"
    case .revalidated: "the response comes from the cache: the server said that it is still valid"
    case .stale: "the response comes from the cache, and is stale"
    case .offline: "the response comes from the cache, because the server cannot be reached"
    }
  }

  /// The section that allows a response from this source; nil for the network.
  public static func rule(for source: HTTPResponse.Source) -> String? {
    switch source {
    case .network: nil
    case .cache: "RFC 9111 §4.2"
    case .revalidated: "RFC 9111 §4.3.4"
    case .stale: "RFC 9111 §4.2.4"
    case .offline: "RFC 9111 §4.2.4, RFC 5861 §4"
    }
  }

  /// The additions below the interceptors: cookies, and the conditions of the cache.
  public static func additions(to prepared: RequestHead?, _ sent: RequestHead) -> [String] {
    guard let prepared else { return [] }
    var lines: [String] = []
    if !prepared.fields.contains(.cookie), let cookies = sent.fields[.cookie] {
      let count = cookies.split(separator: ";").count
      lines.append("the cookie jar has \(count) cookie\(count == 1 ? "" : "s") for it")
    }
    for name in [FieldName.ifNoneMatch, .ifModifiedSince]
    where !prepared.fields.contains(name) && sent.fields.contains(name) {
      lines.append("the cache asks whether its response is still valid (\(name))")
    }
    return lines
  }

  /// The cookies that a response sets.
  public static func cookies(set head: ResponseHead) -> [String] {
    let names = head.fields[values: .setCookie].map { line in
      String(ASCII.trimmed(String(line.prefix { $0 != "=" && $0 != ";" })))
    }
    guard !names.isEmpty else { return [] }
    let which = names.count == 1 ? "the cookie" : "cookies"
    return ["the response sets \(which) \(names.joined(separator: ", "))".printable]
  }

  /// What else the origin of a response offers, such as HTTP/3 (`Alt-Svc`).
  public static func offers(of head: ResponseHead) -> [String] {
    let services = head.fields.alternativeServices
    guard !services.isEmpty else { return [] }
    let names = services.map { "\($0.protocolID) on port \($0.port)" + ($0.host.map { " of \($0)" } ?? "") }
    return ["this origin offers \(names.joined(separator: ", ")) (Alt-Svc), which is not used".printable]
  }

  /// What caches and proxies on the way say about a response, and its priority.
  static func intermediaries(of head: ResponseHead) -> [String] {
    let fields = head.fields
    var lines = fields.cacheStatuses.map { "the cache \($0) (Cache-Status)".printable }
    lines += fields.proxyStatuses.map { "the proxy \($0) (Proxy-Status)".printable }
    if let priority = fields.priority { lines.append("the response has \(priority) (Priority)") }
    return lines
  }

  /// What a server says about the end of a resource, and where people can read more.
  static func deprecation(_ notice: DeprecationNotice, of url: URL, _ redaction: Redaction) -> String {
    let pages = notice.links.compactMap { $0.url(relativeTo: url) }.map { redaction.redacted($0) }
    let more = pages.isEmpty ? "" : "; see " + pages.prefix(4).joined(separator: " and ")
    return "\(redaction.redacted(url)), says its server: \(notice)\(more)".printable
  }

  /// When and why a request is sent again.
  static func resend(after delay: Duration, because reason: String) -> String {
    delay > .zero ? "again in \(Quantity.text(delay)): \(reason)" : "again: \(reason)"
  }

  /// The number of an attempt and its request.
  public static func attempt(_ number: Int, _ request: HTTPRequest, _ redaction: Redaction) -> String {
    "attempt \(number): \(request.method) \(redaction.redacted(request.url))"
  }

  /// The error with which a call failed.
  public static func failure(_ error: HTTPError) -> String { "failed with \(error.kind): \(error.message)" }
}
