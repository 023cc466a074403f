public import MartletSemantics
import Synchronization

/// A user name and a password: answers Basic (RFC 7617) and Digest (RFC 7616), the strongest of what is offered.
///
/// ```swift
/// configuration.credentials = [
///   PasswordSource(Credential(user: "anna", password: password), for: .origin(of: url))
/// ]
/// ```
///
/// A password is sent when the server asks for it, and from then on unasked within the same protection space, with Digest's
/// nonces counted and renewed as the server wishes. A password that was refused is not sent again: the 401 is the caller's.
/// Basic is as secret as the connection is.
public final class PasswordSource: CredentialSource {
  /// When the password is sent.
  public enum Offer: Sendable, Hashable {
    /// When a server has asked for it: a request that is answered with 401 is sent again.
    case whenAsked
    /// With the first request to an origin already, by Basic: for servers that do not ask, and for bodies that can be sent
    /// only once. A server that prefers Digest has seen the password then.
    case fromTheStart
  }

  /// Gets a credential from whoever knows it, or nil to give up.
  public typealias Asking = @Sendable (PasswordQuestion) async throws -> Credential?

  public let scope: CredentialScope
  private let realm: String?
  private let offer: Offer
  private let lookup: PasswordLookup
  private let stepAside: StepAside
  private let memory = Mutex(PasswordMemory())
  private let progress = ExchangeLocal(PasswordProgress())

  private init(_ scope: CredentialScope, realm: String?, offer: Offer, lookup: PasswordLookup, _ stepAside: StepAside) {
    self.scope = scope
    self.realm = realm
    self.offer = offer
    self.lookup = lookup
    self.stepAside = stepAside
  }

  /// Makes a source of one credential.
  ///
  /// - Parameters:
  ///   - credential: the user's name and the password.
  ///   - scope: the origins that may get them.
  ///   - realm: the only realm that may get them; nil, the default, means any of those origins.
  ///   - offer: when they are sent; when the server asks, by default.
  public convenience init(
    _ credential: Credential, for scope: CredentialScope, realm: String? = nil, offer: Offer = .whenAsked
  ) {
    self.init(scope, realm: realm, offer: offer, lookup: .fixed(credential), StepAside())
  }

  /// Makes a source that asks somebody: the user, a keychain.
  ///
  /// The question is asked once, however many requests wait for the answer, which is kept until a server refuses it; then
  /// it is asked again, with the number of failures so far. Requests that the closure makes pass by this source. What it
  /// throws becomes an error of kind ``HTTPError/Kind/authenticationFailed`` for everybody who waits; nil leaves them the
  /// 401. Cancelling a request does not take the question back.
  ///
  /// - Parameters:
  ///   - scope: the origins for which it is asked.
  ///   - realm: the only realm for which it is asked; nil, the default, means any.
  ///   - ask: gets the credential.
  public convenience init(for scope: CredentialScope, realm: String? = nil, asking ask: @escaping Asking) {
    let stepAside = StepAside()
    self.init(scope, realm: realm, offer: .whenAsked, lookup: .asking(AskedPasswords(ask, stepAside)), stepAside)
  }

  /// Makes a source of the credentials in a ``Netrc``.
  ///
  /// - Parameters:
  ///   - netrc: `try .file()` reads the user's own.
  ///   - scope: the origins that may get them; those whose host is in the file, by default. An entry `default` is for any.
  ///   - offer: when they are sent; when the server asks, by default.
  public convenience init(_ netrc: Netrc, for scope: CredentialScope = .any, offer: Offer = .whenAsked) {
    self.init(scope, realm: nil, offer: offer, lookup: .netrc(netrc), StepAside())
  }

  /// Makes a source for one exchange, that asks in the exchange's own task: its cancellation ends the question, and what the
  /// closure throws ends the exchange.
  package convenience init(forOneExchange ask: @escaping Asking) {
    self.init(.any, realm: nil, offer: .whenAsked, lookup: .askingEach(ask), StepAside())
  }

