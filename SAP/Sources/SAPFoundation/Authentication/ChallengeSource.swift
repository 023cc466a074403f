@_spi(Credentials) @_spi(Toolkit) import MartletEngine
import MartletSemantics

/// Answers the 401 challenges of a session's tasks: it asks observers and the delegate for a credential, and lets the
/// engine compute the answer.
final class ChallengeSource: ImmediateCredentialSource {
  let scope = CredentialScope.any
  private let accepted: AcceptedPasswords
  private let passwords: PasswordSource
  private let states: CallLocal<Locked<State>?>

  /// The state of a call.
  private struct State {
    var rejection: Rejection?
    /// The last credential of each protection space. It is sent only there: a redirect may lead to another one.
    var last: [SessionCredentials.Key: URLCredential] = [:]
    /// The scheme of the question that was answered with `.rejectProtectionSpace`.
    var rejectedScheme: PasswordScheme?
    /// The origin whose challenge the next attempt answers.
    var answering: Origin?
  }

  init(_ accepted: AcceptedPasswords) {
    let states = CallLocal<Locked<State>?>(nil)
    self.states = states
    self.accepted = accepted
    passwords = PasswordSource(perCall: accepted) { question, call in
      guard let task = call[SAPURLSessionTask.ofCall] else { return nil }
      return try await Self.answer(question, for: task, Self.state(of: call, in: states))
    }
  }

  private static func state(of call: Call, in states: CallLocal<Locked<State>?>) -> Locked<State> {
    if let state = call[states] { return state }
    let state = Locked(State())
    call[states] = state
    return state
  }

  /// Adds a password that the server has accepted before, without a challenge. Origins reached only by a redirect do
  /// not get one.
  func authorizeImmediately(_ request: inout HTTPRequest, in call: Call) -> Unfinished<HTTPRequest>? {
    guard let task = call[SAPURLSessionTask.ofCall] else { return nil }
    do { try task.session.signOut.check(task.begun) } catch { return { throw error } }
    if call[states] == nil, accepted.isEmpty { return nil }
    let state = Self.state(of: call, in: states)
    let answering = state.withLock { state in
      defer { state.answering = nil }
      return state.answering
    }
    let origin = request.origin
    guard origin == call.askedURL.flatMap({ Origin($0) }) || origin == answering else { return nil }
    return { [request, passwords] in try await passwords.authorize(request, in: call) }
  }

  /// Asks about the response's strongest scheme. After `.rejectProtectionSpace`, it asks about the next one.
  func authenticate(after rejection: Rejection, in call: Call) async throws -> Bool {
    let state = Self.state(of: call, in: states)
    var rejection = rejection
    while true {
      state.withLock { ($0.rejection, $0.rejectedScheme) = (rejection, nil) }
      if try await passwords.authenticate(after: rejection, in: call) {
        state.withLock { $0.answering = rejection.origin }
        return true
      }
      guard let scheme = state.withLock({ $0.rejectedScheme }) else { return false }
      rejection = Rejection(rejection, without: scheme)
    }
  }

  func didReceive(_ response: ResponseHead, to request: HTTPRequest, in call: Call) throws {
    try passwords.didReceive(response, to: request, in: call)
  }

  private static func answer(
    _ question: PasswordSource.Question, for task: SAPURLSessionTask, _ state: Locked<State>
  ) async throws -> PasswordAnswer? {
    let session = task.session
    let (credentials, key) = (session.credentials, SessionCredentials.Key(question))
    if credentials.hasSignedOut(since: task.begun) { return nil }
    let refused = question.refused.map { URLCredential(user: $0.user, password: $0.password, persistence: .none) }
    if let known = credentials[key] {
      guard known.user == refused?.user, known.password == refused?.password else {
        state.withLock { $0.last[key] = known }
        return known.answer(isShared: true)
      }
      credentials.remove(known, for: key)
    }
    let (rejection, last) = state.withLock { ($0.rejection, $0.last[key]) }
    let space = URLProtectionSpace(question)
    let storage = session.foundationConfiguration.urlCredentialStorage
    if let refused, storage === URLCredentialStorage.shared { KeptCredentials.remove(refused, for: space) }
    let proposed = last ?? refused ?? storage?.credential(for: space)
    let challenge = URLAuthenticationChallenge(
      protectionSpace: space, proposedCredential: proposed, previousFailureCount: question.failureCount,
      failureResponse: rejection.flatMap { $0.response.urlResponse(from: $0.request.url) }, error: nil,
      sender: ChallengeSender())
    switch try await task.resolve(challenge) {
    case .use(let credential):
      state.withLock { $0.last[key] = credential }
      try credentials.store(credential, for: key, space, in: storage, begun: task.begun)
      return credential.answer(isShared: credential.persistence != .none || session.hasGiver(of: credential))
    case .performDefaultHandling:
      guard question.failureCount == 0, let proposed else { return nil }
      state.withLock { $0.last[key] = proposed }
      return proposed.answer(isShared: true)
    case .rejectProtectionSpace:
      state.withLock { $0.rejectedScheme = question.sendsPassword ? .basic : .digest }
      return nil
    case .cancel: return nil
    }
  }
}

