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

  // A response is not stored
  static let notFinal = CacheReason("its status concerns only this request", "RFC 9111 §3")
  static let uselessPart = CacheReason("it is a part that cannot be combined with others", "RFC 9111 §3.3")
  static let notUnderstood = CacheReason("it has must-understand, and its status is unknown", "RFC 9111 §5.2.2.3")
  static let noStore = CacheReason("it has no-store", "RFC 9111 §5.2.2.5")
  static let noStoreAsked = CacheReason("the request has no-store", "RFC 9111 §5.2.1.5")
  static let variesAlways = CacheReason("it has Vary: *", "RFC 9111 §4.1")
  static let singleUseCredentials = CacheReason("its request's credentials are not used again", "RFC 9111 §3.5")
  static let unsuitableMethod = CacheReason("no later request could use it", "RFC 9111 §3")
  static let unsuitablePost = CacheReason(
    "a response to POST needs a lifetime and the request's URL as Content-Location", "RFC 9110 §9.3.3")
  static let noLifetime = CacheReason("it has no lifetime, and its status implies none", "RFC 9111 §3")
  static let staleAtOnce = CacheReason("it is stale at once, and has no validator", "RFC 9111 §4.2")

  // A stored response is validated
  static let validationAsked = CacheReason("the caller wants it validated", "RFC 9111 §5.2.1.1")
  static let noCache = CacheReason("the stored response has no-cache", "RFC 9111 §5.2.2.4")
  static let noCacheAsked = CacheReason("the request has no-cache", "RFC 9111 §5.2.1.4")
  static let tooOld = CacheReason("the stored response is older than the request allows", "RFC 9111 §5.2.1.1")
  static let stale = CacheReason("the stored response is stale", "RFC 9111 §4.2")
}
