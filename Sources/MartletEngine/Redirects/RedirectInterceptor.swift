import MartletSemantics

/// Follows redirects, as far as the request's ``RedirectPolicy`` goes. What a redirect means is decided by `RedirectRule`.
///
/// The next request starts from the one that was asked for, not from the one that was sent: what an interceptor added for
/// one origin does not travel to the next.
struct RedirectInterceptor: Interceptor {
  func review(_ outcome: Outcome, of attempt: Attempt, in exchange: Exchange) async throws -> Verdict {
    let policy = attempt.request.options.redirectPolicy
    guard case .success(let response) = outcome, response.status.isRedirection, policy.scope != .none else {
      return .accept
    }
    switch RedirectRule.decide(after: response.head, to: attempt.request.head, allowsInsecure: policy.allowsInsecure) {
    case .none: return .accept
    case .refuse(let reason): throw HTTPError(.redirectRefused, reason)
    case .follow(let head, let keepsBody):
      if policy.scope == .sameOrigin, Origin(head.url) != Origin(attempt.request.url) { return .accept }
      if let reason = RedirectRule.tooMany(visited: attempt.visited + [head.url], limit: policy.limit) {
        throw HTTPError(.tooManyRedirects, reason)
      }
      var next = attempt.request
      next.head = head
      if !keepsBody { next.body = .empty }
      return .resend(next, after: .zero, reason: "\(response.status.code) redirect to \(head.url.redacted)")
    }
  }
}

extension Attempt {
  /// The URLs that redirects led through so far, this attempt's included.
  fileprivate var visited: [URL] {
    history.filter { $0.response?.status.isRedirection == true }.map(\.request.url) + [request.url]
  }
}
