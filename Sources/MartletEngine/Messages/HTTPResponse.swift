public import MartletSemantics

/// A response: head, and a body that is read in chunks.
public struct HTTPResponse: Sendable {
  /// The URL of the request that this is the response to: after redirects, the last one.
  public var url: URL
  /// The status and the fields. If the body was decoded, `Content-Encoding` and `Content-Length` are removed, because
  /// they do not describe ``body``; see ``DecodingTransport``.
  public var head: ResponseHead
  /// The body. A verb that returns the bytes has already read it.
  public var body: ResponseBody
  /// The head that this call received over the network, unchanged; nil if the response came from elsewhere.
  public var networkHead: ResponseHead?
  /// Where the response came from. From a cache, ``networkHead`` is nil, or the head of the 304 that confirmed it.
  public var source: ResponseSource = .network
  /// The attempts before this response: redirects, retries, challenges. Usually empty.
  public var history: [AttemptRecord] = []
  /// The bytes of a connection that is not used for HTTP any more; nil if it is, and over other transports than that over
  /// sockets.
  package var stream: (any DuplexStream)?
  /// The `Cookie` line that the jar added to the request; empty if it had no cookies for it, nil if it was not used or
  /// failed. It is stored as fields because `dump` shows no secrets of these.
  package var cookieLine: HTTPFields?

  /// Makes a response that was not received over a network: of a mock, a cache or an interceptor.
  public init(status: HTTPStatus = .ok, fields: HTTPFields = [:], body: ResponseBody = .empty, url: URL) {
    self.url = url
    self.body = body
    head = ResponseHead(status: status, fields: fields)
  }

  /// Makes a response that a transport received over a network.
  public init(url: URL, networkHead: ResponseHead, body: ResponseBody) {
    self.url = url
    self.body = body
    self.networkHead = networkHead
    head = networkHead
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
    get { head.status }
    set { head.status = newValue }
  }

  /// The fields.
  public var fields: HTTPFields {
    get { head.fields }
    _modify { yield &head.fields }
  }

  /// The trailer fields (RFC 9110 §6.5); complete after the body has been read to its end.
  public var trailers: HTTPFields { body.trailers }
}

extension HTTPResponse: CustomStringConvertible {
  /// The URL and the head, without secrets.
  public var description: String { "\(url.redacted): \(head)" }
}

/// Where a response came from.
public enum ResponseSource: String, Sendable, Hashable {
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
