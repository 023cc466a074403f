/// A challenge that a user name and a password can answer.
package enum PasswordChallenge: Sendable, Hashable {
  case basic(realm: String)
  case digest(DigestChallenge)

  package var realm: String {
    switch self {
    case .basic(let realm): realm
    case .digest(let challenge): challenge.realm
    }
  }

  /// The strongest of those that can be answered: Digest before Basic, its better hashes first; nil if there is none.
  ///
  /// Among equals the first counts, which is what the server prefers (RFC 7616 §3.7).
  ///
  /// - Parameter realm: the only realm to be answered; nil answers any.
  package static func strongest(
    of challenges: [AuthenticationChallenge], realm: String?, supports: (DigestAlgorithm) -> Bool = { _ in true }
  ) -> PasswordChallenge? {
    let usable = challenges.filter { realm == nil || $0.realm == realm }
    var best: DigestChallenge?
    for challenge in usable.compactMap(DigestChallenge.init) where supports(challenge.algorithm) {
      if let found = best, found.algorithm >= challenge.algorithm { continue }
      best = challenge
    }
    if let best { return .digest(best) }
    return usable.first { $0.isScheme("Basic") }.map { .basic(realm: $0.realm ?? "") }
  }
}
