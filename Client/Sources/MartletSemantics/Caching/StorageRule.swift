/// Decides what a private cache may store (RFC 9111 §3).
package enum StorageRule {
  /// Why a response is not stored. ``CacheReason`` puts it into words.
  package enum Refusal: Sendable, Hashable {
    /// The 304 answers the condition of the caller.
    case conditionAnswered
    /// The status concerns only this request.
    case notFinal
    /// It is a part that cannot be combined with others.
    case uselessPart
    /// It is a part of a response that the transport has decoded: its range counts other bytes.
    case decodedPart
    /// It has `must-understand`, and the status is unknown.
    case notUnderstood
    /// It has `no-store`.
    case noStore
    /// The request has `no-store`.
    case noStoreAsked
    /// It has `Vary: *`.
    case variesAlways
    /// The credentials of the request are not used again.
    case singleUseCredentials
    /// No later request could use the response to this method.
    case unsuitableMethod
    /// A response to POST lacks a lifetime, or the URL of the request as `Content-Location`.
    case unsuitablePost
    /// A response to QUERY is not successful, or has neither a lifetime nor `no-cache`.
    case unsuitableQuery
    /// It has no lifetime, and the status implies none.
    case noLifetime
    /// It is stale at once, and has no validator.
    case staleAtOnce
  }

  /// Returns why the response may not be stored, or is not worth storing; nil if it is stored.
  ///
  /// - Parameters:
  ///   - response: the head of the final response. A 206 is stored if it has one part that can be combined with others.
  ///   - request: the request as the caller made it.
  ///   - responseTime: when the response was received.
  ///   - wantsStale: whether the caller uses stale responses beyond what RFC 9111 allows. Only then are stale responses
  ///     without a validator stored.
  package static func refusal(
    of response: ResponseHead, to request: RequestHead, receivedAt responseTime: Date, wantsStale: Bool = false
  ) -> Refusal? {
    let control = CacheControl(response.fields)
    guard response.status != .notModified else { return .conditionAnswered }
    guard isFinal(response.status) else { return .notFinal }
    guard isUsable(response, to: request, receivedAt: responseTime) else { return .uselessPart }
    if let refusal = refusal(by: control, for: response.status) { return refusal }
    guard !CacheControl(request.fields).contains("no-store") else { return .noStoreAsked }
    guard !VaryRule.matchesNothing(response.fields) else { return .variesAlways }
    guard control.contains("public") || !hasSingleUseCredentials(request) else { return .singleUseCredentials }
    let explicit = Freshness.explicitLifetime(of: response, control, receivedAt: responseTime)
    switch request.method {
    case .get: break
    case .query:
      // RFC 10008 §2.7 makes every response cacheable. Programs that query do not expect results from a cache unless
      // the server has said for how long, or to validate them: no lifetime is assumed.
      guard response.status.isSuccessful, explicit != nil || control.contains("no-cache") else {
        return .unsuitableQuery
      }
    case .post:
      // RFC 9110 §9.3.3: a later GET then uses the response.
      guard explicit != nil, response.status.isSuccessful, describesTarget(response, of: request) else {
        return .unsuitablePost
      }
    default: return .unsuitableMethod
    }
    // §3, last item. `private` allows storing: the cache is private.
    guard
      explicit != nil || control.contains("public") || control.contains("private")
        || Freshness.isHeuristicallyCacheable(response.status)
    else { return .noLifetime }
    let lifetime = explicit ?? Freshness.heuristicLifetime(of: response, control, receivedAt: responseTime) ?? 0
    return wantsStale || lifetime > 0 || hasValidator(response) || servesStale(control) ? nil : .staleAtOnce
  }

  /// Returns the fields to store (§3.1): all except the fields of the connection and of proxies, and the fields that
  /// `Connection` lists.
  package static func storedFields(of fields: HTTPFields) -> HTTPFields {
    let listed = Set(fields.list(.connection).filter { Token.isValid($0) }.map { FieldName(unchecked: $0) })
    var kept = fields
    kept.removeAll { listed.contains($0) || connectionFields.contains($0) }
    return kept
  }

  /// RFC 9110 §7.6.1 and RFC 9111 §3.1. Trailers are not stored, so neither is `Trailer`.
  private static let connectionFields: Set<FieldName> = [
    .connection, "Proxy-Connection", "Keep-Alive", .te, .transferEncoding, .upgrade, .trailer, .proxyAuthenticate,
    "Proxy-Authentication-Info", .proxyAuthorization,
  ]

  /// Whether the response is final and describes the resource. That excludes 1xx, and also 412 and 416, which concern a
  /// condition or a range of one request: the key contains neither, so another request would get it.
  private static func isFinal(_ status: HTTPStatus) -> Bool {
    status.code >= 200 && status != .preconditionFailed && status != .rangeNotSatisfiable
  }

  /// Whether the response is complete, or a part that can be combined with others.
  private static func isUsable(
    _ response: ResponseHead, to request: RequestHead, receivedAt responseTime: Date
  ) -> Bool {
    guard response.status == .partialContent else { return true }
    return request.method.retrieves && request.fields.contains(.range)
      && StoredPart(of: response, receivedAt: responseTime) != nil
  }

  /// Whether `no-store` applies. With `must-understand`, it does not if the status is understood, and a status that is
  /// not understood is not stored (§5.2.2.5 and §5.2.2.3).
  private static func refusal(by control: CacheControl, for status: HTTPStatus) -> Refusal? {
    if control.contains("must-understand") { return isUnderstood(status) ? nil : .notUnderstood }
    return control.contains("no-store") ? .noStore : nil
  }

  /// Whether the credentials differ for each request, like those of Digest: a response stored for them (see
  /// ``VaryRule``) would never be found again, and every request would store another one.
  private static func hasSingleUseCredentials(_ request: RequestHead) -> Bool {
    request.fields[.authorization].map { ASCII.equalIgnoringCase($0.prefix { $0 != " " }, "Digest") } ?? false
  }

  private static func isUnderstood(_ status: HTTPStatus) -> Bool { !status.reasonPhrase.isEmpty }

  static func hasValidator(_ response: ResponseHead) -> Bool {
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
