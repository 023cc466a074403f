@_spi(Toolkit) import MartletSemantics

extension RedirectPolicy {
  /// The rule for redirects and links, if the policy follows any.
  var rule: RedirectRule {
    RedirectRule(allowsInsecure: allowsInsecure, staysOnOrigin: scope != .any, keeping: crossOriginFields)
  }
}

/// Follows redirects within the limits of the request's ``RedirectPolicy``. `RedirectRule` decides the redirected
/// request.
///
/// The location is relative to the URL that the request was sent to. The next request is based on the original request:
/// fields that interceptors added for one origin are not sent to the next.
struct RedirectInterceptor: ImmediateInterceptor {
  var stages: InterceptorStages { .review }

  func reviewImmediately(_ outcome: Outcome, of attempt: Attempt, in call: Call) -> Unfinished<Verdict>? {
    guard outcome.status?.isRedirection == true, case .success(let response) = outcome,
      attempt.request.options.redirectPolicy.scope != .none
    else { return nil }
    return { try await verdict(on: response, of: attempt, in: call) }
  }

  private func verdict(on response: HTTPResponse, of attempt: Attempt, in call: Call) async throws -> Verdict {
    let policy = attempt.request.options.redirectPolicy
    let asked = RequestHead(method: attempt.sent.method, url: attempt.sent.url, fields: attempt.request.fields)
    switch policy.rule.decide(after: response.head, to: asked) {
    case .none: return .accept
    case .refuse(let reason): throw HTTPError(.redirectRefused, reason)
    case .follow(let head, let keepsBody):
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
  /// The URLs of all redirects so far, including this attempt's.
  fileprivate var visited: [URL] {
    history.filter { $0.response?.status.isRedirection == true }.map(\.request.url) + [sent.url]
  }
}
