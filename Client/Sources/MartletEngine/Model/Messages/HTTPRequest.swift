@_spi(Toolkit) @_spi(Transports) public import MartletSemantics

/// A request: head, body and options.
///
/// ```swift
/// var request = HTTPRequest(.post, url, fields: [.accept: "application/json"], body: try .json(order))
/// request.options.deadline = .seconds(10)
/// ```
public struct HTTPRequest: Sendable {
  private var content: Shared<Content>

  /// The method, the URL and the fields.
  public var head: RequestHead {
    get { content.value.head }
    set { content = Shared(Content(newValue, content.value.body)) }
  }
  /// The body; empty by default.
  public var body: RequestBody {
    get { content.value.body }
    set { content.value.body = newValue }
  }
  /// Timeouts, policies, limits and listeners of this request.
  @inlinable public var options: RequestOptions {
    _read { yield sharedOptions.value }
    _modify { yield &sharedOptions.value }
  }
  /// Stored beside the content: the options change independently of it, and their changes must not copy it.
  @usableFromInline var sharedOptions: Shared<RequestOptions>

  /// Makes a request. It is not validated here: if it is invalid, the verb that sends it throws an error.
  ///
  /// - Parameters:
  ///   - method: the method.
  ///   - url: the URL. One without a scheme is relative to ``SessionConfiguration/baseURL``.
  ///   - query: names and values that are added to the URL's query, in order and percent-encoded, so that the server
  ///     decodes a plus sign as a plus sign and a space as a space. None by default.
  ///   - fields: the fields.
  ///   - body: the body; empty by default.
  ///   - options: the options. Unset options are the session's.
  public init(
    _ method: HTTPMethod = .get, _ url: URL, query: [(name: String, value: String)] = [], fields: HTTPFields = [:],
    body: RequestBody = .empty, options: RequestOptions? = nil
  ) {
    let url = query.isEmpty ? url : Self.url(URL.text(url.absoluteString, adding: query))
    content = Shared(Content(RequestHead(method: method, url: url, fields: fields), body))
    sharedOptions = options.map { Shared($0) } ?? .standard
  }

  /// Makes a request from the text of a URL: a whole one, or one relative to ``SessionConfiguration/baseURL``.
  ///
  /// ```swift
  /// let request = HTTPRequest(.get, "https://api.example.com/orders", query: [("state", "open"), ("q", "a+b c")])
  /// // GET https://api.example.com/orders?state=open&q=a%2Bb%20c
  /// ```
  ///
  /// Characters that a URL cannot contain, such as spaces and umlauts, are percent-encoded; escapes stay as they are.
  /// Encode data (an identifier in a path) before: see `PercentEncoding`. Text that is not a URL is not refused here:
  /// the verb that sends the request throws an ``HTTPError`` of kind `.invalidRequest`.
  ///
  /// - Parameters:
  ///   - method: the method.
  ///   - url: the URL.
  ///   - query: names and values that are added to the URL's query, as in the initializer with a `URL`.
  ///   - fields: the fields.
  ///   - body: the body; empty by default.
  ///   - options: the options. Unset options are the session's.
  public init(
    _ method: HTTPMethod = .get, _ url: String, query: [(name: String, value: String)] = [],
    fields: HTTPFields = [:], body: RequestBody = .empty, options: RequestOptions? = nil
  ) {
    self.init(method, Self.url(URL.text(url, adding: query)), fields: fields, body: body, options: options)
  }

  /// The method.
  public var method: HTTPMethod {
    get { content.value.head.method }
    set { content.value.head.method = newValue }
  }

  /// The URL. User information in it is a credential for its origin and is not sent as part of the URL: it answers the
  /// origin's challenges for Basic or Digest.
  public var url: URL {
    get { content.value.head.url }
    set { head.url = newValue }
  }

  /// The fields.
  public var fields: HTTPFields {
    get { content.value.head.fields }
    _modify { yield &content.value.head.fields }
  }

  /// The origin of the URL: scheme, host and port (RFC 6454 §4). A `CredentialSource` or an interceptor uses it to
  /// decide which secrets the request may carry. nil if the URL has none; such a request fails before anything is sent.
  public var origin: Origin? { content.value.reading.origin }

