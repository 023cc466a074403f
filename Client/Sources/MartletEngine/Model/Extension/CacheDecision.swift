package import MartletSemantics

extension Event {
  /// A decision of the cache about a request or its response, and the reason for it.
  public struct CacheDecision: Sendable, Hashable, CustomStringConvertible {
    /// What the cache does. If it answers with a stored response, ``Event/cached(_:)`` reports that instead.
    @nonexhaustive public enum Action: String, Sendable, Hashable {
      /// The request is sent as it is.
      case forward
      /// The request asks the server whether a stored response is still valid.
      case validate
      /// The request asks the server whether one of several stored responses, which do not match it, is the answer.
      case offer
      /// The request asks for the missing bytes of a stored part.
      case complete
      /// The request is sent again without the cache's conditions.
      case `repeat`
      /// The response is stored while it is read.
      case store
      /// The response is not stored.
      case pass
      /// The response changes the fields of a stored one.
      case update
      /// Stored responses are removed.
      case remove
    }

    /// What the cache does.
    public let action: Action
    /// Why, in words without secrets.
    public let reason: String
    /// The section that states the rule, such as `RFC 9111 §4.2`.
    public let rule: String

    package init(_ action: Action, _ reason: CacheReason) {
      (self.action, self.reason, rule) = (action, reason.text, reason.rule)
    }

    init(_ action: Action, _ reason: String, _ rule: String) {
      (self.action, self.reason, self.rule) = (action, reason, rule)
    }

    /// The action, the reason and the rule.
    public var description: String { "\(meaning): \(reason) (\(rule))" }

    /// The action and the reason, without the rule.
    @_spi(Toolkit) public var words: String { "\(meaning): \(reason)" }

    private var meaning: String {
      switch action {
      case .forward: "not answered from the cache"
      case .validate: "the cache asks the server whether its response is still valid"
      case .offer: "the cache asks the server whether one of its responses is the answer"
      case .complete: "the cache asks for the rest of a stored part"
      case .repeat: "sent again without the cache's conditions"
      case .store: "the response is stored"
      case .pass: "the response is not stored"
      case .update: "the stored response is updated"
      case .remove: "stored responses are removed"
      }
    }
  }
}
