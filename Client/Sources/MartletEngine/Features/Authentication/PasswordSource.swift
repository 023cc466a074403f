@_spi(Credentials) @_spi(Toolkit) public import MartletSemantics
import Synchronization

/// Sends a user name and a password by Basic (RFC 7617) or Digest (RFC 7616), whichever is the strongest scheme that
/// the server offers.
///
/// ```swift
/// configuration.credentials = [
///   PasswordSource(Credential(user: "anna", password: password), for: .origin(of: url))
/// ]
/// ```
///
/// The password is sent after the server has requested it with a 401. Once the server has accepted it, it is sent
/// without a challenge with further requests of the same protection space. For Basic, this space is below the path of
/// the first request. For Digest, the server's `domain` defines it, and the server's nonces are counted and renewed.
///
/// Digest with `qop=auth-int` covers the body. It is used only if the server offers no other quality, and the body is
/// empty or ``RequestBody/data(_:)``: a stream or a file would have to be read before it is sent.
///
/// A password that was refused is not sent again in the same call: the caller gets the 401. If the server proves its
/// identity with `Authentication-Info` (RFC 7616 §3.5) and the proof is wrong, the call fails with
/// ``HTTPError/Kind/authenticationFailed``.
///
/// If the URL names a user (`http://anna@host/`), a fixed password or a `.netrc` file answers only for that user.
/// Without a challenge, a password that differs from the URL's own is not sent. The closure may return any credential.
///
/// Basic sends the password itself, so it is only as secret as the connection: use a scope of https origins, or allow
/// only ``PasswordScheme/digest``.
public final class PasswordSource: CredentialSource {
  /// When the password is sent for the first time.
  @nonexhaustive public enum Offer: Sendable, Hashable {
    /// After the server has asked for it: the first request is answered with 401 and sent again.
    case onChallenge
    /// With the first request to an origin, by Basic. For servers that do not send challenges, and for bodies that can
    /// be read only once. A server that prefers Digest receives the password itself too. If Basic is not among the
    /// source's schemes, this is the same as ``onChallenge``.
    ///
    /// No realm is known before a challenge, so a source for one realm cannot offer its password in this way.
    case preemptive
  }

  /// Returns a credential, or nil if there is none.
  public typealias Asking = @Sendable (PasswordSource.Question) async throws -> Credential?

  public let scope: CredentialScope
  private let terms: Terms
  private let lookup: PasswordLookup
  private let accepted: AcceptedPasswords
  private let progress = CallLocal(PasswordProgress())

  /// Which challenges may be answered, and when a password is sent without one.
  private struct Terms: Sendable {
    var realm: String?
    var schemes: Set<PasswordScheme> = [.basic, .digest]
    var offer = Offer.onChallenge
  }

  private init(
    _ scope: CredentialScope, _ terms: Terms = Terms(), lookup: PasswordLookup,
    accepted: AcceptedPasswords = AcceptedPasswords()
  ) {
    self.scope = scope
    self.terms = terms
    self.lookup = lookup
    self.accepted = accepted
  }

  /// Makes a source with a fixed credential.
  ///
  /// - Parameters:
  ///   - credential: the user name and the password.
  ///   - scope: the origins to which they may be sent.
  ///   - realm: the only realm to which they may be sent; nil, the default, means every realm of these origins.
  ///   - schemes: the only schemes by which they may be sent; Basic and Digest by default. Without Basic the password
  ///     itself is never sent. If no allowed scheme can answer the server's challenges, the caller gets the 401.
  ///   - offer: when they are sent for the first time; after a challenge by default.
  /// - Precondition: `realm` is nil if `offer` is ``Offer/preemptive``: the first request would carry the password
  ///   before the server has named its realm.
  public convenience init(
    _ credential: Credential, for scope: CredentialScope, realm: String? = nil,
    schemes: Set<PasswordScheme> = [.basic, .digest], offer: Offer = .onChallenge
  ) {
    precondition(
      realm == nil || offer != .preemptive,
      "a preemptive PasswordSource sends its password before the server names a realm: leave out 'realm' or 'offer'")
    self.init(scope, Terms(realm: realm, schemes: schemes, offer: offer), lookup: .fixed(credential))
  }

