/// The credentials of protection spaces: their scheme, their paths, and how many times each nonce was used. Once a
/// server has accepted a credential, it is sent without a challenge.
///
/// The 100 that were used last are kept. A space can have several credentials at the same time, because the URLs of
/// requests may name different users.
package struct PasswordMemory: Sendable {
  /// The credentials to be sent with one request.
  package enum Answer: Sendable, Hashable {
    /// The realm is nil if no challenge has named one.
    case basic(Credential, realm: String?)
    case digest(DigestAnswer)

    package var credential: Credential {
      switch self {
      case .basic(let credential, _): credential
      case .digest(let answer): answer.credential
      }
    }

    /// The realm whose challenge is answered; nil if no challenge has named one.
    package var realm: String? {
      switch self {
      case .basic(_, let realm): realm
      case .digest(let answer): answer.challenge.realm
      }
    }
  }

  private struct Entry: Sendable {
    let space: ProtectionSpace
    let credential: Credential
    var method: Method
    var paths: [String]
    var isAccepted: Bool
    /// The number of uses of the memory when the entry was last used.
    var lastUse: Int
  }

  private enum Method: Sendable {
    case basic
    case digest(DigestSession)
  }

  /// The newest is last. It is no `LRUStorage`, because entries are found by origin and path rather than by a key, and
  /// that storage belongs to the engine.
  private var entries: [Entry] = []
  /// The number of uses, each of which stores or answers a challenge.
  private var useCount = 0
  /// The number of calls of ``removeAll()``.
  package private(set) var generation = 0
  private static let limit = 100

  package init() {}

  /// Whether there are no credentials.
  package var isEmpty: Bool { entries.isEmpty }

  /// Stores a challenge and the credential that will answer it.
  ///
  /// If the nonce of the challenge is already in use, its count continues: a user's requests never send a nonce with
  /// the same count twice.
  package mutating func adopt(
    _ challenge: PasswordChallenge, with credential: Credential, for url: URL, clientNonce: String
  ) {
    guard let origin = Origin(url) else { return }
    let space = ProtectionSpace(origin: origin, realm: challenge.realm)
    let old = entries.firstIndex { $0.space == space && $0.credential == credential }.map { entries.remove(at: $0) }
    var entry = Entry(
      space: space, credential: credential, method: .basic, paths: [], isAccepted: false, lastUse: countUse())
    if let old {
      entry.isAccepted = old.isAccepted
      if case .basic = challenge, case .basic = old.method { entry.paths = old.paths }
    }
    switch challenge {
    case .basic:
      let path = BasicScheme.protectedPath(of: url)
      if !entry.paths.contains(where: path.hasPrefix) { entry.paths = Array(entry.paths.suffix(31)) + [path] }
    case .digest(let challenge):
      entry.paths = challenge.protectedPaths(at: url)
      entry.method = .digest(DigestSession(challenge, clientNonce: clientNonce))
      if let old, case .digest(let session) = old.method, session.nonce == challenge.nonce {
        entry.method = old.method
      }
    }
    entries.append(entry)
    removeLeastRecentlyUsed()
  }

  /// Returns the answer to send with a request, and counts the use of its nonce; nil if no credential is stored for the
  /// request.
  ///
  /// - Parameters:
  ///   - request: the method and the URL.
  ///   - space: the space whose challenge the request answers. If it is nil, only credentials that were accepted before
  ///     are sent.
  ///   - user: the only credentials that may be sent match it; nil means any.
  ///   - body: the request's body; nil if it is not in memory, so that no answer can cover it. Empty by default.
  package mutating func answer(
    to request: (method: HTTPMethod, url: URL), in space: ProtectionSpace?, only user: UserInformation? = nil,
    body: Data? = Data()
  ) -> Answer? {
    guard let origin = Origin(request.url) else { return nil }
    let path = request.url.path(percentEncoded: true)
    guard let index = index(origin: origin, path: path.isEmpty ? "/" : path, space: space, only: user) else {
      return nil
    }
    entries[index].lastUse = countUse()
    guard case .digest(var session) = entries[index].method else {
      return .basic(entries[index].credential, realm: entries[index].space.realm)
    }
    guard body != nil || !session.challenge.coversBody else { return nil }
    var answer = DigestAnswer(in: session.next(), with: entries[index].credential, for: request)
    entries[index].method = .digest(session)
    if session.challenge.coversBody, let body { answer.body = body }
    return .digest(answer)
  }

  /// Records that a server accepted an answer: from now on its credential is sent without a challenge, with the next
  /// nonce if the server named one.
  package mutating func markAccepted(_ answer: Answer, by url: URL, nextNonce: String?) {
    guard let origin = Origin(url) else { return }
    for index in entries.indices
    where entries[index].space.origin == origin && entries[index].credential == answer.credential {
      switch (entries[index].method, answer) {
      case (.basic, .basic(_, realm: entries[index].space.realm)): entries[index].isAccepted = true
      case (.digest(var session), .digest(let digest)) where session.challenge == digest.challenge:
        entries[index].isAccepted = true
        // The next nonce of an answer with an older nonce is outdated.
        guard let nextNonce, nextNonce != session.nonce, session.nonce == digest.nonce else { continue }
        session.adopt(nextNonce)
        entries[index].method = .digest(session)
      default: continue
      }
    }
  }

  /// Removes a credential that was refused in a space. Other spaces of the origin may still accept it.
  package mutating func remove(_ credential: Credential, in space: ProtectionSpace) {
    entries.removeAll { $0.space == space && $0.credential == credential }
  }

  /// Removes all credentials.
  package mutating func removeAll() {
    entries = []
    generation += 1
  }

  /// Counts a use, and returns its number.
  private mutating func countUse() -> Int {
    useCount += 1
    return useCount
  }

  private mutating func removeLeastRecentlyUsed() {
    guard entries.count > Self.limit else { return }
    let index = entries.indices.min(by: { entries[$0].lastUse < entries[$1].lastUse })
    if let index { entries.remove(at: index) }
  }

  /// Returns the index of the given space, or else of the accepted entry with the longest path prefix; the newest among
  /// equals.
  private func index(origin: Origin, path: String, space: ProtectionSpace?, only user: UserInformation?) -> Int? {
    var best: (index: Int, length: Int)?
    for (index, entry) in entries.enumerated().reversed() where entry.space.origin == origin {
      guard user?.matches(entry.credential) ?? true else { continue }
      if entry.space == space { return index }
      let length = entry.paths.filter(path.hasPrefix).map(\.utf8.count).max()
      guard space == nil, entry.isAccepted, let length, length > best?.length ?? -1 else { continue }
      best = (index, length)
    }
    return best?.index
  }
}
