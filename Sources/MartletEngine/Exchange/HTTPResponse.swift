public import MartletSemantics

/// A response: head, and a body that is pulled.
public struct HTTPResponse: Sendable {
  /// The URL of the request that was answered: after redirects, the last one.
  public var url: URL
  /// Status and fields. Where the body's content codings were undone, `Content-Encoding` and `Content-Length` are gone
  /// from here, because they describe something else than ``body``; see ``DecodingTransport``.
  public var head: ResponseHead
  /// The body. Where a verb has already returned the bytes, it has been read.
  public var body: ResponseBody
  /// The head as it came over the network in this exchange, untouched; nil where the answer came from elsewhere.
  public var wire: ResponseHead?
  /// Where the answer came from. From a cache, ``wire`` is nil, or what confirmed it.
  public var source: ResponseSource = .network
  /// The attempts before this answer: redirects, retries, challenges. Empty in the usual case.
  public var history: [AttemptRecord] = []
  /// What the jar added to the request as its `Cookie` line; empty where it had nothing to send, nil where it was not asked or
  /// failed. As fields, which show no secrets to `dump`.
  package var cookieLine: HTTPFields?

  /// Makes a response that did not come over a network: from a mock, a cache, an interceptor.
  public init(status: HTTPStatus = .ok, fields: HTTPFields = [:], body: ResponseBody = .empty, url: URL) {
    self.url = url
    self.body = body
    head = ResponseHead(status: status, fields: fields)
  }

  /// Makes a response from a transport that received it over a network.
  public init(url: URL, wire: ResponseHead, body: ResponseBody) {
    self.url = url
    self.body = body
    self.wire = wire
    head = wire
  }

  /// Makes the response of a transport that leaves content codings alone.
  package init(to request: HTTPRequest, wire: ResponseHead, from source: any BodySource) {
    let hasNoBody = request.method == .head || wire.status == .noContent || wire.status == .notModified
    // where there is a Transfer-Encoding, a Content-Length means nothing (RFC 9112 §6.3)
    let isUnknown = wire.fields.contains(.transferEncoding)
    let length = hasNoBody ? 0 : isUnknown ? nil : wire.fields[.contentLength].flatMap(Int64.init)
    self.init(url: request.url, wire: wire, body: ResponseBody(length: length, from: source))
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

  /// The trailer fields (RFC 9110 §6.5). They are there once the body has been read to its end.
  public var trailers: HTTPFields { body.trailers }
}

extension HTTPResponse: CustomStringConvertible {
  /// The URL and the head, without secrets.
  public var description: String { "\(url.redacted): \(head)" }
}

/// One attempt of an exchange, in short: what remains of it in responses and errors.
public struct AttemptRecord: Sendable {
  /// What was sent.
  public var request: RequestHead
  /// What came back, nil if nothing did.
  public var response: ResponseHead?
  /// Why it was not the last one.
  public var reason: String
}
