public import MartletSemantics

/// The identifier of a part of a message that a signature covers: a field, or a value that is derived from the message
/// (RFC 9421 §2).
///
/// ```swift
/// let components: [SignatureComponent] = [
///   .method, .targetURI, .field(.contentDigest), .field("cache-status").structured, .queryParameter("page"),
/// ]
/// ```
public struct SignatureComponent: Sendable, Hashable {
  /// The name: that of a field in lower case, or one that begins with `@`.
  public let name: String
  /// The parameters in their order, such as `sf` and `key`.
  public var parameters: StructuredField.Parameters

  /// Makes an identifier. One that the RFC does not define is an error when a signature is made or verified.
  public init(_ name: String, parameters: StructuredField.Parameters = [:]) {
    (self.name, self.parameters) = (name, parameters)
  }

  /// A field of the header section; all its lines together (§2.1).
  ///
  /// A field that the transport adds after the interceptors, such as `Cookie` or `Accept-Encoding`, cannot be covered.
  public static func field(_ name: FieldName) -> SignatureComponent { SignatureComponent(name.canonicalName) }

  /// The method (§2.2.1).
  public static let method = SignatureComponent("@method")
  /// The whole URL, without a fragment (§2.2.2).
  public static let targetURI = SignatureComponent("@target-uri")
  /// The host, with its port unless that is the default of the scheme (§2.2.3). Prefer it to the field `Host`, which
  /// HTTP/2 does not have.
  public static let authority = SignatureComponent("@authority")
  /// `http` or `https` (§2.2.4).
  public static let scheme = SignatureComponent("@scheme")
  /// The target of the request line (§2.2.5). It depends on the version of HTTP and on proxies: prefer ``path`` and
  /// ``query``.
  public static let requestTarget = SignatureComponent("@request-target")
  /// The path, still percent-encoded (§2.2.6).
  public static let path = SignatureComponent("@path")
  /// The query with its question mark, still percent-encoded; a question mark alone if there is none (§2.2.7).
  public static let query = SignatureComponent("@query")
  /// The status of a response (§2.2.9).
  public static let status = SignatureComponent("@status")

  /// The value of a parameter of the query (§2.2.8). It must occur exactly once.
  ///
  /// - Parameter name: the name, decoded.
  public static func queryParameter(_ name: String) -> SignatureComponent {
    SignatureComponent("@query-param", parameters: ["name": .string(QueryParameters.encoded(name))])
  }

  /// The field, serialized as the structured field that it is, so that white space does not matter (`sf`, §2.1.1). Its
  /// type must be known: see ``SignatureContext/structuredFields``.
  public var structured: SignatureComponent { with("sf", .boolean(true)) }

  /// A member of the field, which is a dictionary (`key`, §2.1.2).
  public func member(_ key: String) -> SignatureComponent { with("key", .string(key)) }

  /// The field's lines as bytes, for fields whose lines cannot be joined, such as `Set-Cookie` (`bs`, §2.1.3).
  public var bytes: SignatureComponent { with("bs", .boolean(true)) }

  /// The field of the trailer section (`tr`, §2.1.4).
  public var ofTrailers: SignatureComponent { with("tr", .boolean(true)) }

  /// The component of the request that a response answers (`req`, §2.4).
  public var ofRequest: SignatureComponent { with("req", .boolean(true)) }

  private func with(_ key: String, _ value: StructuredField.BareItem) -> SignatureComponent {
    var copy = self
    copy.parameters[key] = value
    return copy
  }
}

extension SignatureComponent: CustomStringConvertible {
  /// The identifier as it is sent: `"cache-status";sf`.
  public var description: String { (try? item.serialized()) ?? name }

  var item: StructuredField.Item { StructuredField.Item(.string(name), parameters: parameters) }

  init?(_ item: StructuredField.Item) {
    guard case .string(let name) = item.value else { return nil }
    self.init(name, parameters: item.parameters)
  }

  /// Equal for identifiers that are equivalent: the order of parameters does not distinguish them (§2).
  var identity: [String] {
    [name] + parameters.map { key, value in key + "=" + ((try? value.serialized()) ?? "") }.sorted()
  }

  /// Whether a parameter is present and true; nil if it has another value.
  func flag(_ key: String) -> Bool? {
    switch parameters[key] {
    case nil: false
    case .boolean(true): true
    default: nil
    }
  }
}

/// The parameters of a query as the URL Standard parses forms, which RFC 9421 §2.2.8 refers to.
enum QueryParameters {
  /// Encodes a name or a value: like a form, but with `%20` for a space.
  static func encoded(_ text: String) -> String { PercentEncoding.form.encode(text).replacing("+", with: "%20") }

  /// Returns the values of a name, both encoded.
  static func values(of name: String, in query: String) -> [String] {
    PercentEncoding.form.pairs(in: query).filter { encoded($0.name) == name }.map { encoded($0.value) }
  }
}
