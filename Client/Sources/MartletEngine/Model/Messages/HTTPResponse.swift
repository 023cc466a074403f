@_spi(Toolkit) public import MartletSemantics

/// A response: head, and a body that is read in chunks.
public struct HTTPResponse: Sendable {
  private var content: Shared<Parts>

  /// The head of the request that this response answers, as its attempt sent it: after redirects, the last one. Until a
  /// session returns the response, only the URL is set.
  public package(set) var request: RequestHead {
    get { content.value.request }
    set { content.value.request = newValue }
  }
  /// The URL of the request that this response answers: after redirects, the last one.
  public var url: URL {
    get { content.value.request.url }
    set { content.value.request.url = newValue }
  }
  /// The status and the fields. If the body was decoded, `Content-Encoding` and `Content-Length` are removed, because
  /// they do not describe ``body``; see ``DecodingTransport``.
  public var head: ResponseHead {
    get { content.value.head }
    set { content.value.head = newValue }
  }
  /// The body. A verb that returns the bytes has already read it.
  public var body: ResponseBody {
    get { content.value.body }
    set { content.value.body = newValue }
  }
  /// The head that this call received over the network, unchanged; nil if the response came from elsewhere.
  public var networkHead: ResponseHead? {
    get { content.value.networkHead }
    set { content.value.networkHead = newValue }
  }
  /// Where the response came from. For a response from the cache, ``networkHead`` is nil, or the head of the 304 that
  /// confirmed it.
  public var source: HTTPResponse.Source {
    get { content.value.source }
    set { content.value.source = newValue }
  }
  /// The attempts before this response: redirects, retries, challenges. Usually empty.
  public var history: [AttemptRecord] {
    get { content.value.history }
    set { content.value.history = newValue }
  }
  /// The informational responses before this one, such as 103 Early Hints (RFC 8297), in order; usually empty. They are
  /// those of the last attempt, without 100 Continue.
  ///
  /// ```swift
  /// let hints = response.informationalHeads.flatMap(\.fields.links)
  /// ```
  ///
  /// A 103 announces fields that the server will probably send, most often `Link`. Its fields are never merged into
  /// ``head``, because the server may change its mind. Nothing that it names is loaded. A transfer with more than 100
  /// informational responses fails, and their fields count towards ``RequestOptions/headLimit``. To get one before the
  /// final response, listen to ``Event/informational(_:)``. A stored response has none of its own; one that the origin
  /// has confirmed has those of the confirmation.
  public var informationalHeads: [ResponseHead] {
    get { content.value.informationalHeads }
    set { content.value.informationalHeads = newValue }
  }
  /// The raw connection after an upgrade or CONNECT, as bytes; nil for an ordinary response, and over transports other
  /// than sockets.
  @_spi(Transports) public var stream: (any DuplexStream)? {
    get { content.value.stream }
    set { content.value.stream = newValue }
  }
  /// The messages of a WebSocket, from a transport that cannot expose the connection's bytes; nil for any other
  /// response.
  @_spi(Transports) public var messages: (any MessageChannel)? {
    get { content.value.messages }
    set { content.value.messages = newValue }
  }
  /// Whether the connection is no longer used for HTTP.
  @_spi(Transports) public var isUpgraded: Bool { stream != nil || messages != nil }
  /// The `Cookie` line that the jar added to the request; empty if the jar had no cookies for it, nil if the jar was
  /// not used or failed. It is stored as fields because `dump` hides their secrets.
  package var sentCookies: HTTPFields? {
    get { content.value.sentCookies }
    set { content.value.sentCookies = newValue }
  }

  /// Makes a response that was not received over a network: by a mock, a cache or an interceptor.
  public init(status: HTTPStatus = .ok, fields: HTTPFields = [:], body: ResponseBody = .empty, url: URL) {
    content = Shared(Parts(to: url, head: ResponseHead(status: status, fields: fields), body: body))
  }

