public import MartletSemantics

/// Which requests a ``ReplayTransport`` takes for the same: what of them is compared.
///
/// ```swift
/// var matching = ReplayMatching()
/// matching.host = false                       // recorded against a server on another port
/// matching.query = .except(["timestamp"])
/// matching.fields = [.accept]
/// ```
///
/// Both sides are compared after redaction, so that what was scrubbed matches whatever it was.
public struct ReplayMatching: Sendable, Hashable {
  /// Which parameters of a query are compared. Their order does not matter, except among those of one name.
  public enum Query: Sendable, Hashable {
    /// All of them.
    case all
    /// None.
    case ignored
    /// Those with these names.
    case only(Set<String>)
    /// Those with other names.
    case except(Set<String>)
  }

  /// For which requests the body is compared.
  ///
  /// JSON is compared by value, a form by its parameters, a multipart body without its boundary, all else byte for byte.
  /// A recorded body that is not complete is not compared.
  public enum Body: Sendable, Hashable {
    /// For every request.
    case always
    /// For those whose method is not safe (RFC 9110 §9.2.1): POST, PUT, PATCH, DELETE.
    case ofUnsafeMethods
    /// For none.
    case ignored
  }

  /// Whether the method is compared; true by default.
  public var method = true
  /// Whether scheme, host and port are compared; true by default.
  public var host = true
  /// Which parameters of the query are compared; all by default. The path always is.
  public var query = Query.all
  /// The fields that are compared; none by default.
  public var fields: Set<FieldName> = []
  /// For which requests the body is compared; for those with an unsafe method by default.
  public var body = Body.ofUnsafeMethods
  /// Whether a request gets the last of its recorded answers again when all were given; true by default. If not, it is an
  /// error.
  public var repeatsLastAnswer = true

  /// Makes the default: method, URL, and the body of unsafe methods.
  public init() {}
}

extension ReplayMatching.Query {
  func compares(_ name: String) -> Bool {
    switch self {
    case .all: true
    case .ignored: false
    case .only(let names): names.contains(name)
    case .except(let names): !names.contains(name)
    }
  }
}

extension ReplayMatching.Body {
  func compares(_ method: String) -> Bool {
    switch self {
    case .always: true
    case .ofUnsafeMethods: HTTPMethod(rawValue: method)?.isSafe != true
    case .ignored: false
    }
  }
}
