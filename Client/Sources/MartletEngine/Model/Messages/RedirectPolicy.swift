public import MartletSemantics

/// Which redirects are followed.
///
/// `Authorization`, `Cookie`, `Proxy-Authorization` and `Host` are never sent to another origin. The same holds for the
/// request's fields with names of secrets (`X-Api-Key`, `X-Auth-Token`), unless they are in ``crossOriginFields``.
public struct RedirectPolicy: Sendable, Hashable {
  /// Which redirects are followed.
  public enum Scope: Sendable, Hashable {
    /// None: the 3xx is the response.
    case none
    /// Those to the same origin; for others the 3xx is the response.
    case sameOrigin
    /// All.
    case any
  }

  /// Which redirects are followed; all by default.
  public var scope: Scope = .any
  /// The maximum number of redirects of a call; 20 by default, as in the Fetch standard. One more is an error of kind
  /// ``HTTPError/Kind/tooManyRedirects``.
  public var limit = 20
  /// Whether redirects from https to http are followed; false by default, which makes them errors of kind
  /// ``HTTPError/Kind/redirectRefused``.
  public var allowsInsecure = false
  /// Fields with names of secrets that may still be sent to another origin: `["X-Api-Key"]`. None by default.
  public var crossOriginFields: Set<FieldName> = []

  /// Follows up to 20 redirects, never from https to http.
  public static let follow = RedirectPolicy()
  /// Follows no redirects: the 3xx is the response.
  public static let manual = RedirectPolicy(scope: .none)
  /// Follows redirects to the same origin.
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