  /// Makes a source that gets credentials from a closure, which may ask the user or a keychain.
  ///
  /// ```swift
  /// PasswordSource(for: .origin(of: url)) { question in
  ///   question.failureCount < 3 ? await showPasswordDialog(question) : nil
  /// }
  /// ```
  ///
  /// - The closure is called once for each protection space, however many requests wait for its result. The result is
  ///   used until a server refuses it; then the closure is called again, with the number of failures in
  ///   ``PasswordSource/Question/failureCount``. The results of the 100 spaces that were used last are kept.
  /// - If it returns nil, the requests that wait get the 401 as their response.
  /// - If it throws, the requests that wait fail with ``HTTPError/Kind/authenticationFailed`` and the error as
  ///   ``HTTPError/underlying``.
  /// - It may use the same session: its own requests are sent without a password of this source.
  /// - Cancelling a request does not cancel the closure; its result is kept for the next request.
  ///
  /// - Parameters:
  ///   - scope: the origins for which the closure is called.
  ///   - realm: the only realm for which it is called; nil, the default, means every realm.
  ///   - schemes: the only schemes for which it is called; Basic and Digest by default. Without Basic the password
  ///     itself is never sent. If no allowed scheme can answer the server's challenges, the caller gets the 401.
  ///   - ask: returns the credential.
  public convenience init(
    for scope: CredentialScope, realm: String? = nil, schemes: Set<PasswordScheme> = [.basic, .digest],
    asking ask: @escaping Asking
  ) {
    self.init(scope, Terms(realm: realm, schemes: schemes), lookup: .asking(AskedPasswords(ask)))
  }

  /// Makes a source with the credentials of a ``Netrc``.
  ///
  /// - Parameters:
  ///   - netrc: the credentials; `try .file()` reads the user's own file. If a host has several logins, the URL's user
  ///     selects one; without a user, the first is used.
  ///   - scope: the origins to which they may be sent; by default all origins whose host has an entry. An entry
  ///     `default` is for every host, so limit the scope if there is one.
  ///   - schemes: the only schemes by which they may be sent; Basic and Digest by default. Without Basic the password
  ///     itself is never sent. If no allowed scheme can answer the server's challenges, the caller gets the 401.
  ///   - offer: when they are sent for the first time; after a challenge by default.
  public convenience init(
    _ netrc: Netrc, for scope: CredentialScope = .any, schemes: Set<PasswordScheme> = [.basic, .digest],
    offer: Offer = .onChallenge
  ) {
    self.init(scope, Terms(schemes: schemes, offer: offer), lookup: .netrc(netrc))
  }

  /// Returns a credential for one call, or nil if there is none.
  @_spi(Credentials) public typealias AskingOnce =
    @Sendable (PasswordSource.Question, Call) async throws -> PasswordAnswer?

  /// Makes a source that calls the closure for each call, in the call's task: cancelling the call cancels the closure,
  /// and an error that the closure throws ends the call.
  ///
  /// - Parameters:
  ///   - accepted: the passwords that servers have accepted, to which more are added.
  ///   - ask: returns the credential.
  @_spi(Credentials) public convenience init(perCall accepted: AcceptedPasswords, asking ask: @escaping AskingOnce) {
    self.init(.any, lookup: .askingPerCall(ask), accepted: accepted)
  }

  /// Makes a source with the user information of URLs, which is stored in the calls.
  static func ofURLs() -> PasswordSource { PasswordSource(.any, lookup: .ofURL) }

  /// Whether the source has a password, without a question, for the user whom the call's URL names.
  func knowsNamedUser(at origin: Origin, in call: Call) -> Bool { storedCredential(for: origin, in: call) != nil }

