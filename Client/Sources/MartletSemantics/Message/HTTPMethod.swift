/// The method of a request (RFC 9110 §9): a case-sensitive token.
public struct HTTPMethod: Sendable, Hashable, RawRepresentable, CustomStringConvertible, ExpressibleByStringLiteral {
  /// The token as it is sent.
  public let rawValue: String

  /// Makes a method from text from outside the program; nil if the text is not a token.
  public init?(rawValue: String) {
    guard Token.isValid(rawValue) else { return nil }
    self.rawValue = rawValue
  }

  /// Makes a method from a literal. A literal that is not a token stops the program.
  public init(stringLiteral value: String) {
    precondition(Token.isValid(value), "'\(value)' is not an HTTP method: use a token such as GET (RFC 9110 §9.1)")
    rawValue = value
  }

  /// Makes a constant. Without a check, an optimized program has it from the start.
  @inline(__always) private init(known value: String) { rawValue = value }

  /// `GET` (RFC 9110 §9.3.1).
  public static let get = HTTPMethod(known: "GET")
  /// `HEAD` (RFC 9110 §9.3.2).
  public static let head = HTTPMethod(known: "HEAD")
  /// `POST` (RFC 9110 §9.3.3).
  public static let post = HTTPMethod(known: "POST")
  /// `PUT` (RFC 9110 §9.3.4).
  public static let put = HTTPMethod(known: "PUT")
  /// `DELETE` (RFC 9110 §9.3.5).
  public static let delete = HTTPMethod(known: "DELETE")
  /// `OPTIONS` (RFC 9110 §9.3.7).
  public static let options = HTTPMethod(known: "OPTIONS")
  /// `TRACE` (RFC 9110 §9.3.8).
  public static let trace = HTTPMethod(known: "TRACE")
  /// `PATCH` (RFC 5789).
  public static let patch = HTTPMethod(known: "PATCH")
  /// `QUERY` (RFC 10008): a safe request with its query in the body.
  public static let query = HTTPMethod(known: "QUERY")
  /// `CONNECT` (RFC 9110 §9.3.6).
  package static let connect = HTTPMethod(known: "CONNECT")

  /// Whether the method is safe: it requests no change of state (RFC 9110 §9.2.1).
  ///
  /// Unknown methods count as unsafe.
  public var isSafe: Bool {
    switch rawValue {
    case "GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "QUERY", "REPORT", "SEARCH": true
    default: false
    }
  }

  /// Whether the response has a representation that a cache may use again: GET, and QUERY, which is a GET of the
  /// resource that its content and its target define together (RFC 10008 §2.2).
  package var retrieves: Bool { self == .get || self == .query }

  /// Whether sending the request twice has the same intended effect as sending it once (RFC 9110 §9.2.2).
  ///
  /// Unknown methods count as not idempotent.
  public var isIdempotent: Bool { isSafe || rawValue == "PUT" || rawValue == "DELETE" }

  /// The token if it is registered (RFC 9110 §9.1, RFC 5789) and clients use it, otherwise `_OTHER`: the value in
  /// metrics and traces, where it must have few values.
  @_spi(Toolkit) public var registeredName: String { Self.registered.contains(rawValue) ? rawValue : "_OTHER" }

  private static let registered: Set = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY",
  ]

  /// The token.
  public var description: String { rawValue }
}

// Names from other clients, so that the compiler can tell their counterparts here.
extension HTTPMethod {
  /// Use ``get``.
  @available(*, unavailable, renamed: "get")
  public static var GET: HTTPMethod { .get }
  /// Use ``head``.
  @available(*, unavailable, renamed: "head")
  public static var HEAD: HTTPMethod { .head }
  /// Use ``post``.
  @available(*, unavailable, renamed: "post")
  public static var POST: HTTPMethod { .post }
  /// Use ``put``.
  @available(*, unavailable, renamed: "put")
  public static var PUT: HTTPMethod { .put }
  /// Use ``delete``.
  @available(*, unavailable, renamed: "delete")
  public static var DELETE: HTTPMethod { .delete }
  /// Use ``options``.
  @available(*, unavailable, renamed: "options")
  public static var OPTIONS: HTTPMethod { .options }
  /// Use ``patch``.
  @available(*, unavailable, renamed: "patch")
  public static var PATCH: HTTPMethod { .patch }
}