extension URLProtectionSpace {
  fileprivate convenience init(_ question: PasswordSource.Question) {
    let origin = question.space.origin
    self.init(
      host: origin.host, port: origin.port, protocol: origin.scheme, realm: question.space.realm,
      authenticationMethod: question.sendsPassword
        ? NSURLAuthenticationMethodHTTPBasic : NSURLAuthenticationMethodHTTPDigest)
  }
}

extension URLCredential {
  /// The user's name and password; nil if there is no password.
  fileprivate func answer(isShared: Bool) -> PasswordAnswer? {
    password.map { PasswordAnswer(Credential(user: user ?? "", password: $0), isShared: isShared) }
  }
}

extension SAPURLSession {
  /// Whether a registered observer gave this credential, for all requests.
  fileprivate func hasGiver(of credential: URLCredential) -> Bool {
    observers.contains { ($0 as? any CredentialHolder)?.gave(credential) == true }
  }
}

/// The sender that Foundation requires for a challenge. Answers go to the completion handler, so it does nothing.
final class ChallengeSender: NSObject, URLAuthenticationChallengeSender, Sendable {
  func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
  func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
  func cancel(_ challenge: URLAuthenticationChallenge) {}
  func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
  func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
}

/// The credentials that observers and the delegate gave for the session or permanently (`.forSession`, `.permanent`).
/// They answer later challenges of their protection space, until a server refuses them or the user signs out.
final class SessionCredentials: Sendable {
  private struct Entry {
    let credential: URLCredential
    /// The storage that has a `.permanent` credential, too.
    let storage: URLCredentialStorage?
    let space: URLProtectionSpace

    /// Stores the credential in the storage, if it has one.
    func store() {
      storage?.set(credential, for: space)
      if storage === URLCredentialStorage.shared { KeptCredentials.store(credential, for: space) }
    }

    /// Removes the credential from the storage.
    func remove() {
      storage?.remove(credential, for: space)
      if storage === URLCredentialStorage.shared { KeptCredentials.remove(for: space) }
    }
  }

  /// The use of a credential: a credential given for Digest is not sent as a password.
  struct Key: Hashable {
    let space: ProtectionSpace
    let sendsPassword: Bool

    init(_ question: PasswordSource.Question) {
      space = question.space
      sendsPassword = question.sendsPassword
    }
  }

  private let entries = UserData<[Key: Entry]>([:])

  /// Whether the user has signed out since a task began.
  func hasSignedOut(since begun: Beginning) -> Bool { entries.hasSignedOut(since: begun) }

  subscript(key: Key) -> URLCredential? { entries.access { $0[key]?.credential } }

  /// Stores a credential for the time given by its persistence; a `.permanent` one in the storage, too.
  ///
  /// The storage is not called under the lock: it notifies the app, which may sign out at once.
  ///
  /// - Parameter begun: when the challenged task began.
  /// - Throws: ``HTTPError/signedOut``, even for a credential that is not stored.
  func store(
    _ credential: URLCredential, for key: Key, _ space: URLProtectionSpace, in storage: URLCredentialStorage?,
    begun: Beginning
  ) throws {
    let storage = credential.persistence == .permanent ? storage : nil
    let entry = Entry(credential: credential, storage: storage, space: space)
    try entries.use(since: begun) { if credential.persistence != .none { $0[key] = entry } }
    entry.store()
    guard hasSignedOut(since: begun) else { return }
    // The sign-out may have removed the credential from the storage before it was there.
    entry.remove()
    throw HTTPError.signedOut
  }

  /// Removes a credential that a server has refused, unless it was replaced in the meantime.
  func remove(_ refused: URLCredential, for key: Key) {
    let old = entries.access { entries -> Entry? in
      guard entries[key]?.credential === refused else { return nil }
      return entries.removeValue(forKey: key)
    }
    old?.remove()
  }

  /// Removes all credentials, because the user signs out.
  func removeAll() {
    let former = entries.signOut { entries in
      defer { entries = [:] }
      return entries
    }
    for old in former.values { old.remove() }
  }
}
