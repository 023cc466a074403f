/// Decides whether a stale response is used instead of an error (RFC 9111 §4.2.4, RFC 5861 §4).
package enum StaleFallback {
  /// The error.
  package enum Failure: Sendable, Hashable {
    /// The origin answered with this status.
    case status(HTTPStatus)
    /// The origin could not be reached, or the connection failed before there was a response.
    case unreachable
  }

  /// The reason why the stored response is used.
  package enum Use: Sendable, Hashable {
    /// The origin or the caller allows it with `stale-if-error`.
    case staleIfError
    /// The caller's policy allows it without a network.
    case offline
  }

  /// Decides; nil means that the error is returned.
  package static func use(
    of stored: StoredResponse, for request: RequestHead, policy: CachePolicy, after failure: Failure, at now: Date
  ) -> Use? {
    let control = stored.facts.control
    // "In all circumstances" (§5.2.2.2), and not "without successful validation" (§5.2.2.4).
    guard isError(failure), !control.contains("must-revalidate"), !control.isUnqualified("no-cache") else { return nil }
    let directives = CacheControl(request.fields)
    let staleness = Freshness(of: stored, at: now).staleness
    let isReload = directives.contains("no-cache") || policy == .reloadRevalidatingCacheData
    let windows = [directives.validSeconds("stale-if-error"), isReload ? nil : control.validSeconds("stale-if-error")]
    if windows.contains(where: { $0.map { staleness <= Double($0) } ?? false }) { return .staleIfError }
    guard failure == .unreachable, policy == .returnCacheDataIfOffline else { return nil }
    // An error that was never fresh says nothing about now: the caller would take "404" for "there is no network".
    return stored.head.status.code < 400 || stored.facts.lifetime > 0 ? .offline : nil
  }

  /// Whether it is an error of RFC 5861 §4: 500, 502, 503, 504, or an unreachable origin.
  private static func isError(_ failure: Failure) -> Bool {
    switch failure {
    case .unreachable: true
    case .status(let status): [500, 502, 503, 504].contains(status.code)
    }
  }
}
