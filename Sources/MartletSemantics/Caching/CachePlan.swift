/// What a cache does with a request (RFC 9111 §4), decided from the request, what is stored and the time.
package enum CachePlan: Sendable, Hashable {
  /// Answers from the stored response at this place.
  case serve(Int, Serving)
  /// Asks the origin about the stored response at this place. The request is what goes out; conditional where the
  /// response has a validator.
  case validate(Int, RequestHead)
  /// Asks the origin.
  case forward(RequestHead)
  /// Answers 504 (§5.2.1.7): the caller wants only what is stored, and that is of no use.
  case answerGatewayTimeout
  /// Fails: the policy forbids the network, and nothing is stored.
  case failNotCached

  /// How a stored response may be used.
  package enum Serving: Sendable, Hashable {
    /// It is fresh.
    case fresh
    /// It is stale, and the caller or the origin allows that.
    case stale
    /// It is stale, and to be asked about meanwhile (RFC 5861 §3). The request is what goes out.
    case staleWhileRevalidating(RequestHead)
  }

  /// Decides.
  ///
  /// - Parameters:
  ///   - request: The request, as its caller made it.
  ///   - policy: What the caller allows beyond the protocol.
  ///   - stored: All that is stored for the request's key, each with the length of its body.
  ///   - partition: The partition of the key.
  ///   - now: The present.
  package static func make(
    for request: RequestHead, policy: CachePolicy, stored: [(response: StoredResponse, length: Int64)],
    in partition: String = "", at now: Date
  ) -> CachePlan {
    guard request.method == .get || request.method == .head else { return .forward(request) }
    let wishes = CacheControl(request.fields)
    let candidate = usable(for: request, policy: policy, wishes: wishes, in: partition, among: stored)
    let plan =
      candidate.map { place in
        Decision(request: request, wishes: wishes, stored: stored[place].response, place: place, now: now)
          .plan(policy: policy)
      } ?? .forward(reloading(request, policy: policy))
    return plan.withoutNetwork(policy: policy, wishes: wishes)
  }

  /// The request that goes out where nothing is stored: a reload asks the caches on the way as it asks this one.
  private static func reloading(_ request: RequestHead, policy: CachePolicy) -> RequestHead {
    switch policy {
    case .reloadIgnoringCacheData: endToEnd(request, "no-cache")
    case .reloadRevalidatingCacheData: endToEnd(request, "max-age=0")
    default: request
    }
  }

  /// The stored response that the request may have anything to do with.
  private static func usable(
    for request: RequestHead, policy: CachePolicy, wishes: CacheControl, in partition: String,
    among stored: [(response: StoredResponse, length: Int64)]
  ) -> Int? {
    guard policy != .reloadIgnoringCacheData, !wishes.contains("no-store"),
      // These two are for the origin alone (RFC 9110 §13.1.1, §13.1.4, RFC 9111 §4.3.2).
      !request.fields.contains(.ifMatch), !request.fields.contains("If-Unmodified-Since"),
      let place = VaryRule.select(for: request.fields, among: stored.map(\.response), in: partition),
      StoredAnswer.canAnswer(request, with: stored[place].response, length: stored[place].length)
    else { return nil }
    return place
  }

  /// What the caller's refusal of the network makes of the plan.
  private func withoutNetwork(policy: CachePolicy, wishes: CacheControl) -> CachePlan {
    guard wishes.contains("only-if-cached") || policy == .returnCacheDataDontLoad else { return self }
    return switch self {
    case .serve(let place, .staleWhileRevalidating): .serve(place, .stale)
    case .serve, .answerGatewayTimeout, .failNotCached: self
    case .validate, .forward: policy == .returnCacheDataDontLoad ? .failNotCached : .answerGatewayTimeout
    }
  }

  /// Asks every cache on the way for the same as this one (RFC 9111 §5.2.1), unless the caller has wishes of its own.
  fileprivate static func endToEnd(_ request: RequestHead, _ directive: String) -> RequestHead {
    guard !request.fields.contains(.cacheControl) else { return request }
    var request = request
    request.fields[.cacheControl] = directive
    return request
  }
}

/// The decision about one stored response that matches.
private struct Decision {
  let request: RequestHead
  let wishes: CacheControl
  let stored: StoredResponse
  let place: Int
  let now: Date

  func plan(policy: CachePolicy) -> CachePlan {
    let control = CacheControl(stored.head.fields)
    let freshness = Freshness(of: stored, control, at: now)
    switch policy {
    case .returnCacheDataElseLoad, .returnCacheDataDontLoad:
      return .serve(place, freshness.isFresh ? .fresh : .stale)
    case .reloadRevalidatingCacheData:
      return freshness.isFresh && control.contains("immutable")
        ? .serve(place, .fresh) : .validate(place, CachePlan.endToEnd(validation, "max-age=0"))
    case .useProtocolCachePolicy, .returnCacheDataIfOffline, .reloadIgnoringCacheData:
      return followingProtocol(control, freshness)
    }
  }

  private func followingProtocol(_ control: CacheControl, _ freshness: Freshness) -> CachePlan {
    guard !control.isUnqualified("no-cache"), !wantsValidation, !isTooOld(freshness) else {
      return .validate(place, validation)
    }
    if freshness.isFresh { return .serve(place, .fresh) }
    guard !control.contains("must-revalidate") else { return .validate(place, validation) }
    if allowsStale(by: freshness.staleness) { return .serve(place, .stale) }
    if let window = control.validSeconds("stale-while-revalidate"), freshness.staleness <= Double(window) {
      return .serve(place, .staleWhileRevalidating(validation))
    }
    return .validate(place, validation)
  }

  /// The request that asks the origin. A caller's own conditions are left as they are, and a HEAD asks anew: it is as cheap.
  private var validation: RequestHead {
    let hasOwn = request.fields.contains(.ifNoneMatch) || request.fields.contains(.ifModifiedSince)
    return hasOwn || request.method == .head ? request : Freshening.conditional(request, for: stored)
  }

  /// `no-cache` (§5.2.1.4), or where there is no Cache-Control its predecessor (§5.4).
  private var wantsValidation: Bool {
    if request.fields.contains(.cacheControl) { return wishes.contains("no-cache") }
    return request.fields.list(.pragma).contains { ASCII.equalIgnoringCase($0, "no-cache") }
  }

  /// `max-age` (§5.2.1.1) and `min-fresh` (§5.2.1.3). A wish that cannot be read is taken at its strictest.
  private func isTooOld(_ freshness: Freshness) -> Bool {
    switch wishes.seconds("max-age") {
    case nil: break
    case .value(let limit):
      if freshness.age > Double(limit) + tolerance(freshness) { return true }
    case .invalid, .unlimited: return true
    }
    switch wishes.seconds("min-fresh") {
    case nil: return false
    case .value(let limit): return freshness.lifetime - freshness.age < Double(limit)
    case .invalid, .unlimited: return true
    }
  }

  /// `max-stale` beside `max-age` allows what is that much older (§5.2.1.1).
  private func tolerance(_ freshness: Freshness) -> Double {
    switch wishes.seconds("max-stale") {
    case .unlimited: .infinity
    case .value(let seconds): Double(seconds)
    case .invalid, nil: 0
    }
  }

  /// `max-stale` (§5.2.1.2).
  private func allowsStale(by staleness: Double) -> Bool {
    switch wishes.seconds("max-stale") {
    case .unlimited: true
    case .value(let seconds): staleness <= Double(seconds)
    case .invalid, nil: false
    }
  }
}
