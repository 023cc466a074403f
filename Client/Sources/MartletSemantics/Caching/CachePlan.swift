/// The plan of a cache for a request (RFC 9111 §4), made from the request, the stored responses and the time.
package enum CachePlan: Sendable, Hashable {
  /// Answer with the stored response at this index.
  case serve(Int, Serving)
  /// Send this request to validate the stored response at this index; it is conditional if the response has a
  /// validator.
  case validate(Int, RequestHead, ValidationReason)
  /// Send this request, which carries the entity tags of the stored responses at these indices. None of them matches
  /// the request, but the origin may select one of them (§4.3.1).
  case select([Int], RequestHead)
  /// Send this request, and combine the response with the stored part at this index if both belong to the same
  /// representation (§3.4). If the caller requested the whole, this requests the missing bytes.
  case combine(Int, RequestHead)
  /// Send this request to the origin.
  case forward(RequestHead)
  /// Answer 504 (§5.2.1.7): the request has `only-if-cached`, and no stored response can be used.
  case answerGatewayTimeout
  /// Fail: the policy forbids network access, and no stored response can be used.
  case failNotCached

  /// The reason why a stored response may be used.
  package enum Serving: Sendable, Hashable {
    /// It is fresh.
    case fresh
    /// It is stale, but the caller or the origin allows that.
    case stale
    /// It is stale, and is validated in the background with this request (RFC 5861 §3).
    case staleWhileRevalidating(RequestHead)
  }

  /// The reason why a stored response that matches the request is validated. ``CacheReason`` puts it into words.
  package enum ValidationReason: Sendable, Hashable {
    /// The policy of the caller asks for it.
    case validationAsked
    /// The response has `no-cache`.
    case noCache
    /// The request has `no-cache`.
    case noCacheAsked
    /// The response is older than the request allows.
    case tooOld
    /// It is stale.
    case stale
  }

  /// Decides what to do with a request.
  ///
  /// - Parameters:
  ///   - request: the request as the caller made it.
  ///   - policy: the caller's permissions beyond the protocol.
  ///   - stored: all responses stored for the key of the request.
  ///   - partition: the partition of the key.
  ///   - now: the current time.
  package static func make(
    for request: RequestHead, policy: CachePolicy, stored: [StoredCandidate],
    in partition: String = "", at now: @autoclosure () -> Date
  ) -> CachePlan {
    guard request.method.retrieves || request.method == .head else { return .forward(request) }
    let directives = CacheControl(request.fields)
    let candidate = usable(for: request, policy: policy, directives: directives, in: partition, among: stored)
    let plan =
      candidate.map { index in
        Decision(request: request, directives: directives, stored: stored[index].response, index: index, now: now())
          .plan(policy: policy)
      } ?? withoutMatch(request, policy: policy, directives: directives, in: partition, among: stored)
    return plan.withoutNetwork(policy: policy, directives: directives)
  }

  /// Returns the request to send if no stored response matches. A reload also asks other caches for a fresh response.
  private static func reloading(_ request: RequestHead, policy: CachePolicy) -> RequestHead {
    switch policy {
    case .reloadIgnoringCacheData: endToEnd(request, "no-cache")
    case .reloadRevalidatingCacheData: endToEnd(request, "max-age=0")
    default: request
    }
  }

  /// Returns the request to send if no stored response matches it.
  private static func withoutMatch(
    _ request: RequestHead, policy: CachePolicy, directives: CacheControl, in partition: String,
    among stored: [StoredCandidate]
  ) -> CachePlan {
    var sent = reloading(request, policy: policy)
    guard !stored.isEmpty, request.method.retrieves, usesStored(request, policy: policy, directives: directives),
      !request.fields.contains(.cacheConditions)
    else { return .forward(sent) }
    let isRange = request.fields.contains(.range)
    let part = VaryRule.select(for: request.fields, among: stored, in: partition) { $0.response.part != nil }
    if let part, isRange { return .combine(part, sent) }
    if let part, let fields = stored[part].response.part?.fieldsForRest {
      for (name, value) in fields { sent.fields[name] = value }
      return .combine(part, sent)
    }
    guard !isRange else { return .forward(sent) }
    let offered = VaryRule.offered(to: request.fields, among: stored, in: partition)
    guard !offered.isEmpty else { return .forward(sent) }
    let tags = offered.compactMap { stored[$0].response.head.fields[values: .eTag].first }
    sent.fields[.ifNoneMatch] = tags.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }.joined(separator: ", ")
    return .select(offered, sent)
  }

  /// Whether stored responses may be used for the request.
  private static func usesStored(_ request: RequestHead, policy: CachePolicy, directives: CacheControl) -> Bool {
    policy != .reloadIgnoringCacheData && !directives.contains("no-store")
      // Only the origin can evaluate these two conditions (RFC 9110 §13.1.1, §13.1.4, RFC 9111 §4.3.2).
      && !request.fields.contains(.ifMatch) && !request.fields.contains(.ifUnmodifiedSince)
  }

  /// Returns the index of the stored response that matches the request.
  private static func usable(
    for request: RequestHead, policy: CachePolicy, directives: CacheControl, in partition: String,
    among stored: [StoredCandidate]
  ) -> Int? {
    guard !stored.isEmpty, usesStored(request, policy: policy, directives: directives) else { return nil }
    return VaryRule.select(
      for: request.fields, among: stored, in: partition,
      where: { StoredAnswer.canAnswer(request, with: $0.response, length: $0.length) })
  }

  /// Returns the plan if the caller forbids network access.
  private func withoutNetwork(policy: CachePolicy, directives: CacheControl) -> CachePlan {
    guard directives.contains("only-if-cached") || policy == .returnCacheDataDontLoad else { return self }
    return switch self {
    case .serve(let index, .staleWhileRevalidating): .serve(index, .stale)
    case .serve, .answerGatewayTimeout, .failNotCached: self
    case .validate, .select, .combine, .forward:
      policy == .returnCacheDataDontLoad ? .failNotCached : .answerGatewayTimeout
    }
  }

  /// Adds a directive for all other caches (RFC 9111 §5.2.1), unless the caller has set `Cache-Control`.
  fileprivate static func endToEnd(_ request: RequestHead, _ directive: String) -> RequestHead {
    guard !request.fields.contains(.cacheControl) else { return request }
    var request = request
    request.fields[.cacheControl] = directive
    return request
  }
}

