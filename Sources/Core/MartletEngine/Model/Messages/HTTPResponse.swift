public import MartletSemantics

/// A response: head, and a body that is read in chunks.
public struct HTTPResponse: Sendable {
  private var content: Content

  /// The URL of the request that this is the response to: after redirects, the last one.
  public var url: URL {
    get { content.parts.url }
    set { parts.url = newValue }
  }
  /// The status and the fields. If the body was decoded, `Content-Encoding` and `Content-Length` are removed, because
  /// they do not describe ``body``; see ``DecodingTransport``.
  public var head: ResponseHead {
    get { content.parts.head }
    set { parts.head = newValue }
  }
  /// The body. A verb that returns the bytes has already read it.
  public var body: ResponseBody {
    get { content.parts.body }
    set { parts.body = newValue }
  }
  /// The head that this call received over the network, unchanged; nil if the response came from elsewhere.
  public var networkHead: ResponseHead? {
    get { content.parts.networkHead }
    set { parts.networkHead = newValue }
  }
  /// Where the response came from. From a cache, ``networkHead`` is nil, or the head of the 304 that confirmed it.
  public var source: ResponseSource {
    get { content.parts.source }
    set { parts.source = newValue }
  }
  /// The attempts before this response: redirects, retries, challenges. Usually empty.
  public var history: [AttemptRecord] = []
  /// The bytes of a connection that is not used for HTTP any more; nil if it is, and over other transports than that over
  /// sockets.
  package var stream: (any DuplexStream)? {
    get { content.parts.stream }
    set { parts.stream = newValue }
  }
  /// The `Cookie` line that the jar added to the request; empty if it had no cookies for it, nil if it was not used or
  /// failed. It is stored as fields because `dump` shows no secrets of these.
  package var cookieLine: HTTPFields?

  /// Makes a response that was not received over a network: of a mock, a cache or an interceptor.
  public init(status: HTTPStatus = .ok, fields: HTTPFields = [:], body: ResponseBody = .empty, url: URL) {
    content = Content(Parts(url: url, head: ResponseHead(status: status, fields: fields), body: body))
  }

  /// Makes a response of a cache.
  ///
  /// - Parameter networkHead: the head of the 304 that confirmed it; nil if there is none.
  init(
    url: URL, head: ResponseHead, body: ResponseBody, networkHead: ResponseHead?, from source: ResponseSource
  ) {
    content = Content(Parts(url: url, head: head, body: body, networkHead: networkHead, source: source))
  }

  /// Makes a response that a transport received over a network.
  public init(url: URL, networkHead: ResponseHead, body: ResponseBody) {
    content = Content(Parts(url: url, head: networkHead, body: body, networkHead: networkHead))
  }

  /// Makes the response of a transport that does not decode bodies.
  package init(to request: HTTPRequest, networkHead: ResponseHead, from source: any BodySource) {
    let status = networkHead.status
    // after a CONNECT that succeeds there is a tunnel, whatever the fields say (RFC 9110 §9.3.6)
    let hasNoBody =
      request.method == .head || status == .noContent || status == .notModified
      || request.method == .connect && status.isSuccessful
    // with a Transfer-Encoding, a Content-Length is ignored (RFC 9112 §6.3)
    let isUnknown = networkHead.fields.contains(.transferEncoding)
    let length = hasNoBody ? 0 : isUnknown ? nil : networkHead.fields[.contentLength].flatMap(Int64.init)
    self.init(url: request.url, networkHead: networkHead, body: ResponseBody(length: length, from: source))
  }

  /// The status.
  public var status: HTTPStatus {
    get { content.parts.head.status }
    set { parts.head.status = newValue }
  }

  /// The fields.
  public var fields: HTTPFields {
    get { content.parts.head.fields }
    set { parts.head.fields = newValue }
  }

  /// The trailer fields (RFC 9110 §6.5); complete after the body has been read to its end.
  public var trailers: HTTPFields { content.parts.body.trailers }

  private var parts: Parts {
    get { content.parts }
    set { content = Content(newValue) }
  }
}

/// What a transport makes a response of.
private struct Parts: Sendable {
  var url: URL
  var head: ResponseHead
  var body: ResponseBody
  var networkHead: ResponseHead?
  var source = ResponseSource.network
  var stream: (any DuplexStream)?
}

/// A response is a reference to what its transport made, because that is copied far more often than it is changed. What
/// each call sets is beside it.
private final class Content: Sendable {
  let parts: Parts

  init(_ parts: Parts) { self.parts = parts }
}

extension HTTPResponse: CustomStringConvertible {
  /// The URL and the head, without secrets.
  public var description: String { "\(url.redacted): \(head)" }
}

/// Where a response came from.
@nonexhaustive public enum ResponseSource: String, Sendable, Hashable {
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

/// An attempt that was not the last one of its call, as responses and errors list it.
public struct AttemptRecord: Sendable {
  /// The head of the request that was sent.
  public var request: RequestHead
  /// The head of the response; nil if there was none.
  public var response: ResponseHead?
  /// Why the request was sent again.
  public var reason: String
}
