public import MartletSemantics

/// A request: head, body and options.
///
/// ```swift
/// var request = HTTPRequest(.post, url, fields: [.accept: "application/json"], body: try .json(order))
/// request.options.deadline = .seconds(10)
/// ```
public struct HTTPRequest: Sendable {
  private var content: Content

  /// The method, the URL and the fields.
  public var head: RequestHead {
    get { content.head }
    set { content = Content(newValue, content.body) }
  }
  /// The body; empty by default.
  public var body: RequestBody {
    get { content.body }
    set {
      makeUnique()
      content.body = newValue
    }
  }
  /// Timeouts, policies, limits and listeners of this request.
  public var options: RequestOptions

  /// Makes a request. It is not validated here: an invalid one is an error of the verb that sends it.
  ///
  /// - Parameters:
  ///   - method: the method.
  ///   - url: the URL. One without a scheme is relative to ``SessionConfiguration/baseURL``.
  ///   - query: names and values that are added to the URL's query, in order and percent-encoded: a plus sign and a
  ///     space arrive as such. None by default.
  ///   - fields: the fields.
  ///   - body: the body; empty by default.
  ///   - options: the options. Those that are not set are the session's.
  public init(
    _ method: HTTPMethod = .get, _ url: URL, query: [(name: String, value: String)] = [], fields: HTTPFields = [:],
    body: RequestBody = .empty, options: RequestOptions = .init()
  ) {
    let url = query.isEmpty ? url : Self.url(URL.text(url.absoluteString, adding: query))
    content = Content(RequestHead(method: method, url: url, fields: fields), body)
    self.options = options
  }

  /// Makes a request for a URL that is given as text: a whole one, or one relative to ``SessionConfiguration/baseURL``.
  ///
  /// ```swift
  /// let request = HTTPRequest(.get, "https://api.example.com/orders", query: [("state", "open"), ("q", "a+b c")])
  /// // GET https://api.example.com/orders?state=open&q=a%2Bb%20c
  /// ```
  ///
  /// Characters that a URL cannot contain, such as spaces and umlauts, are percent-encoded; escapes stay as they are.
  /// What is data (an identifier in a path) must be encoded before: see `PercentEncoding`. Text that is no URL is not
  /// refused here: the verb that sends the request throws ``HTTPError`` of kind `.invalidRequest`.
  ///
  /// - Parameters:
  ///   - method: the method.
  ///   - url: the URL.
  ///   - query: names and values that are added to the URL's query, as in the initializer with a `URL`.
  ///   - fields: the fields.
  ///   - body: the body; empty by default.
  ///   - options: the options. Those that are not set are the session's.
  public init(
    _ method: HTTPMethod = .get, _ url: String, query: [(name: String, value: String)] = [],
    fields: HTTPFields = [:], body: RequestBody = .empty, options: RequestOptions = .init()
  ) {
    self.init(method, Self.url(URL.text(url, adding: query)), fields: fields, body: body, options: options)
  }

  /// The method.
  public var method: HTTPMethod {
    get { content.head.method }
    set {
      makeUnique()
      content.head.method = newValue
    }
  }

  /// The URL. User information in it is a credential for its origin and is not sent as part of the URL: user and
  /// password answer the origin's challenges for Basic or Digest.
  public var url: URL {
    get { content.head.url }
    set { head.url = newValue }
  }

  /// The fields.
  public var fields: HTTPFields {
    get { content.head.fields }
    _modify {
      makeUnique()
      yield &content.head.fields
    }
  }

  /// The origin of the URL: scheme, host and port (RFC 6454 §4). A `CredentialSource` or an interceptor decides by it what
  /// the request may carry. Nil if the URL has none; such a request fails before anything is sent.
  public var origin: Origin? { content.reading.origin }

  /// What the text of the URL has told.
  var reading: URLReading { content.reading }

  /// The key of the response within a partition of the cache.
  func cacheKey(in partition: String) -> CacheKey { CacheKey(url, reading, partition: partition) }

  /// The fields that the request's body brings with it.
  var bodyFields: HTTPFields { content.body.fields }

  /// Makes the content one that no other request refers to, before it is changed.
  private mutating func makeUnique() {
    if !isKnownUniquelyReferenced(&content) { content = Content(copying: content) }
  }
}

/// What a request consists of, besides its options. A request is a reference to it, because it is copied far more often
/// than it is changed.
// SAFETY: it is changed only by a request that is the only one to refer to it; whoever changes that has exclusive access
// to it, so that the content needs no check of its own.
private final class Content: @unchecked Sendable {
  @exclusivity(unchecked) var head: RequestHead
  @exclusivity(unchecked) var body: RequestBody
  let reading: URLReading

  init(_ head: RequestHead, _ body: RequestBody) {
    self.head = head
    self.body = body
    reading = URLReading(head.url)
  }

  init(copying other: Content) {
    (head, body, reading) = (other.head, other.body, other.reading)
  }
}

extension HTTPRequest: CustomStringConvertible {
  /// The head without secrets, and the length of the body.
  public var description: String { "\(head)\n(\(body))" }
}

extension HTTPRequest {
  /// Returns the URL that the text is. For text that is none, one that cannot be sent and that has the text, without
  /// secrets, for the error.
  private static func url(_ text: String) -> URL {
    if let url = URL(text: text) { return url }
    let shown = PercentEncoding.pathSegment.encode(Redaction.strict.redacted(reference: text))
    let scheme = if case .backslash? = URLAuthority.fault(of: text) { backslashScheme } else { unusableScheme }
    return URL(string: "\(scheme):\(shown)") ?? URL(filePath: "/")
  }

  private static let unusableScheme = "not-a-url"
  private static let backslashScheme = "not-a-url-with-backslash"

  /// Checks what every transport relies on: the URL has the scheme http or https and names a host, no field was
  /// refused, and the body's length is not negative.
  @inline(never)  // its variables would have room in the frame of a call
  func validate() throws(HTTPError) {
    if origin == nil { throw reasonOfNoOrigin }
    if let refusal = fields.refusal { throw HTTPError(wrapping: refusal) }
    if let length = body.length, length < 0 {
      throw .invalid("the request's body has the length \(length)")
    }
  }

  private var reasonOfNoOrigin: HTTPError {
    guard let scheme = url.scheme else {
      return .invalid(
        "the URL '\(url.redacted)' has no scheme: use http or https, or set SessionConfiguration.baseURL")
    }
    if [Self.unusableScheme, Self.backslashScheme].contains(scheme) {
      let text = PercentEncoding.pathSegment.decode(url.absoluteString.dropFirst(scheme.utf8.count + 1))
      if scheme == Self.backslashScheme { return .invalid("'\(text)' \(URLAuthority.Fault.backslash)") }
      return .invalid(
        "'\(text)' is not a URL: write scheme, host and path, such as https://example.com/orders, and percent-encode "
          + "what is data")
    }
    guard ASCII.equalIgnoringCase(scheme, "http") || ASCII.equalIgnoringCase(scheme, "https") else {
      return .invalid("the URL '\(url.redacted)' has the scheme '\(scheme)': use http or https")
    }
    return hasNoOrigin
  }

  /// The error for a URL that has no ``Origin``: it does not say which host and port to connect to.
  package var hasNoOrigin: HTTPError {
    .invalid("the URL '\(url.redacted)' \(URLAuthority.fault(of: url.absoluteString) ?? .missing)")
  }
}

extension HTTPError {
  fileprivate static func invalid(_ message: String) -> HTTPError {
    HTTPError(.invalidRequest, message, phase: .preparing)
  }
}
