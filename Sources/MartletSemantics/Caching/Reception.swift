/// What a cache does with a response that came from the origin (RFC 9111 §3, §4.3.3–4.3.5).
package enum Reception: Sendable, Hashable {
  /// The stored response is still right: it is the answer. What it is from now on; nil where the 304 does not change it.
  case confirm(StoredResponse?)
  /// The stored response stands in for the error.
  case standIn(StaleFallback.Use)
  /// The response is the answer, and is stored as this.
  case store(StoredResponse)
  /// The response is the answer; the stored response is from now on this.
  case update(StoredResponse)
  /// The response is the answer, and shows that the stored one is out of date.
  case forget
  /// The response is the answer.
  case pass

  /// What was asked, and what is stored.
  package struct Question: Sendable {
    /// The request, as its caller made it.
    package var request: RequestHead
    /// The request, as it went out.
    package var sent: RequestHead
    /// What the caller allows beyond the protocol.
    package var policy: CachePolicy
    /// The partition of the request's key.
    package var partition: String
    /// The stored response that the request is for; nil if there is none.
    package var stored: StoredResponse?
    /// The length of its body.
    package var storedLength: Int64 = 0
    /// When the request went out.
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

  /// Decides.
  ///
  /// - Parameters:
  ///   - response: The response as its reader sees it.
  ///   - question: What it answers.
  ///   - responseTime: When it came.
  ///   - isUnpacked: Whether the transport unpacked the body.
  package static func of(
    _ response: ResponseHead, to question: Question, at responseTime: Date, isUnpacked: Bool
  ) -> Reception {
    if let stored = question.stored {
      let reception = concerning(stored, response, question, responseTime)
      if reception != .pass { return reception }
    }
    let request = question.request
    guard
      StorageRule.allows(
        response, to: request, receivedAt: responseTime, wantsStale: question.policy.wantsStale)
    else { return question.stored != nil && replaces(response, for: request) ? .forget : .pass }
    var head = response
    head.fields = StorageRule.storedFields(of: response.fields)
    if !head.fields.contains(.date) { head.fields[.date] = HTTPDate.format(responseTime) }
    return .store(
      StoredResponse(
        head: head, variant: VaryRule.variant(of: response, for: request.fields, in: question.partition),
        requestTime: question.requestTime, responseTime: responseTime, isUnpacked: isUnpacked))
  }

  private static func concerning(
    _ stored: StoredResponse, _ response: ResponseHead, _ question: Question, _ responseTime: Date
  ) -> Reception {
    if response.status == .notModified {
      let merged = Freshening.merged(
        stored, with: response, requestTime: question.requestTime, responseTime: responseTime)
      // Where the caller asked with conditions of its own, the 304 is the caller's, and speaks of what the caller has.
      guard question.sent != question.request, !hasConditions(question.request) else {
        return hasValidator(response) ? merged.map(Reception.update) ?? .pass : .pass
      }
      return hasConditions(question.sent) ? .confirm(merged) : .pass
    }
    let use = StaleFallback.use(
      of: stored, for: question.request, policy: question.policy, after: .status(response.status), at: responseTime)
    if let use { return .standIn(use) }
    guard question.request.method == .head, response.status == .ok, stored.head.status == .ok else { return .pass }
    return Freshening.merged(
      stored, length: question.storedLength, withHead: response, requestTime: question.requestTime,
      responseTime: responseTime
    ).map(Reception.update) ?? .forget
  }

  /// Whether the response tells what the target is now, so that what is stored is the past: not an error that will pass,
  /// nor a refusal.
  private static func replaces(_ response: ResponseHead, for request: RequestHead) -> Bool {
    request.method == .get && response.status != .notModified && !passes(response.status)
  }

  /// Whether a status is that of an error that will pass, or of a refusal.
  package static func passes(_ status: HTTPStatus) -> Bool {
    !status.isSuccessful && !status.isRedirection && status != .notFound && status != .gone
  }

  private static func hasConditions(_ request: RequestHead) -> Bool {
    request.fields.contains(.ifNoneMatch) || request.fields.contains(.ifModifiedSince)
  }

  private static func hasValidator(_ response: ResponseHead) -> Bool {
    response.fields.contains(.eTag) || response.fields.contains(.lastModified)
  }
}
