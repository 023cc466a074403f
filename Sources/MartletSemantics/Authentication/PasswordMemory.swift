/// What is known of the protection spaces that want a password: which credential, by which scheme, at which paths, and how
/// often a nonce was used. A credential that was accepted once is sent unasked from then on.
///
/// It remembers the last hundred of them. Several users may have one space at the same time, each by the URL of a request.
package struct PasswordMemory: Sendable {
  /// What is to be sent with a request.
  package enum Answer: Sendable, Hashable {
    case basic(Credential)
    case digest(DigestAnswer)

    package var credential: Credential {
      switch self {
      case .basic(let credential): credential
      case .digest(let answer): answer.credential
      }
    }
  }

  private struct Entry: Sendable {
    let space: ProtectionSpace
    let credential: Credential
    var method: Method
    var paths: [String]
    var isAccepted: Bool
  }

  private enum Method: Sendable {
    case basic
    case digest(DigestSession)
  }

  /// The use of one nonce after another. The client's nonce stays, so that the key of a `-sess` algorithm does too.
  private struct DigestSession: Sendable {
    let challenge: DigestChallenge
    let clientNonce: String
    var nonce: String
    var count: UInt32 = 0
  }

  private var entries: [Entry] = []
  private static let limit = 100

  package init() {}

  /// Takes note of a challenge, and of the credential that is to answer it.
  ///
  /// A challenge whose nonce is in use already goes on counting: two requests of a user never use a nonce with the same
  /// count.
  package mutating func adopt(
    _ challenge: PasswordChallenge, with credential: Credential, for url: URL, clientNonce: String
  ) {
    guard let origin = Origin(url) else { return }
    let space = ProtectionSpace(origin: origin, realm: challenge.realm)
    let old = entries.firstIndex { $0.space == space && $0.credential == credential }.map { entries.remove(at: $0) }
    var entry = Entry(space: space, credential: credential, method: .basic, paths: [], isAccepted: false)
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
      entry.method = .digest(DigestSession(challenge: challenge, clientNonce: clientNonce, nonce: challenge.nonce))
      if let old, case .digest(let session) = old.method, session.nonce == challenge.nonce {
        entry.method = old.method
      }
    }
    entries.append(entry)
    if entries.count > Self.limit { entries.removeFirst() }
  }

  /// What to send with a request; nil if nothing is known for it.
  ///
  /// - Parameters:
  ///   - request: the method and the URL.
  ///   - space: the space whose challenge the request answers; without one only what was accepted before is sent.
  ///   - credential: the only credential to be sent; nil means any.
  package mutating func answer(
    to request: (method: HTTPMethod, url: URL), in space: ProtectionSpace?, only credential: Credential? = nil
  ) -> Answer? {
    guard let origin = Origin(request.url) else { return nil }
    let path = request.url.path(percentEncoded: true)
    guard let index = place(origin: origin, path: path.isEmpty ? "/" : path, space: space, only: credential) else {
      return nil
    }
    guard case .digest(var session) = entries[index].method else { return .basic(entries[index].credential) }
    session.count &+= 1
    entries[index].method = .digest(session)
    return .digest(
      DigestAnswer(
        to: session.challenge, with: entries[index].credential, nonce: session.nonce, count: session.count,
        clientNonce: session.clientNonce, for: request))
  }

  /// The answer was accepted: from now on the credential is sent unasked, with the next nonce if the server named one.
  package mutating func accepted(_ answer: Answer, by url: URL, nextNonce: String?) {
    guard let origin = Origin(url) else { return }
    for index in entries.indices
    where entries[index].space.origin == origin && entries[index].credential == answer.credential {
      switch (entries[index].method, answer) {
      case (.basic, .basic): entries[index].isAccepted = true
      case (.digest(var session), .digest(let digest)) where session.challenge == digest.challenge:
        entries[index].isAccepted = true
        // an answer that used an older nonce says nothing about this one
        guard let nextNonce, nextNonce != session.nonce, session.nonce == digest.nonce else { continue }
        session.nonce = nextNonce
        session.count = 0
        entries[index].method = .digest(session)
      default: continue
      }
    }
  }

  /// The credential was refused.
  package mutating func forget(_ credential: Credential, at origin: Origin) {
    entries.removeAll { $0.space.origin == origin && $0.credential == credential }
  }

  private func place(origin: Origin, path: String, space: ProtectionSpace?, only credential: Credential?) -> Int? {
    var best: (index: Int, length: Int)?
    for (index, entry) in entries.enumerated().reversed() where entry.space.origin == origin {
      guard credential == nil || credential == entry.credential else { continue }
      if entry.space == space { return index }
      let length = entry.paths.filter(path.hasPrefix).map(\.utf8.count).max()
      guard space == nil, entry.isAccepted, let length, length > best?.length ?? -1 else { continue }
      best = (index, length)
    }
    return best?.index
  }
}
