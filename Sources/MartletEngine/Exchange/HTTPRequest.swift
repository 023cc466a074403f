public import MartletSemantics

/// A request: head, body and the options of this one call.
///
/// ```swift
/// var request = HTTPRequest(.post, url, fields: [.accept: "application/json"], body: try .json(order))
/// request.options.deadline = .seconds(10)
/// ```
public struct HTTPRequest: Sendable {
  /// Method, URL and fields.
  public var head: RequestHead
  /// The body; empty by default.
  public var body: RequestBody
  /// Timeouts, policies, limits and listeners of this request.
  public var options: RequestOptions {
    get { shared.options }
    set { shared = SharedOptions(newValue) }
  }
  private var shared: SharedOptions

  /// Makes a request. Nothing is checked here: what is wrong with it is thrown when it is executed.
  public init(
    _ method: HTTPMethod = .get, _ url: URL, fields: HTTPFields = [:], body: RequestBody = .empty,
    options: RequestOptions = .init()
  ) {
    head = RequestHead(method: method, url: url, fields: fields)
    self.body = body
    shared = SharedOptions(options)
  }

  /// The method.
  public var method: HTTPMethod {
    get { head.method }
    set { head.method = newValue }
  }

  /// The URL. User information in it is a credential for its origin, and is not sent as part of it: see
  /// ``AuthenticationInterceptor``.
  public var url: URL {
    get { head.url }
    set { head.url = newValue }
  }

  /// The fields.
  public var fields: HTTPFields {
    get { head.fields }
    _modify { yield &head.fields }
  }
}

/// Options behind one reference: a request is copied at every step of its way, and rarely changed.
private final class SharedOptions: Sendable {
  let options: RequestOptions

  init(_ options: RequestOptions) { self.options = options }
}

extension HTTPRequest: CustomStringConvertible {
  /// The head without secrets, and how long the body is.
  public var description: String { "\(head)\n(\(body))" }
}
