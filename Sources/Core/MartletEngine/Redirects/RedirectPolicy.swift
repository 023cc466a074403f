public import MartletSemantics

/// Which redirects are followed.
///
/// `Authorization`, `Cookie`, `Proxy-Authorization` and `Host` are never sent to another origin, and neither are fields
/// of the request with names of secrets (`X-Api-Key`, `X-Auth-Token`), unless they are in ``crossOriginFields``.
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
  /// The largest number of redirects of a call; 20 by default, as in the Fetch standard. One more is an error of kind
  /// ``HTTPError/Kind/tooManyRedirects``.
  public var limit = 20
  /// Whether redirects from https to http are followed; false by default, which makes them errors of kind
  /// ``HTTPError/Kind/redirectRefused``.
  public var allowsInsecure = false
  /// Fields with names of secrets that are nevertheless sent to another origin: `["X-Api-Key"]`. None by default.
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

/// Follows redirects within the limits of the request's ``RedirectPolicy``. The redirected request is decided by
/// `RedirectRule`.
///
/// The location is relative to the URL that the request was sent to. The next request is based on the original request:
/// fields that interceptors added for one origin are not sent to the next.
struct RedirectInterceptor: QuickInterceptor {
  var stages: InterceptorStages { .review }

  func accepts(_ status: HTTPStatus?, of attempt: Attempt, in call: Call) -> Bool { status?.isRedirection != true }

  func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    let policy = attempt.request.options.redirectPolicy
    guard case .success(let response) = outcome, policy.scope != .none else { return .accept }
    let asked = RequestHead(method: attempt.sent.method, url: attempt.sent.url, fields: attempt.request.fields)
    let redirect = RedirectRule.decide(
      after: response.head, to: asked, allowsInsecure: policy.allowsInsecure, keeping: policy.crossOriginFields)
    switch redirect {
    case .none: return .accept
    case .refuse(let reason): throw HTTPError(.redirectRefused, reason)
    case .follow(let head, let keepsBody):
      if policy.scope == .sameOrigin, Origin(head.url) != Origin(asked.url) { return .accept }
      if let reason = RedirectRule.tooMany(visited: attempt.visited + [head.url], limit: policy.limit) {
        throw HTTPError(.tooManyRedirects, reason)
      }
      var next = attempt.request
      next.head = head
      if !keepsBody { next.body = .empty }
      if let decide = attempt.request.options.redirectDecision {
        guard let decided = try await decide(next, response, call) else { return .accept }
        next = decided
      }
      return .resend(next, after: .zero, reason: "\(response.status.code) redirect to \(next.url.redacted)")
    }
  }
}

extension Attempt {
  /// The URLs of all redirects so far, with this attempt's.
  fileprivate var visited: [URL] {
    history.filter { $0.response?.status.isRedirection == true }.map(\.request.url) + [sent.url]
  }
}
