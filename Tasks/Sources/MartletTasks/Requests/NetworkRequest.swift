@_spi(Toolkit) import MartletSemantics
public import Martlet

/// A request to a service, as a value with chainable modifiers; the host may come from the ``NetworkEnvironment``.
///
/// ```swift
/// let request = NetworkRequest(method: .POST)
///   .path("/cart")
///   .queryItem(name: "gift", value: true)
///   .body(cart)
/// ```
///
/// The order of modifiers matters only among path pieces, among query items and among headers. If a modifier gets
/// something that cannot be sent, such as a value that cannot be encoded or a path with `..`, the request keeps the
/// error, and its task fails with it.
public struct NetworkRequest: Sendable {
  /// The method, GET by default.
  public var method: HTTPMethod
  /// The base of the path; nil, the default, means that of the session's ``NetworkEnvironment``.
  public var baseURL: URL?
  var path = RequestPath()
  var query: [(name: String, value: String?)] = []
  var fields: HTTPFields = [:]
  var content = RequestBody.empty
  var options = RequestOptions()
  var isAuthenticated = true
  /// The reason why the request cannot be sent: the first error of its modifiers.
  var fault: HTTPError?

  /// Makes a request relative to the environment's base URL.
  public init(method: HTTPMethod = .get) { self.method = method }

  /// Makes a request to a URL, to which further path pieces and query items are added.
  public init(url: URL, method: HTTPMethod = .get) {
    self.method = method
    baseURL = url
  }

  func with(_ change: (inout NetworkRequest) -> Void) -> NetworkRequest {
    var copy = self
    change(&copy)
    return copy
  }

  func faulty(_ error: HTTPError) -> NetworkRequest { with { $0.fault = $0.fault ?? error } }
}

extension NetworkRequest {
  /// Sets the method.
  public func method(_ method: HTTPMethod) -> NetworkRequest { with { $0.method = method } }

  /// Sets the base of the path, instead of the environment's base URL.
  public func baseURL(_ url: URL) -> NetworkRequest { with { $0.baseURL = url } }

  /// Appends to the path. Slashes separate segments; doubled and missing ones are corrected. Everything else is
  /// percent-encoded: `path("/shop").path("caf\u{e9}/")` is `/shop/caf%C3%A9/`.
  ///
  /// The segments `.` and `..` are refused: the task fails with `.invalidRequest`.
  public func path(_ text: String) -> NetworkRequest {
    var copy = self
    guard copy.path.append(text: text) else {
      return faulty(HTTPError(.invalidRequest, "the path '\(text)' cannot be sent: it has a segment '.' or '..'"))
    }
    return copy
  }

  /// Appends one segment to the path, in which a slash is data: `pathComponent("a/b")` is `a%2Fb`.
  ///
  /// An empty segment, `.` and `..` are refused: the task fails with `.invalidRequest`.
  public func pathComponent(_ value: some LosslessStringConvertible) -> NetworkRequest {
    var copy = self
    guard copy.path.append(segment: String(value)) else {
      return faulty(HTTPError(.invalidRequest, "'\(value)' cannot be a path component: it is empty, '.' or '..'"))
    }
    return copy
  }

  /// Appends a name and a value to the query; nil appends nothing. `true` is written `true`.
  public func queryItem(name: String, value: (some LosslessStringConvertible)?) -> NetworkRequest {
    with { if let value { $0.query.append((name, String(value))) } }
  }

  /// Appends a pair for each value: `tag=a&tag=b`. nil and an empty array append nothing.
  public func queryItem(name: String, value: [some LosslessStringConvertible]?) -> NetworkRequest {
    with { request in request.query += (value ?? []).map { (name, String($0)) } }
  }

  /// Appends a name without a value: `?flag`.
  public func queryItem(name: String) -> NetworkRequest { with { $0.query.append((name, nil)) } }
}

extension NetworkRequest: CustomStringConvertible, CustomReflectable {
  /// Method and path. Query, headers and body are omitted, because they may contain secrets.
  public var description: String { "\(method) \(path.joined(to: baseURL?.redacted ?? ""))" }

  /// The description alone, so that `dump` shows no secrets.
  public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}

extension NetworkRequest {
  /// Sets a header, replacing headers with the same name; nil removes them. A value with a control character makes the
  /// task fail.
  public func header(name: String, value: String?) -> NetworkRequest {
    with { request in
      do throws(HTTPFields.Refusal) {
        request.fields[try FieldName(name)] = value
      } catch { request.fault = request.fault ?? HTTPError(wrapping: error) }
    }
  }

  /// Sets a header, replacing headers with the same name; nil removes them.
  public func header(_ name: FieldName, _ value: String?) -> NetworkRequest { with { $0.fields[name] = value } }

  /// Sets the body to a value as JSON. A value that cannot be encoded makes the task fail.
  public func body(_ value: some Encodable, encoder: JSONEncoder = JSONEncoder()) -> NetworkRequest {
    do throws(HTTPError) {
      return content(try .json(value, encoder: encoder))
    } catch { return faulty(error) }
  }

  /// Sets the body to a form (`application/x-www-form-urlencoded`).
  public func body(form pairs: [(name: String, value: String)]) -> NetworkRequest { content(.form(pairs)) }

  /// Sets the body to a form with files (`multipart/form-data`, RFC 7578).
  public func body(multipart form: MultipartForm) -> NetworkRequest { content(.multipart(form)) }

  /// Sets the body to a file, which is read while it is sent.
  public func body(file: URL, type: MediaType? = nil) -> NetworkRequest { content(.file(file), type: type) }

  /// Sets the body to bytes.
  public func body(data: Data, type: MediaType? = nil) -> NetworkRequest { content(.data(data), type: type) }

  private func content(_ body: RequestBody, type: MediaType? = nil) -> NetworkRequest {
    with {
      $0.content = body
      if let type { $0.content.fields[.contentType] = type.description }
    }
  }

  /// Sets the deadline for the whole call, from the first interceptor to the last byte of the body; none by default.
  public func timeout(_ duration: Duration) -> NetworkRequest { with { $0.options.deadline = duration } }

  /// Sets how the cache is used.
  public func cachePolicy(_ policy: CachePolicy) -> NetworkRequest { with { $0.options.cachePolicy = policy } }

  /// Changes other options of the request.
  public func options(_ change: (inout RequestOptions) -> Void) -> NetworkRequest { with { change(&$0.options) } }

  /// Sends the request without the session's ``Authenticator``: it is not authorized, and a 401 is the response. For
  /// example, for logins.
  public func unauthenticated() -> NetworkRequest { with { $0.isAuthenticated = false } }
}