  /// Makes the source of what stands in URLs.
  convenience init(ofExchanges credentials: ExchangeLocal<[Origin: Credential]>) {
    self.init(.any, realm: nil, offer: .whenAsked, lookup: .exchange(credentials), StepAside())
  }

  public func authorize(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
    var progress = exchange[progress]
    progress.used = nil
    defer { exchange[self.progress] = progress }
    guard !stepAside.isActive, let origin = Origin(request.url) else { return request }
    let space = progress.answering.flatMap { $0.origin == origin ? $0 : nil }
    progress.answering = nil
    let only = lookup.only(for: origin, in: exchange)
    let known = memory.withLock { $0.answer(to: (request.method, request.url), in: space, only: only) }
    guard let answer = known ?? (space == nil ? unasked(origin, progress) : nil), let value = try Self.value(of: answer)
    else {
      return request
    }
    var request = request
    request.fields[.authorization] = value
    progress.used = PasswordProgress.Used(
      answer: answer, authorization: value, origin: origin, isFresh: space != nil)
    return request
  }

  public func authenticate(after rejection: Rejection, in exchange: Exchange) async throws -> Bool {
    var progress = exchange[progress]
    defer { exchange[self.progress] = progress }
    let challenge = PasswordChallenge.strongest(of: rejection.challenges, realm: realm) { algorithm in
      MessageDigest.hash(algorithm, Data()) != nil
    }
    guard !stepAside.isActive, let challenge else { return false }
    let space = ProtectionSpace(origin: rejection.origin, realm: challenge.realm)
    let refused = progress.refusal(by: challenge, in: rejection)
    if case .renew(let credential) = refused {
      return adopt(challenge, credential, rejection, &progress)
    }
    if case .refused(let credential) = refused {
      memory.withLock { $0.forget(credential, at: rejection.origin) }
    }
    let question = PasswordQuestion(
      space: space, failureCount: progress.failures, sendsPassword: challenge == .basic(realm: challenge.realm))
    let credential = try await lookup.credential(for: question, refused: refused.credential, in: exchange)
    guard let credential, credential != refused.credential else { return false }
    return adopt(challenge, credential, rejection, &progress)
  }

  public func accepted(_ response: ResponseHead, to request: HTTPRequest, in exchange: Exchange) throws {
    guard let used = exchange[progress].used else { return }
    var nextNonce: String?
    if case .digest(let answer) = used.answer, let info = AuthenticationInfo(response.fields) {
      guard answer.isProven(by: info, hash: MessageDigest.hash) != false else {
        throw HTTPError(
          .authenticationFailed, "\(used.origin) accepted the password without knowing it: its rspauth is wrong")
      }
      nextNonce = info.nextNonce
    }
    memory.withLock { $0.accepted(used.answer, by: request.url, nextNonce: nextNonce) }
  }

  /// Takes note of what answers the challenge; the next attempt will carry it.
  private func adopt(
    _ challenge: PasswordChallenge, _ credential: Credential, _ rejection: Rejection, _ progress: inout PasswordProgress
  ) -> Bool {
    let nonce = Self.clientNonce()
    memory.withLock { $0.adopt(challenge, with: credential, for: rejection.request.url, clientNonce: nonce) }
    progress.answering = ProtectionSpace(origin: rejection.origin, realm: challenge.realm)
    return true
  }

  private func unasked(_ origin: Origin, _ progress: PasswordProgress) -> PasswordMemory.Answer? {
    guard offer == .fromTheStart, progress.failures == 0 else { return nil }
    return lookup.known(for: origin).map { .basic($0) }
  }

  private static func value(of answer: PasswordMemory.Answer) throws(HTTPError) -> String? {
    do {
      switch answer {
      case .basic(let credential): return try BasicScheme.authorization(for: credential)
      case .digest(let answer): return try answer.authorization(hash: MessageDigest.hash)
      }
    } catch {
      throw HTTPError(.authenticationFailed, error.description, phase: .preparing)
    }
  }

  /// 128 bits that nobody can guess.
  private static func clientNonce() -> String {
    (0..<16).map { _ in DigestAnswer.hexadecimal(UInt8.random(in: 0...255)) }.joined()
  }
}