  /// The properties parsed from the text of the URL.
  var reading: URLReading { content.value.reading }

  /// The key of the response within a partition of the cache.
  func cacheKey(in partition: String) -> CacheKey { CacheKey(url, reading, partition: partition) }

  /// Whether it has a body: asking the body itself would copy it.
  package var hasBody: Bool { !content.value.body.isEmpty }

  /// The fields of the request's body.
  var bodyFields: HTTPFields { content.value.body.fields }
}

/// What a request consists of, besides its options.
private struct Content: Sendable {
  var head: RequestHead
  var body: RequestBody
  let reading: URLReading

  init(_ head: RequestHead, _ body: RequestBody) {
    (self.head, self.body) = (head, body)
    reading = URLReading(head.url)
  }
}

extension HTTPRequest: CustomStringConvertible {
  /// The head without secrets, and the length of the body.
  public var description: String { "\(head)\n(\(body))" }
}

extension HTTPRequest {
  /// Parses a URL. If the text is not a URL, returns a placeholder that cannot be sent; it contains the text, without
  /// secrets, for the error message.
  private static func url(_ text: String) -> URL {
    if let url = URL(text: text) { return url }
    let shown = PercentEncoding.pathSegment.encode(Redaction.strict.redacted(reference: text))
    let scheme = if case .backslash? = URLAuthority.fault(of: text) { backslashScheme } else { unusableScheme }
    return URL(string: "\(scheme):\(shown)") ?? URL(filePath: "/")
  }

  private static let unusableScheme = "not-a-url"
  private static let backslashScheme = "not-a-url-with-backslash"

  /// Checks the assumptions of every transport: the URL has the scheme http or https and names a host, no field was
  /// refused, the body's length is not negative, and the method allows a body if there is one.
  func validate() throws(HTTPError) {
    if origin == nil { throw noOriginError }
    if let refusal = fields.refusal { throw HTTPError(wrapping: refusal) }
    if let length = body.length, length < 0 {
      throw .invalid("the request's body has the length \(length)")
    }
    guard !body.isEmpty else { return }
    switch method {
    case .head: throw .invalid("a HEAD request cannot have a body (RFC 9110 §9.3.2)")
    case .trace: throw .invalid("a TRACE request cannot have a body (RFC 9110 §9.3.8)")
    case .connect: throw .invalid("a CONNECT request cannot have a body (RFC 9110 §9.3.6)")
    default: break
    }
  }

  /// The error for a URL without an ``Origin``: its scheme is not http or https, or it does not name the host and port
  /// to connect to.
  package var noOriginError: HTTPError {
    guard let scheme = url.scheme else {
      return .invalid(
        "the URL '\(url.redacted)' has no scheme: use http or https, or set SessionConfiguration.baseURL",
        because: UnsupportedScheme())
    }
    if [Self.unusableScheme, Self.backslashScheme].contains(scheme) {
      let text = PercentEncoding.pathSegment.decode(url.absoluteString.dropFirst(scheme.utf8.count + 1))
      if scheme == Self.backslashScheme { return .invalid("'\(text)' \(URLAuthority.Fault.backslash)") }
      return .invalid(
        "'\(text)' is not a URL: write scheme, host and path, such as https://example.com/orders, and percent-encode "
          + "what is data")
    }
    if url.ofWebSocketHandshake != nil {
      return .invalid(
        "the URL '\(url.redacted)' has the scheme '\(scheme)': open it with webSocket(for:) of MartletWebSocket",
        because: UnsupportedScheme())
    }
    guard ASCII.equalIgnoringCase(scheme, "http") || ASCII.equalIgnoringCase(scheme, "https") else {
      return .invalid(
        "the URL '\(url.redacted)' has the scheme '\(scheme)': use http or https", because: UnsupportedScheme())
    }
    return .invalid("the URL '\(url.redacted)' \(URLAuthority.fault(of: url.absoluteString) ?? .missing)")
  }
}

extension HTTPError {
  fileprivate static func invalid(_ message: String, because underlying: (any Error)? = nil) -> HTTPError {
    HTTPError(.invalidRequest, message, phase: .preparing, underlying: underlying)
  }
}
