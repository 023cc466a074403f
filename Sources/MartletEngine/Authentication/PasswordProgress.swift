import MartletSemantics

/// How far an exchange is with the passwords of one source.
struct PasswordProgress: Sendable {
  /// What the last attempt carried; nil if it carried nothing of this source.
  var used: Used?
  /// Whose challenge the next attempt answers, and only that: where it leads is perhaps another space.
  var answering: ProtectionSpace?
  /// How many credentials were refused.
  var failures = 0
  private var renewals = 0

  struct Used: Sendable {
    let answer: PasswordMemory.Answer
    /// The value of the field.
    let authorization: String
    let origin: Origin
    /// Whether it answered a challenge of this exchange, and not of an earlier one.
    let isFresh: Bool
  }

  /// What a 401 says about the credential that was sent.
  enum Refusal: Sendable {
    /// Nothing: none was sent.
    case none
    /// It is good, but must be sent in another way.
    case renew(Credential)
    /// It is not good.
    case refused(Credential)

    var credential: Credential? {
      switch self {
      case .none: nil
      case .renew(let credential), .refused(let credential): credential
      }
    }
  }

  /// Judges what was sent, and counts.
  ///
  /// A stale nonce says nothing against the password (RFC 7616 §3.3); neither does another nonce or scheme, if what was sent
  /// answered a challenge from before: not every server says `stale`. Three renewals in one exchange are enough, though.
  mutating func refusal(by challenge: PasswordChallenge, in rejection: Rejection) -> Refusal {
    guard let used, used.authorization == rejection.request.fields[.authorization] else { return .none }
    if renewals < 3, Self.isRenewal(used, challenge) {
      renewals += 1
      return .renew(used.answer.credential)
    }
    failures += 1
    return .refused(used.answer.credential)
  }

  private static func isRenewal(_ used: Used, _ challenge: PasswordChallenge) -> Bool {
    switch (challenge, used.answer) {
    case (.basic, .basic): false
    case (.digest(let challenge), .digest(let answer)):
      challenge.isStale || (!used.isFresh && challenge.nonce != answer.nonce)
    case (.basic, .digest), (.digest, .basic): !used.isFresh
    }
  }
}
