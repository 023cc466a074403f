public import Martlet

extension NetworkRequest {
  /// Sets the method.
  public func method(_ method: HTTPMethod) -> NetworkRequest { with { $0.method = method } }

  /// Sets where the path begins, in place of the environment's.
  public func baseURL(_ url: URL) -> NetworkRequest { with { $0.baseURL = url } }

  /// Adds to the path. Slashes separate segments, one each wherever they are doubled or missing; everything else is text
  /// and is encoded: `path("/shop").path("caf\u{e9}/")` is `/shop/caf%C3%A9/`.
  ///
  /// The segments `.` and `..` lead elsewhere: the task fails with an error that says so.
  public func path(_ text: String) -> NetworkRequest {
    var copy = self
    guard copy.path.append(text: text) else {
      return faulty(HTTPError(.invalidRequest, "the path '\(text)' cannot be sent: it has a segment '.' or '..'"))
    }
    return copy
  }

  /// Adds one segment to the path, in which a slash is data: `pathComponent("a/b")` is `a%2Fb`.
  ///
  /// Empty text, `.` and `..` are no names: the task fails with an error that says so.
  public func pathComponent(_ value: some LosslessStringConvertible) -> NetworkRequest {
    var copy = self
    guard copy.path.append(segment: String(value)) else {
      return faulty(HTTPError(.invalidRequest, "'\(value)' cannot be a path component: it names no resource"))
    }
    return copy
  }

  /// Adds a pair to the query; nil adds nothing. `true` is written `true`.
  public func queryItem(name: String, value: (some LosslessStringConvertible)?) -> NetworkRequest {
    with { if let value { $0.query.append((name, String(value))) } }
  }

  /// Adds a pair for each value: `tag=a&tag=b`. nil and an empty array add nothing.
  public func queryItem(name: String, value: [some LosslessStringConvertible]?) -> NetworkRequest {
    with { request in request.query += (value ?? []).map { (name, String($0)) } }
  }

  /// Adds a name without a value: `?flag`.
  public func queryItem(name: String) -> NetworkRequest { with { $0.query.append((name, nil)) } }
}

extension NetworkRequest: CustomStringConvertible, CustomReflectable {
  /// Method and path. The query, headers and the body may hold secrets and are left out.
  public var description: String { "\(method) \(path.joined(to: baseURL?.redacted ?? ""))" }

  /// The description, so that `dump` shows no more.
  public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}
