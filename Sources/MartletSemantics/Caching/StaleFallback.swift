/// When a stale response may stand in for an error (RFC 9111 §4.2.4, RFC 5861 §4).
package enum StaleFallback {
  /// What went wrong when the origin was asked.
  package enum Failure: Sendable, Hashable {
    /// It answered with this status.
    case status(HTTPStatus)
    /// It was not reached, or the connection broke before there was a response.
    case unreachable
  }

  /// What the stored response is used as.
  package enum Use: Sendable, Hashable {
    /// The origin, or the caller, allows that for errors: `stale-if-error`.
    case staleIfError
    /// The caller allows that where there is no network.
    case offline
  }

  /// Decides; nil means that the error is the answer.
  package static func use(
    of stored: StoredResponse, for request: RequestHead, policy: CachePolicy, after failure: Failure, at now: Date
  ) -> Use? {
    let control = CacheControl(stored.head.fields)
    // "In all circumstances" (§5.2.2.2), and not "without successful validation" (§5.2.2.4).
    guard isError(failure), !control.contains("must-revalidate"), !control.isUnqualified("no-cache") else { return nil }
    let wishes = CacheControl(request.fields)
    let staleness = Freshness(of: stored, control, at: now).staleness
    let isReload = wishes.contains("no-cache") || policy == .reloadRevalidatingCacheData
    let windows = [wishes.validSeconds("stale-if-error"), isReload ? nil : control.validSeconds("stale-if-error")]
    if windows.contains(where: { $0.map { staleness <= Double($0) } ?? false }) { return .staleIfError }
    return failure == .unreachable && policy == .returnCacheDataIfOffline ? .offline : nil
  }

  /// RFC 5861 §4: 500, 502, 503 and 504, and whatever keeps the origin from answering.
  private static func isError(_ failure: Failure) -> Bool {
    switch failure {
    case .unreachable: true
    case .status(let status): [500, 502, 503, 504].contains(status.code)
    }
  }
}
