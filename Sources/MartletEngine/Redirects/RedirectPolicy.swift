public import MartletSemantics

/// What happens when a response is a redirect.
///
/// `Authorization`, `Cookie`, `Proxy-Authorization` and `Host` never go to another origin, and neither do fields of the request that
/// are named like secrets (`X-Api-Key`, `X-Auth-Token`), unless ``crossOriginFields`` names them.
public struct RedirectPolicy: Sendable, Hashable {
  /// Which redirects are followed.
  public enum Scope: Sendable, Hashable {
    /// None: the redirect itself is the response.
    case none
    /// Those that stay on the origin; another one is the response.
    case sameOrigin
    /// All.
    case any
  }

  /// Which redirects are followed; all by default.
  public var scope: Scope = .any
  /// How many redirects one exchange follows; 20 by default, as in the Fetch standard. One more is an error of kind
  /// ``HTTPError/Kind/tooManyRedirects``.
  public var limit = 20
  /// Whether a redirect may lead from https to http. Not by default: it is an error of kind
  /// ``HTTPError/Kind/redirectRefused``.
  public var allowsInsecure = false
  /// Fields named like secrets that a redirect to another origin keeps: `["X-Api-Key"]`, where all servers that redirects lead
  /// to may have it. None by default.
  public var crossOriginFields: Set<FieldName> = []

  /// Follows redirects, 20 at most, never from https to http.
  public static let follow = RedirectPolicy()
  /// Follows none: the caller gets the 3xx.
  public static let manual = RedirectPolicy(scope: .none)
  /// Follows those that stay on the origin.
  public static let sameOrigin = RedirectPolicy(scope: .sameOrigin)

  /// Makes a policy.
  public init(
    scope: Scope = .any, limit: Int = 20, allowsInsecure: Bool = false, crossOriginFields: Set<FieldName> = []
  ) {
    self.scope = scope
    self.limit = limit
    self.allowsInsecure = allowsInsecure
    self.crossOriginFields = crossOriginFields
  }
}