/// A stored response that may answer a request, if the rules allow that.
package struct StoredCandidate: Sendable {
  package let response: StoredResponse
  /// The number of bytes of the stored body.
  package let length: Int64

  package init(_ response: StoredResponse, length: Int64) {
    self.response = response
    self.length = length
  }
}

/// The decision about one stored response that matches the request.
private struct Decision {
  let request: RequestHead
  let directives: CacheControl
  let stored: StoredResponse
  let index: Int
  let now: Date

  func plan(policy: CachePolicy) -> CachePlan {
    let facts = stored.facts
    let (control, freshness) = (facts.control, Freshness(facts, at: now))
    switch policy {
    case .returnCacheDataElseLoad, .returnCacheDataDontLoad:
      return .serve(index, freshness.isFresh ? .fresh : .stale)
    case .reloadRevalidatingCacheData:
      return freshness.isFresh && control.contains("immutable")
        ? .serve(index, .fresh) : .validate(index, CachePlan.endToEnd(validation, "max-age=0"), .validationAsked)
    case .useProtocolCachePolicy, .returnCacheDataIfOffline, .reloadIgnoringCacheData:
      return followingProtocol(control, freshness)
    }
  }

  private func followingProtocol(_ control: CacheControl, _ freshness: Freshness) -> CachePlan {
    if let reason = reasonToValidateFresh(control, freshness) { return .validate(index, validation, reason) }
    if freshness.isFresh { return .serve(index, .fresh) }
    guard !control.contains("must-revalidate") else { return .validate(index, validation, .stale) }
    if let allowedStaleness, freshness.staleness <= allowedStaleness { return .serve(index, .stale) }
    if let window = control.validSeconds("stale-while-revalidate"), freshness.staleness <= Double(window) {
      return .serve(index, .staleWhileRevalidating(validation))
    }
    return .validate(index, validation, .stale)
  }

  /// Returns why the response is validated even if it is fresh; nil if it need not be.
  private func reasonToValidateFresh(
    _ control: CacheControl, _ freshness: Freshness
  ) -> CachePlan.ValidationReason? {
    if control.isUnqualified("no-cache") { return .noCache }
    if wantsValidation { return .noCacheAsked }
    return isTooOld(freshness) ? .tooOld : nil
  }

  /// The request that validates the response. The caller's conditions are not changed, and a HEAD is sent without
  /// conditions, because it is as cheap.
  private var validation: RequestHead {
    let hasOwn = request.fields.contains(.cacheConditions)
    return hasOwn || request.method == .head ? request : Validation.conditional(request, for: stored)
  }

  /// Whether the request has `no-cache` (§5.2.1.4), or its predecessor `Pragma` if there is no `Cache-Control` (§5.4).
  private var wantsValidation: Bool {
    if request.fields.contains(.cacheControl) { return directives.contains("no-cache") }
    return request.fields.list(.pragma).contains { ASCII.equalIgnoringCase($0, "no-cache") }
  }

  /// Whether the response is too old for `max-age` (§5.2.1.1) and `min-fresh` (§5.2.1.3). Invalid arguments count as
  /// the strictest ones.
  private func isTooOld(_ freshness: Freshness) -> Bool {
    switch directives.seconds("max-age") {
    case nil: break
    case .value(let limit):
      if freshness.age > Double(limit) + (allowedStaleness ?? 0) { return true }
    case .invalid, .unlimited: return true
    }
    switch directives.seconds("min-fresh") {
    case nil: return false
    case .value(let limit): return freshness.lifetime - freshness.age < Double(limit)
    case .invalid, .unlimited: return true
    }
  }

  /// The staleness in seconds that `max-stale` allows (§5.2.1.2), and by which a response may exceed `max-age`
  /// (§5.2.1.1); nil if it allows none.
  private var allowedStaleness: Double? {
    switch directives.seconds("max-stale") {
    case .unlimited: .infinity
    case .value(let seconds): Double(seconds)
    case .invalid, nil: nil
    }
  }
}
