import MartletSemantics

/// Follows redirects, as far as the request's ``RedirectPolicy`` goes. What a redirect means is decided by `RedirectRule`.
///
/// Where it leads is seen from the target that the request was sent to. What it carries starts from the request that was
/// asked for: the fields that an interceptor added for one origin do not travel to the next.
struct RedirectInterceptor: Interceptor {
  func review(_ outcome: Outcome, of attempt: Attempt, in exchange: Exchange) async throws -> Verdict {
    let policy = attempt.request.options.redirectPolicy
    guard case .success(let response) = outcome, response.status.isRedirection, policy.scope != .none else {
      return .accept
    }
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
        guard let decided = try await decide(next, response, exchange) else { return .accept }
        next = decided
      }
      return .resend(next, after: .zero, reason: "\(response.status.code) redirect to \(head.url.redacted)")
    }
  }
}

extension Attempt {
  /// The URLs that redirects led through so far, this attempt's included.
  fileprivate var visited: [URL] {
    history.filter { $0.response?.status.isRedirection == true }.map(\.request.url) + [sent.url]
  }
}