  /// Returns a stored credential that does not contradict the call's URL; nil if there is none.
  private func storedCredential(for origin: Origin, in call: Call) -> Credential? {
    lookup.storedCredential(for: origin, in: call).flatMap { credential in
      lookup.requirement(for: origin, in: call)?.matches(credential) ?? true ? credential : nil
    }
  }

  public func authorize(_ request: HTTPRequest, in call: Call) async throws -> HTTPRequest {
    var progress = call[progress]
    progress.used = nil
    defer { call[self.progress] = progress }
    guard let origin = request.origin else { return request }
    let answering = progress.answering.flatMap { $0.space.origin == origin ? $0 : nil }
    progress.answering = nil
    let only = answering.map { UserInformation($0.credential) } ?? lookup.requirement(for: origin, in: call)
    let known = accepted.memory.withLock {
      $0.answer(to: (request.method, request.url), in: answering?.space, only: only, body: request.body.bytes)
    }
    guard let answer = known ?? (answering == nil ? preemptiveAnswer(for: origin, progress, in: call) : nil),
      let value = try Self.value(of: answer)
    else {
      return request
    }
    var request = request
    request.fields[.authorization] = value
    progress.used = PasswordProgress.Used(
      answer: answer, authorization: value, origin: origin, isFresh: answering != nil,
      isShared: answering?.isShared ?? true)
    return request
  }

  public func authenticate(after rejection: Rejection, in call: Call) async throws -> Bool {
    var progress = call[progress]
    defer { call[self.progress] = progress }
    guard let challenge = challenge(of: rejection, allowing: terms.schemes) else {
      if let forbidden = self.challenge(of: rejection, allowing: [.basic, .digest]) {
        call.emit(.note("no password is sent: the server asks for \(forbidden.scheme.name), which is not allowed"))
      }
      return false
    }
    let space = ProtectionSpace(origin: rejection.origin, realm: challenge.realm)
    let refused = progress.refusal(by: challenge, in: rejection)
    if case .refused(let credential) = refused { progress.refused[space, default: []].insert(credential) }
    let generation = accepted.memory.withLock { memory in
      if case .refused(let credential) = refused { memory.remove(credential, in: space) }
      return memory.generation
    }
    if case .renew(let credential) = refused {
      let answer = PasswordAnswer(credential, isShared: progress.used?.isShared ?? true)
      return adopt(challenge, answer, rejection, &progress, generation)
    }
    let question = PasswordSource.Question(
      space: space, failureCount: progress.failures, sendsPassword: challenge.scheme == .basic,
      refused: refused.credential)
    let answer = try await lookup.credential(for: question, in: call)
    // A refused password is not sent again, even if another source has answered since: otherwise two sources would send
    // their passwords in turn.
    guard let answer, progress.refused[space]?.contains(answer.credential) != true else { return false }
    return adopt(challenge, answer, rejection, &progress, generation)
  }

  /// Returns the strongest challenge of these schemes that the source can answer.
  private func challenge(of rejection: Rejection, allowing schemes: Set<PasswordScheme>) -> PasswordChallenge? {
    PasswordChallenge.strongest(
      of: rejection.challenges, allowing: schemes, realm: terms.realm,
      knowsBody: rejection.request.body.bytes != nil
    ) { MessageDigest.hash($0, Data()) != nil }
  }

  public func didReceive(_ response: ResponseHead, to request: HTTPRequest, in call: Call) throws {
    guard let used = call[progress].used else { return }
    var nextNonce: String?
    if case .digest(let answer) = used.answer, let info = AuthenticationInfo(response.fields) {
      guard answer.isProven(by: info, hash: MessageDigest.hash) != false else {
        throw HTTPError(
          .authenticationFailed, "the 'rspauth' of \(used.origin) is wrong: the server does not have the password")
      }
      nextNonce = info.nextNonce
    }
    guard used.isShared else { return }
    accepted.memory.withLock { $0.markAccepted(used.answer, by: request.url, nextNonce: nextNonce) }
  }

