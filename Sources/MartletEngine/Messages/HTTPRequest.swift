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
    set { content = Content(content.head, newValue, content.origin) }
  }
  /// Timeouts, policies, limits and listeners of this request.
  public var options: RequestOptions

  /// Makes a request. It is not validated here: an invalid one is an error of the verb that sends it.
  public init(
    _ method: HTTPMethod = .get, _ url: URL, fields: HTTPFields = [:], body: RequestBody = .empty,
    options: RequestOptions = .init()
  ) {
    content = Content(RequestHead(method: method, url: url, fields: fields), body)
    self.options = options
  }

  /// The method.
  public var method: HTTPMethod {
    get { content.head.method }
    set { content = Content(RequestHead(method: newValue, url: url, fields: fields), body, origin) }
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
    set { content = Content(RequestHead(method: method, url: url, fields: newValue), body, origin) }
  }

  /// The origin of the URL; nil if it has none. Almost everything that a request passes on its way asks for it.
  package var origin: Origin? { content.origin }
}

/// What a request consists of, besides its options. A request is a reference to it, because it is copied far more often
/// than it is changed.
private final class Content: Sendable {
  let head: RequestHead
  let body: RequestBody
  let origin: Origin?

  init(_ head: RequestHead, _ body: RequestBody, _ origin: Origin?) {
    self.head = head
    self.body = body
    self.origin = origin
  }

  convenience init(_ head: RequestHead, _ body: RequestBody) { self.init(head, body, Origin(head.url)) }
}

extension HTTPRequest: CustomStringConvertible {
  /// The head without secrets, and the length of the body.
  public var description: String { "\(head)\n(\(body))" }
}

extension HTTPRequest {
  /// Checks what every transport relies on: the URL has the scheme http or https and names a host, no field was
  /// refused, and the body's length is not negative.
  func validate() throws(HTTPError) {
    if origin == nil { throw reasonOfNoOrigin }
    if let refusal = fields.refusal { throw HTTPError(wrapping: refusal) }
    if let length = body.length, length < 0 {
      throw .invalid("the request's body has the length \(length)")
    }
  }

  private var reasonOfNoOrigin: HTTPError {
    guard let scheme = url.scheme else {
      return .invalid("the URL '\(url.redacted)' has no scheme: use http or https")
    }
    guard ASCII.equalIgnoringCase(scheme, "http") || ASCII.equalIgnoringCase(scheme, "https") else {
      return .invalid("the URL '\(url.redacted)' has the scheme '\(scheme)': use http or https")
    }
    guard let host = url.host(percentEncoded: false), !host.isEmpty else {
      return .invalid("the URL '\(url.redacted)' names no host")
    }
    return hasNoOrigin
  }

  /// The error for a URL that has no ``Origin``: it does not say which host and port to connect to.
  package var hasNoOrigin: HTTPError { .invalid("the URL '\(url.redacted)' has no usable host and port") }
}

extension HTTPError {
  fileprivate static func invalid(_ message: String) -> HTTPError {
    HTTPError(.invalidRequest, message, phase: .preparing)
  }
}
