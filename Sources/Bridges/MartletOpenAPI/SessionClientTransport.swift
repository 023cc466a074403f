#if OpenAPI
public import HTTPTypes
public import MartletEngine
import MartletHTTPTypes
public import MartletSemantics
public import OpenAPIRuntime

/// Sends the requests of a client that swift-openapi-generator has made, over a session.
///
/// ```swift
/// let client = Client(serverURL: serverURL, transport: SessionClientTransport(session))
/// let pets = try await client.listPets().ok.body.json
/// ```
///
/// All that the session does applies: redirects, retries, cookies, the cache, credentials, limits and listeners.
///
/// - Bodies are streamed in both directions: a slow reader slows the sender down. A request's body that can be iterated more
///   than once is sent again by redirects and retries, and one that cannot fails them with
///   ``Martlet/HTTPError/Kind/bodyNotReplayable``.
/// - Fields keep their order and repeated lines, such as several `Set-Cookie`.
/// - The path of the operation follows that of the server's URL, whose query and fragment are dropped. A server's URL that is a
///   path, such as `/v1`, is relative to ``Martlet/SessionConfiguration/baseURL``.
/// - The operation's identifier is ``Martlet/RequestOptions/label``, so that logs and traces show it.
/// - Responses to HEAD and TRACE, and those with 204 and 304, have no body.
///
/// It throws ``Martlet/HTTPError``, which the client shows as `underlyingError` of its `ClientError`.
public struct SessionClientTransport: ClientTransport {
  private let session: HTTPSession
  private let options: RequestOptions

  /// Makes a transport.
  ///
  /// - Parameters:
  ///   - session: sends the requests.
  ///   - options: the options of every request, such as a deadline. Those that are not set are the session's.
  public init(_ session: HTTPSession, options: RequestOptions = .init()) {
    self.session = session
    self.options = options
  }

  /// Sends a request of the client, and returns the response when its head is received.
  public func send(
    _ request: HTTPTypes.HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String
  ) async throws -> (HTTPTypes.HTTPResponse, HTTPBody?) {
    var options = options
    options.label = options.label ?? operationID
    let head = try RequestHead(request, to: Self.url(of: request, at: baseURL))
    let (received, response) = try await session.bytes(
      for: MartletEngine.HTTPRequest(
        head.method, head.url, fields: head.fields, body: body.map { RequestBody($0) } ?? .empty, options: options))
    let answer = try HTTPTypes.HTTPResponse(response.head)
    let hasBody = Self.hasBody(answer.status.code, to: request.method)
    guard hasBody, received.length != 0 else {
      // the end of the body is the end of the call; a client need not read one without content
      if received.length == 0 { _ = try await received.collect(upTo: 0) } else { received.cancel() }
      return (answer, hasBody ? HTTPBody() : nil)
    }
    return (answer, HTTPBody(received))
  }

  /// Returns the URL of a request: that of the server, and the request's path and query after it.
  private static func url(of request: HTTPTypes.HTTPRequest, at baseURL: URL) throws(HTTPError) -> URL {
    let path = request.path ?? ""
    var base = baseURL.absoluteString.prefix { $0 != "?" && $0 != "#" }
    if path.hasPrefix("/"), base.hasSuffix("/") { base.removeLast() }
    guard path.isEmpty || path.hasPrefix("/") || path.hasPrefix("?"), !path.contains("#") else {
      throw .badURL(
        "the path of the operation has to begin with '/' or '?', and to have no '#': check the OpenAPI document")
    }
    let text = base + path
    guard !text.beginsWithAuthority || base.beginsWithAuthority else {
      throw .badURL("the path begins with two slashes, which would be the beginning of a host: a parameter is empty")
    }
    guard let url = URL(string: String(text)) else {
      throw .badURL("the server's URL and the path of the operation are not a URL: check the OpenAPI document")
    }
    return url
  }

  private static func hasBody(_ status: Int, to method: HTTPTypes.HTTPRequest.Method) -> Bool {
    method != .head && method != .trace && method != .connect && status != 204 && status != 304
  }
}

extension HTTPError {
  fileprivate static func badURL(_ message: String) -> HTTPError {
    HTTPError(.invalidRequest, message, phase: .preparing)
  }
}

extension RequestBody {
  /// Makes a body of one of the client's, which can be sent again if that can be iterated again.
  fileprivate init(_ body: HTTPBody) {
    let length: Int64? =
      switch body.length {
      case .known(let count): count
      case .unknown: nil
      }
    switch body.iterationBehavior {
    case .single: self = .singleUse(length: length, body.map { Data($0) })
    case .multiple: self = .stream(length: length) { body.map { Data($0) } }
    }
  }
}

extension HTTPBody {
  /// Makes a body that is read from a response's.
  fileprivate convenience init(_ body: ResponseBody) {
    let length = body.length.map { Length.known($0) } ?? .unknown
    self.init(body.map { ByteChunk($0) }, length: length, iterationBehavior: .single)
  }
}
#endif