  /// Stores the answer to a challenge for the next attempt. Returns false if all passwords were removed after the
  /// challenge was received.
  private func adopt(
    _ challenge: PasswordChallenge, _ answer: PasswordAnswer, _ rejection: Rejection,
    _ progress: inout PasswordProgress, _ generation: Int
  ) -> Bool {
    let nonce = RandomIdentifier.make()
    let isCurrent = accepted.memory.withLock { memory in
      guard memory.generation == generation else { return false }
      memory.adopt(challenge, with: answer.credential, for: rejection.request.url, clientNonce: nonce)
      return true
    }
    guard isCurrent else { return false }
    progress.answering = PasswordProgress.Answering(
      space: ProtectionSpace(origin: rejection.origin, realm: challenge.realm), credential: answer.credential,
      isShared: answer.isShared)
    return true
  }

  private func preemptiveAnswer(
    for origin: Origin, _ progress: PasswordProgress, in call: Call
  ) -> PasswordMemory.Answer? {
    guard terms.offer == .preemptive, terms.schemes.contains(.basic), progress.failures == 0 else { return nil }
    return storedCredential(for: origin, in: call).map { .basic($0, realm: nil) }
  }

  private static func value(of answer: PasswordMemory.Answer) throws(HTTPError) -> String? {
    do {
      switch answer {
      case .basic(let credential, _): return try BasicScheme.authorization(for: credential)
      case .digest(let answer): return try answer.authorization(hash: MessageDigest.hash)
      }
    } catch {
      throw HTTPError(.authenticationFailed, error.description, phase: .preparing)
    }
  }
}

/// The state of one call with a ``PasswordSource``.
private struct PasswordProgress: Sendable {
  /// The answer that the last attempt sent; nil if it sent none of this source.
  var used: Used?
  /// The answer for the next attempt. It is sent only to the same origin: a redirect may lead to another protection
  /// space.
  var answering: Answering?
  /// The number of credentials that were refused.
  var failures = 0
  /// The credentials that each space has refused in this call.
  var refused: [ProtectionSpace: Set<Credential>] = [:]
  private var renewals = 0

  struct Answering: Sendable {
    let space: ProtectionSpace
    let credential: Credential
    /// Whether other requests may send the credential once it is accepted.
    let isShared: Bool
  }

  struct Used: Sendable {
    let answer: PasswordMemory.Answer
    /// The value of `Authorization`.
    let authorization: String
    let origin: Origin
    /// Whether it answered a challenge of this call, rather than an earlier one.
    let isFresh: Bool
    /// Whether other requests may send the credential once it is accepted.
    let isShared: Bool
  }

  /// The meaning of a 401 for the credential that was sent.
  enum Refusal: Sendable {
    /// No credential was sent to the protection space.
    case none
    /// The credential may be correct, and is sent again with the new challenge.
    case renew(Credential)
    /// The credential is wrong.
    case refused(Credential)

    var credential: Credential? {
      switch self {
      case .none: nil
      case .renew(let credential), .refused(let credential): credential
      }
    }
  }

  /// Returns the meaning of a 401, and counts refusals and renewals.
  ///
  /// A stale nonce does not mean that the password is wrong (RFC 7616 §3.3). If the request answered an earlier
  /// challenge, neither does a new nonce or scheme, because not every server sends `stale`. A challenge of another
  /// realm belongs to another protection space, which has not seen a Digest answer yet (RFC 9110 §11.5); Basic would
  /// send it the same bytes again. A call renews three times at most.
  mutating func refusal(by challenge: PasswordChallenge, in rejection: Rejection) -> Refusal {
    guard let used, used.authorization == rejection.request.fields[.authorization] else { return .none }
    let credential = used.answer.credential
    let isOtherSpace = (used.answer.realm ?? challenge.realm) != challenge.realm
    guard renewals < 3, isOtherSpace || Self.isRenewal(used, challenge) else {
      failures += 1
      return .refused(credential)
    }
    renewals += 1
    guard isOtherSpace else { return .renew(credential) }
    if case (.basic, .basic) = (challenge, used.answer) { return .refused(credential) }
    return .none
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