  /// Makes a response of a cache.
  ///
  /// - Parameter networkHead: the head of the 304 that confirmed it; nil if there is none.
  init(
    url: URL, head: ResponseHead, body: ResponseBody, networkHead: ResponseHead?, from source: HTTPResponse.Source
  ) {
    content = Shared(Parts(to: url, head: head, body: body, networkHead: networkHead, source: source))
  }

  /// Makes a response that a transport received over a network.
  public init(url: URL, networkHead: ResponseHead, body: ResponseBody) {
    content = Shared(Parts(to: url, head: networkHead, body: body, networkHead: networkHead))
  }

  /// Makes the response for a transport that does not decode bodies.
  package init(to request: HTTPRequest, networkHead: ResponseHead, from source: any BodySource) {
    let hasBody = BodyFraming.hasBody(status: networkHead.status.code, answering: request.method)
    // With a Transfer-Encoding, a Content-Length is ignored (RFC 9112 §6.3).
    let isUnknown = networkHead.fields.contains(.transferEncoding)
    let length = !hasBody ? 0 : isUnknown ? nil : networkHead.fields[.contentLength].flatMap(Int64.init)
    self.init(url: request.url, networkHead: networkHead, body: ResponseBody(length: length, from: source))
  }

  /// Notes the request that was sent for this response, and the attempts before it.
  mutating func answer(_ sent: HTTPRequest, after attempts: [AttemptRecord]) {
    content.value.answer(sent, after: attempts)
  }

  /// The status.
  public var status: HTTPStatus {
    get { content.value.head.status }
    set { content.value.head.status = newValue }
  }

  /// The reason phrase that the server sent; see `ResponseHead.reason`.
  public var reason: String {
    get { content.value.head.reason }
    set { content.value.head.reason = newValue }
  }

  /// The fields.
  public var fields: HTTPFields {
    get { content.value.head.fields }
    set { content.value.head.fields = newValue }
  }

  /// The trailer fields (RFC 9110 §6.5); complete after the body has been read to its end.
  public var trailers: HTTPFields { content.value.body.trailers }
}

/// What a response consists of.
private struct Parts: Sendable {
  var request: RequestHead
  var head: ResponseHead
  var body: ResponseBody
  var networkHead: ResponseHead?
  var source: HTTPResponse.Source
  var stream: (any DuplexStream)?
  var messages: (any MessageChannel)?
  var history: [AttemptRecord] = []
  var informationalHeads: [ResponseHead] = []
  var sentCookies: HTTPFields?

  init(
    to url: URL, head: ResponseHead, body: ResponseBody, networkHead: ResponseHead? = nil,
    source: HTTPResponse.Source = .network
  ) {
    request = RequestHead(method: .get, url: url)
    (self.head, self.body, self.networkHead, self.source) = (head, body, networkHead, source)
  }

  mutating func answer(_ sent: HTTPRequest, after attempts: [AttemptRecord]) {
    (request.method, request.fields) = (sent.method, sent.fields)
    if !attempts.isEmpty { history = attempts + history }
  }
}

extension HTTPResponse: CustomStringConvertible {
  /// The URL and the head, without secrets.
  public var description: String { "\(url.redacted): \(head)" }
}

extension HTTPResponse {
  /// Where a response came from.
  @nonexhaustive public enum Source: String, Sendable, Hashable {
    /// The network.
    case network
    /// The cache: the stored response is fresh.
    case cache
    /// The cache, after the origin confirmed that the stored response is still valid.
    case revalidated
    /// The cache, although the stored response is stale: the origin or the caller allows that.
    case stale
    /// The cache, although the stored response may be stale, because the network could not be reached; see
    /// `CachePolicy.returnCacheDataIfOffline`.
    case offline
  }
}

/// An attempt before the last one of its call, as listed in responses and errors.
public struct AttemptRecord: Sendable {
  /// The head of the request that was sent.
  public var request: RequestHead
  /// The head of the response; nil if there was none.
  public var response: ResponseHead?
  /// Why the request was sent again.
  public var reason: String
}
