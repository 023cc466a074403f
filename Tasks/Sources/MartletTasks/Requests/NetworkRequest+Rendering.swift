@_spi(Toolkit) import MartletSemantics
public import Martlet

extension NetworkRequest {
  /// Returns the request in the engine's form.
  ///
  /// - Throws: the first error of its modifiers, or `.invalidRequest` if there is no base URL.
  public func rendered(in environment: NetworkEnvironment) throws(HTTPError) -> HTTPRequest {
    if let fault { throw fault }
    if let request = renderedAsItIs { return request }
    guard let baseURL = baseURL ?? environment.baseURL else {
      throw HTTPError(
        .invalidRequest, "the request has no host: set its baseURL, or that of the container's environment")
    }
    guard let base = self.baseURL == nil ? environment.base : RequestBase(baseURL) else {
      throw HTTPError(.invalidRequest, "the base URL \(baseURL.redacted) has no host")
    }
    let pairs = query.map { pair in
      let name = PercentEncoding.queryComponent.encode(pair.name)
      return pair.value.map { "\(name)=\(PercentEncoding.queryComponent.encode($0))" } ?? name
    }
    guard let url = base.url(path, query: pairs) else {
      throw HTTPError(.invalidRequest, "the base URL \(baseURL.redacted) and the path are not a valid URL")
    }
    return HTTPRequest(method, url, fields: fields, body: content, options: options)
  }

  /// The request if it only uses its own base URL, without additional path or query: composing a URL is most of the
  /// work.
  private var renderedAsItIs: HTTPRequest? {
    guard path.isEmpty, query.isEmpty, let baseURL, baseURL.baseURL == nil,
      !baseURL.absoluteString.utf8.contains(UInt8(ascii: "#"))
    else { return nil }
    let request = HTTPRequest(method, baseURL, fields: fields, body: content, options: options)
    return request.origin == nil ? nil : request
  }
}

/// The parts of a base URL. They are extracted once, because that takes longer than making a request's URL from them.
struct RequestBase: Sendable {
  /// nil if the URL is neither http nor https.
  let origin: Origin?
  /// Scheme, user information, host and port.
  private let start: String
  private let path: String
  private let query: String?

  /// - Returns: nil if the URL has no host.
  init?(_ url: URL) {
    guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true), parts.host?.isEmpty == false else {
      return nil
    }
    (path, query) = (parts.percentEncodedPath, parts.percentEncodedQuery)
    (parts.percentEncodedPath, parts.percentEncodedQuery, parts.fragment) = ("", nil, nil)
    guard let start = parts.string else { return nil }
    self.start = start
    origin = Origin(url)
  }

  /// Returns the URL with a path and with percent-encoded pairs, after the pairs of the base.
  func url(_ path: RequestPath, query pairs: [String]) -> URL? {
    var text = start + path.joined(to: self.path)
    if !pairs.isEmpty {
      let own = query.map { $0.isEmpty ? [] : [$0] } ?? []
      text += "?" + (own + pairs).joined(separator: "&")
    } else if let query {
      text += "?" + query
    }
    return URL(string: text)
  }
}

/// The percent-encoded segments of a path.
struct RequestPath: Sendable, Hashable {
  private var segments: [String] = []
  private var endsWithSlash = false

  var isEmpty: Bool { segments.isEmpty && !endsWithSlash }

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
