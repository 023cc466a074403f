/// What may be stored (RFC 9111 §3), by a cache that belongs to one user.
package enum StorageRule {
  /// Whether a cache that is asked with this request may keep the answer, and has something of it.
  ///
  /// - Parameters:
  ///   - response: The final response's head.
  ///   - request: The request as the caller made it.
  ///   - responseTime: When the response came.
  ///   - wantsStale: Whether the caller takes answers from the cache that the protocol alone would never serve again:
  ///     stale ones, without a validator to ask with. Others are not kept, though they might be.
  package static func allows(
    _ response: ResponseHead, to request: RequestHead, receivedAt responseTime: Date, wantsStale: Bool = false
  ) -> Bool {
    let control = CacheControl(response.fields)
    guard isFinal(response.status), !forbids(control, for: response.status),
      !CacheControl(request.fields).contains("no-store"), !VaryRule.matchesNothing(response.fields),
      control.contains("public") || !hasPassingCredentials(request)
    else { return false }
    let explicit = Freshness.explicitLifetime(of: response, control, receivedAt: responseTime)
    switch request.method {
    case .get: break
    case .post:
      // RFC 9110 §9.3.3: the answer is then that of a later GET.
      guard explicit != nil, response.status.isSuccessful, describesTarget(response, of: request) else { return false }
    default: return false
    }
    // §3, last item. `private` is for us: the cache belongs to one user.
    guard
      explicit != nil || control.contains("public") || control.contains("private")
        || Freshness.isHeuristicallyCacheable(response.status)
    else { return false }
    let lifetime = explicit ?? Freshness.heuristicLifetime(of: response, control, receivedAt: responseTime) ?? 0
    return wantsStale || lifetime > 0 || hasValidator(response) || servesStale(control)
  }

  /// The fields that are kept (§3.1): not those of the connection, nor those that `Connection` lists, nor a proxy's.
  package static func storedFields(of fields: HTTPFields) -> HTTPFields {
    let listed = Set(fields.list(.connection).filter { Token.isValid($0) }.map { FieldName(unchecked: $0) })
    var kept = fields
    kept.removeAll { listed.contains($0) || connectionFields.contains($0) }
    return kept
  }

  /// RFC 9110 §7.6.1 and RFC 9111 §3.1. `Trailer` announces what is not kept.
  private static let connectionFields: Set<FieldName> = [
    .connection, "Proxy-Connection", "Keep-Alive", .te, .transferEncoding, .upgrade, .trailer, .proxyAuthenticate,
    "Proxy-Authentication-Info", .proxyAuthorization,
  ]

  /// 1xx are not final; 206 is a part, and 304 nothing without what it confirms.
  private static func isFinal(_ status: HTTPStatus) -> Bool {
    status.code >= 200 && status != .partialContent && status != .notModified
  }

  /// §5.2.2.5 and §5.2.2.3: `no-store` does not count beside `must-understand` where the status is understood; a status
  /// that is not understood counts then as forbidden.
  private static func forbids(_ control: CacheControl, for status: HTTPStatus) -> Bool {
    if control.contains("must-understand") { return !isUnderstood(status) }
    return control.contains("no-store")
  }

  /// Whether the request's credentials are computed anew for each request, as Digest's are: an answer that is for them alone
  /// (see ``VaryRule``) would never be found again, and every request would leave another one behind.
  private static func hasPassingCredentials(_ request: RequestHead) -> Bool {
    request.fields[.authorization].map { ASCII.equalIgnoringCase($0.prefix { $0 != " " }, "Digest") } ?? false
  }

  private static func isUnderstood(_ status: HTTPStatus) -> Bool { !status.reasonPhrase.isEmpty }

  private static func hasValidator(_ response: ResponseHead) -> Bool {
    response.fields.contains(.eTag) || response.fields.contains(.lastModified)
  }

  private static func servesStale(_ control: CacheControl) -> Bool {
    control.contains("stale-while-revalidate") || control.contains("stale-if-error")
  }

  private static func describesTarget(_ response: ResponseHead, of request: RequestHead) -> Bool {
    guard let url = InvalidationRule.url(in: .contentLocation, of: response, to: request) else { return false }
    return CacheKey(url) == CacheKey(request.url)
  }
}
