/// The action of a cache after a response of the origin (RFC 9111 §3, §4.3.3–4.3.5).
///
/// Only the cases with large values are indirect: most responses are stored or ignored, and ignoring one allocates
/// nothing.
package enum CacheUpdate: Sendable, Hashable {
  /// Return the response, and store it as this.
  indirect case store(StoredResponse)
  /// Return the response; the cache does not change.
  case ignore(StorageRule.Refusal)
  /// Return the stored response at this index of ``Context/candidates``, which the origin has selected with its 304,
  /// and replace it with this. It matches the request from now on (§4.3.3).
  indirect case select(Int, StoredResponse)
  /// Remove the stored response, and send the request again without the conditions and the range of the cache. The 304
  /// or 206 has another validator, so it refers to a response that is not stored. It must not update the stored one
  /// (§4.3.4), which would otherwise be validated again each time.
  case repeatWithoutConditions
  /// Change the stored response or part that the request was sent for.
  indirect case known(Change)

  /// What becomes of the stored response or part that a request was sent for.
  package enum Change: Sendable, Hashable {
    /// Return it, because the origin has validated it, and replace it with this.
    case confirm(StoredResponse)
    /// Return it instead of the error.
    case serveStale(StaleFallback.Use)
    /// Return the partial response, and store it together with the stored part as this.
    case extend(StoredResponse)
    /// Return the stored part and the rest in the response as this, and store it unless that is forbidden.
    case complete(StoredResponse, isStored: Bool)
    /// Return the response, and replace the stored one with this.
    case update(StoredResponse)
    /// Return the response, which is not stored, and remove the outdated stored one.
    case remove(StorageRule.Refusal)
  }

  /// The request, and the responses stored for it.
  package struct Context: Sendable {
    /// The request, with the additions of interceptors and cookies.
    package var request: RequestHead
    /// The request as it was sent, with the conditions that the cache added.
    package var sent: RequestHead
    /// The caller's permissions beyond the protocol.
    package var policy: CachePolicy
    /// The partition of the key.
    package var partition: String
    /// The stored response that matches the request; nil if there is none.
    package var stored: StoredResponse?
    /// The length of the stored body.
    package var storedLength: Int64 = 0
    /// The stored responses that do not match the request, but whose entity tags it carries.
    package var candidates: [StoredResponse] = []
    /// The stored part that the response is joined with; nil if there is none, or if it is ``stored``.
    package var part: StoredResponse?
    /// When the request was sent.
    package var requestTime: Date

    package init(
      request: RequestHead, sent: RequestHead, policy: CachePolicy, partition: String = "", requestTime: Date
    ) {
      self.request = request
      self.sent = sent
      self.policy = policy
      self.partition = partition
      self.requestTime = requestTime
    }
  }

  /// Decides what to do after a response.
  ///
  /// - Parameters:
  ///   - response: the response that is returned to the caller.
  ///   - context: the request, and the responses stored for it.
  ///   - responseTime: when the response was received.
  ///   - isDecoded: whether the transport has decoded the body.
  package static func of(
    _ response: ResponseHead, to context: Context, at responseTime: Date, isDecoded: Bool
  ) -> CacheUpdate {
    if response.status == .notModified, !context.candidates.isEmpty {
      return selection(response, context, responseTime)
    }
    if let stored = context.stored, let update = concerning(stored, response, context, responseTime) { return update }
    if let part = context.part ?? context.stored,
      let update = combination(of: response, with: part, context, at: responseTime, isDecoded: isDecoded)
    {
      return update
    }
    let request = context.request
    let isPart = response.status == .partialContent
    var refusal = StorageRule.refusal(
      of: response, to: request, receivedAt: responseTime, wantsStale: context.policy.wantsStale)
    if refusal == nil, isPart, isDecoded { refusal = .decodedPart }
    if let refusal {
      let isKnown = context.stored != nil || context.part != nil && !isPart
      return isKnown && replaces(response, for: request) ? .known(.remove(refusal)) : .ignore(refusal)
    }
    var head = StoredPart(of: response, receivedAt: responseTime)?.applied(to: response) ?? response
    head.fields = StorageRule.storedFields(of: response.fields)
    if !head.fields.contains(.date) { head.fields[.date] = HTTPDate.format(responseTime) }
    return .store(
      StoredResponse(
        head: head, variant: VaryRule.variant(of: head, for: request.fields, in: context.partition),
        requestTime: context.requestTime, responseTime: responseTime, isDecoded: isDecoded))
  }

  /// Returns the candidate that a 304 selects (§4.3.4): the most recent one with its tag. A 304 without a tag can only
  /// refer to the tag that was sent, if there was one.
  private static func selection(
    _ response: ResponseHead, _ context: Context, _ responseTime: Date
  ) -> CacheUpdate {
    let candidates = context.candidates
    let tag = response.fields[values: .eTag].first
    let index = candidates.indices
      .filter { index in
        guard let tag, let own = candidates[index].head.fields[values: .eTag].first else {
          return candidates.count == 1
        }
        return EntityTag.matchesWeakly(tag, own)
      }
      .max { candidates[$0].responseTime < candidates[$1].responseTime }
    guard let index,
      var merged = Validation.merged(
        candidates[index], with: response, requestTime: context.requestTime, responseTime: responseTime)
    else { return .repeatWithoutConditions }
    merged.variant = VaryRule.variant(of: merged.head, for: context.request.fields, in: context.partition)
    return .select(index, merged)
  }

  /// Returns what the response means for the stored one that the request was sent for; nil if it is just a new one.
  private static func concerning(
    _ stored: StoredResponse, _ response: ResponseHead, _ context: Context, _ responseTime: Date
  ) -> CacheUpdate? {
    if response.status == .notModified {
      let merged = Validation.merged(
        stored, with: response, requestTime: context.requestTime, responseTime: responseTime)
      // If the caller set conditions, the 304 is for the caller and refers to the caller's copy.
      guard context.sent != context.request, !hasConditions(context.request) else {
        guard let merged, StorageRule.hasValidator(response) else { return nil }
        return .known(.update(merged))
      }
      guard hasConditions(context.sent) else { return nil }
      guard let merged else { return .repeatWithoutConditions }
      return .known(.confirm(merged))
    }
    let use = StaleFallback.use(
      of: stored, for: context.request, policy: context.policy, after: .status(response.status), at: responseTime)
    if let use { return .known(.serveStale(use)) }
    guard context.request.method == .head, response.status == .ok, stored.head.status == .ok else { return nil }
    let updated = Validation.merged(
      stored, length: context.storedLength, withHead: response, requestTime: context.requestTime,
      responseTime: responseTime)
    guard let updated else { return .known(.remove(.unsuitableMethod)) }
    return .known(.update(updated))
  }

  /// Whether the response replaces the stored one. A refusal or a temporary error does not.
  private static func replaces(_ response: ResponseHead, for request: RequestHead) -> Bool {
    request.method.retrieves && response.status != .notModified && !isRefusalOrTemporaryError(response.status)
  }

  /// Whether the status means a refusal or a temporary error.
  package static func isRefusalOrTemporaryError(_ status: HTTPStatus) -> Bool {
    !status.isSuccessful && !status.isRedirection && status != .notFound && status != .gone
  }

  private static func hasConditions(_ request: RequestHead) -> Bool {
    request.fields.contains(.cacheConditions)
  }
}
