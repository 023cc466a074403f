#if HTTPTypes
public import HTTPTypes
@_spi(Toolkit) public import MartletEngine
@_spi(Toolkit) public import MartletSemantics

extension RequestHead {
  /// Makes a head from a request of swift-http-types.
  ///
  /// Its URL consists of scheme, authority and path. Without scheme and authority it is the path, which the session's
  /// ``Martlet/SessionConfiguration/baseURL`` completes.
  ///
  /// - Throws: ``Martlet/HTTPError`` of kind `.invalidRequest` if these form no URL, or if one of them would change
  ///   another (for example, a path that does not begin with a slash would continue the host). The same holds for a
  ///   request that a session does not send: an extended CONNECT (RFC 8441). A refused field is an error when the
  ///   request is sent.
  public init(_ request: HTTPTypes.HTTPRequest) throws(HTTPError) {
    try self.init(request, to: try Self.url(of: request))
  }

  /// Makes a head from the method and the fields of a request, for another URL.
  @_spi(Toolkit) public init(_ request: HTTPTypes.HTTPRequest, to url: URL) throws(HTTPError) {
    guard request.extendedConnectProtocol == nil else {
      throw .cannotConvert("an extended CONNECT (RFC 8441), the pseudo-header field ':protocol', is not supported")
    }
    guard let method = HTTPMethod(rawValue: request.method.rawValue) else {
      throw .cannotConvert("the method '\(request.method.rawValue)' is not a token (RFC 9110 §9.1)")
    }
    self.init(method: method, url: url, fields: HTTPFields(request.headerFields))
  }

  private static func url(of request: HTTPTypes.HTTPRequest) throws(HTTPError) -> URL {
    let path = request.path ?? ""
    let text: String
    switch (request.scheme, request.authority) {
    case (let scheme?, let authority?):
      // Text that is not separated from the authority would become part of it, and text that ends it would begin the
      // path.
      guard path.isEmpty || path.hasPrefix("/") || path.hasPrefix("?"), !path.contains("#") else {
        throw .cannotConvert("the path of the request has to begin with '/' or '?', and to have no '#'")
      }
      guard !(scheme + authority).contains(where: { "/?#\\@".contains($0) }) else {
        throw .cannotConvert(
          "scheme and authority of the request are not a scheme and a host, as in 'https' and 'example.com:8080'")
      }
      text = "\(scheme)://\(authority)\(path)"
    case (nil, nil) where !path.isEmpty:
      guard !path.beginsWithAuthority else {
        throw .cannotConvert(
          "a path alone may not begin with two slashes, which would be the beginning of a host: a part of it may be empty"
        )
      }
      text = path
    default:
      throw .cannotConvert(
        "the request has scheme \(request.scheme ?? "none") and authority \(request.authority == nil ? "none" : "one"): "
          + "set both, or a path alone for a session with a base URL")
    }
    guard let url = URL(text: text), url.scheme?.lowercased() == request.scheme?.lowercased() else {
      throw .cannotConvert(
        "scheme, authority and path of the request are not a URL: percent-encode what is data in the path")
    }
    return url
  }
}

extension StringProtocol {
  /// Whether the text, as a URL reference, begins with an authority (RFC 3986 §4.2). A backslash counts as a slash,
  /// because some parsers treat it as one.
  @_spi(Toolkit) public var beginsWithAuthority: Bool {
    prefix(2).count == 2 && prefix(2).allSatisfy { $0 == "/" || $0 == "\\" }
  }
}

extension MartletEngine.HTTPRequest {
  /// Makes a request from one of swift-http-types, for a session to send.
  ///
  /// ```swift
  /// let request = HTTPTypes.HTTPRequest(
  ///   method: .get, scheme: "https", authority: "example.com", path: "/orders?page=2")
  /// let (data, response) = try await session.data(for: Martlet.HTTPRequest(request))
  /// let head = try HTTPTypes.HTTPResponse(response.head)
  /// ```
  ///
  /// - Parameters:
  ///   - request: the head.
  ///   - body: the body; empty by default.
  ///   - options: the options. Unset options are the session's.
  /// - Throws: `HTTPError` of kind `.invalidRequest`, as for a head.
  public init(
    _ request: HTTPTypes.HTTPRequest, body: RequestBody = .empty, options: RequestOptions = .init()
  ) throws(HTTPError) {
    let head = try RequestHead(request)
    self.init(head.method, head.url, fields: head.fields, body: body, options: options)
  }
}

extension HTTPTypes.HTTPRequest {
  /// Makes a request from Martlet's, without its body. The fields are those of the request and of its body.
  ///
  /// The fragment of the URL and its user information are omitted: neither is sent. A URL without a host becomes a
  /// path.
  ///
  /// - Throws: ``Martlet/HTTPError`` of kind `.invalidRequest` if a field was refused.
  public init(_ request: MartletEngine.HTTPRequest) throws(HTTPError) {
    try self.init(request.addingBodyFields().head)
  }

  /// Makes a request from a head of Martlet's.
  ///
  /// - Throws: ``Martlet/HTTPError`` of kind `.invalidRequest` if a field was refused.
  public init(_ head: RequestHead) throws(HTTPError) {
    guard let method = Method(head.method.rawValue) else {
      throw .cannotConvert("the method '\(head.method)' is not a token (RFC 9110 §9.1)")
    }
    let fields = try HTTPTypes.HTTPFields(head.fields)
    let origin = Origin(head.url)
    var path = head.url.path(percentEncoded: true)
    if path.isEmpty, origin != nil { path = "/" }
    if let query = head.url.query(percentEncoded: true) { path += "?" + query }
    self.init(
      method: method, scheme: origin?.scheme, authority: origin?.authority, path: path, headerFields: fields)
  }
}

extension HTTPError {
  /// The error for a message that cannot be represented in Martlet or swift-http-types.
  static func cannotConvert(_ message: String) -> HTTPError {
    HTTPError(.invalidRequest, message, phase: .preparing)
  }
}
#endif
