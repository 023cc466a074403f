public import Martlet

extension NetworkRequest {
  /// Returns the request as the engine sends it.
  ///
  /// - Throws: the first error of its modifiers, or `.invalidRequest` if there is no base URL.
  public func rendered(in environment: NetworkEnvironment) throws(HTTPError) -> HTTPRequest {
    if let fault { throw fault }
    guard let base = baseURL ?? environment.baseURL else {
      throw HTTPError(
        .invalidRequest, "the request has no host: set its baseURL, or that of the container's environment")
    }
    guard var parts = URLComponents(url: base, resolvingAgainstBaseURL: true), parts.host?.isEmpty == false
    else {
      throw HTTPError(.invalidRequest, "the base URL \(base.redacted) has no host")
    }
    parts.fragment = nil
    parts.percentEncodedPath = path.joined(to: parts.percentEncodedPath)
    if !query.isEmpty {
      let pairs = query.map { pair in
        let name = PercentEncoding.queryComponent.encode(pair.name)
        return pair.value.map { "\(name)=\(PercentEncoding.queryComponent.encode($0))" } ?? name
      }
      let own = parts.percentEncodedQuery.map { $0.isEmpty ? [] : [$0] } ?? []
      parts.percentEncodedQuery = (own + pairs).joined(separator: "&")
    }
    guard let url = parts.url else {
      throw HTTPError(.invalidRequest, "the base URL \(base.redacted) and the path are not a valid URL")
    }
    return HTTPRequest(method, url, fields: fields, body: content, options: options)
  }
}

/// The percent-encoded segments of a path.
struct RequestPath: Sendable, Hashable {
  private var segments: [String] = []
  private var endsWithSlash = false

  /// Appends text whose slashes separate segments. Returns false if one of them is `.` or `..`.
  mutating func append(text: String) -> Bool {
    let pieces = text.split(separator: "/", omittingEmptySubsequences: true)
    guard !pieces.contains("."), !pieces.contains("..") else { return false }
    segments += pieces.map { PercentEncoding.pathSegment.encode($0) }
    endsWithSlash = text.isEmpty ? endsWithSlash : text.hasSuffix("/")
    return true
  }

  /// Appends one segment, whose slashes are data. Returns false if it is empty, `.` or `..`.
  mutating func append(segment: String) -> Bool {
    guard segment != ".", segment != "..", !segment.isEmpty else { return false }
    segments.append(PercentEncoding.pathSegment.encode(segment))
    endsWithSlash = false
    return true
  }

  /// Returns the path appended to that of a base URL.
  func joined(to base: String) -> String {
    guard !segments.isEmpty else { return endsWithSlash && !base.hasSuffix("/") ? base + "/" : base }
    let start = base.hasSuffix("/") ? String(base.dropLast()) : base
    return start + "/" + segments.joined(separator: "/") + (endsWithSlash ? "/" : "")
  }
}
