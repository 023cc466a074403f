public import Martlet

/// A request as it is described, before anybody knows the host: a value with chainable modifiers.
///
/// ```swift
/// let request = NetworkRequest(method: .POST)
///   .path("/cart")
///   .queryItem(name: "gift", value: true)
///   .body(cart)
/// ```
///
/// Modifiers may come in any order: each sets its own thing, and path pieces, query items and headers keep the order among
/// themselves. Nothing is sent and nothing crashes: what cannot be sent (a value that does not encode, a path that leaves
/// its place) is remembered and becomes the error of the task that runs the request.
public struct NetworkRequest: Sendable {
  /// The method, GET by default.
  public var method: HTTPMethod
  /// Where the path begins; nil, the default, for the ``NetworkEnvironment`` of the session.
  public var baseURL: URL?
  var path = RequestPath()
  var query: [(name: String, value: String?)] = []
  var fields: HTTPFields = [:]
  var content = RequestBody.empty
  var options = RequestOptions()
  var isAuthenticated = true
  /// The first thing that was wrong.
  var fault: HTTPError?

  /// Makes a request to the host of the environment.
  public init(method: HTTPMethod = .get) { self.method = method }

  /// Makes a request to this URL, to which further path pieces and query items are added.
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

extension HTTPMethod {
  /// The method GET, in the capitals of the wire.
  public static let GET = HTTPMethod.get
  /// The method HEAD, in the capitals of the wire.
  public static let HEAD = HTTPMethod.head
  /// The method POST, in the capitals of the wire.
  public static let POST = HTTPMethod.post
  /// The method PUT, in the capitals of the wire.
  public static let PUT = HTTPMethod.put
  /// The method PATCH, in the capitals of the wire.
  public static let PATCH = HTTPMethod.patch
  /// The method DELETE, in the capitals of the wire.
  public static let DELETE = HTTPMethod.delete
}
