/// Why a cache made a decision, for listeners and logs: the reason in words, and the section that states the rule.
package struct CacheReason: Sendable, Hashable {
  package let text: String
  package let rule: String

  package init(_ text: String, _ rule: String) { (self.text, self.rule) = (text, rule) }
}

extension CacheReason {
  /// Returns why a response is stored, and until when it can be used.
  package static func storing(_ stored: StoredResponse, at now: Date) -> CacheReason {
    let facts = stored.facts
    let seconds = Int(exactly: Freshness(facts, at: now).lifetime.rounded()) ?? .max
    guard seconds > 0, !facts.control.isUnqualified("no-cache") else {
      return CacheReason("it is validated before each use", "RFC 9111 §4.3")
    }
    return CacheReason("it is fresh for \(seconds) s", "RFC 9111 §4.2.1")
  }

  /// Why a response is not stored, in words.
  package init(_ refusal: StorageRule.Refusal) {
    switch refusal {
    case .conditionAnswered: self.init("it answers the caller's condition", "RFC 9111 §4.3.2")
    case .notFinal: self.init("its status concerns only this request", "RFC 9111 §3")
    case .uselessPart: self.init("it is a part that cannot be combined with others", "RFC 9111 §3.3")
    case .decodedPart: self.init("it is a part of an encoded response", "RFC 9111 §3.3")
    case .notUnderstood: self.init("it has must-understand, and its status is unknown", "RFC 9111 §5.2.2.3")
    case .noStore: self.init("it has no-store", "RFC 9111 §5.2.2.5")
    case .noStoreAsked: self.init("the request has no-store", "RFC 9111 §5.2.1.5")
    case .variesAlways: self.init("it has Vary: *", "RFC 9111 §4.1")
    case .singleUseCredentials: self.init("its request's credentials are not used again", "RFC 9111 §3.5")
    case .unsuitableMethod: self.init("no later request could use it", "RFC 9111 §3")
    case .unsuitablePost:
      self.init("a response to POST needs a lifetime and the request's URL as Content-Location", "RFC 9110 §9.3.3")
    case .unsuitableQuery:
      self.init("a response to QUERY needs a status of success, and a lifetime or no-cache", "RFC 10008 §2.7")
    case .noLifetime: self.init("it has no lifetime, and its status implies none", "RFC 9111 §3")
    case .staleAtOnce: self.init("it is stale at once, and has no validator", "RFC 9111 §4.2")
    }
  }

  /// Why the content of a QUERY cannot be part of a key, in words.
  package init(_ refusal: QueryContent.Refusal) {
    let text =
      switch refusal {
      case .singleUse: "its body can be read only once, and a key with its content needs it before it is sent"
      case .trailers: "its body has trailers, which the key does not contain"
      case .tooLong: "its body has more than \(QueryContent.limit) bytes, too many for a key with its content"
      case .unreadable: "its body could not be read for the key"
      case .notStored: "its method is QUERY, whose responses this store does not have"
      }
    self.init(text, "RFC 10008 §2.7")
  }

  /// Why a stored response is validated, in words.
  package init(_ reason: CachePlan.ValidationReason) {
    switch reason {
    case .validationAsked: self.init("the caller wants it validated", "RFC 9111 §5.2.1.1")
    case .noCache: self.init("the stored response has no-cache", "RFC 9111 §5.2.2.4")
    case .noCacheAsked: self.init("the request has no-cache", "RFC 9111 §5.2.1.4")
    case .tooOld: self.init("the stored response is older than the request allows", "RFC 9111 §5.2.1.1")
    case .stale: self.init("the stored response is stale", "RFC 9111 §4.2")
    }
  }
}
