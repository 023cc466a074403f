@_spi(Toolkit) public import MartletSemantics
import Synchronization

extension PasswordSource {
  /// A request for a user name and a password, for the closure of a ``PasswordSource``.
  public struct Question: Sendable, Hashable {
    /// The protection space that requires the password. Show its origin to the user: the realm is the server's own
    /// text.
    public let space: ProtectionSpace
    /// The number of passwords that the server has refused in this call. 0 for the first one.
    public let failureCount: Int
    /// Whether the password itself is sent to the server (Basic), rather than a hash of it (Digest).
    public let sendsPassword: Bool
    /// The last credential that was refused in this call; nil if there is none.
    @_spi(Credentials) public let refused: Credential?
  }
}

/// The answer to a ``PasswordSource/Question`` of one call.
@_spi(Credentials) public struct PasswordAnswer: Sendable {
  let credential: Credential
  let isShared: Bool

  /// Makes an answer.
  ///
  /// - Parameters:
  ///   - credential: the user name and the password.
  ///   - isShared: whether other requests may send it without a challenge once the server has accepted it.
  public init(_ credential: Credential, isShared: Bool) {
    self.credential = credential
    self.isShared = isShared
  }
}

/// The passwords that servers have accepted. Several sources can share one object.
@_spi(Credentials) public final class AcceptedPasswords: Sendable {
  let memory = Mutex(PasswordMemory())

  public init() {}

  /// Whether there are none, so that requests are sent as they are.
  public var isEmpty: Bool { memory.withLock { $0.isEmpty } }

  /// Removes all passwords. Answers to earlier questions are not used.
  public func removeAll() { memory.withLock { $0.removeAll() } }
}

/// The way in which a ``PasswordSource`` finds the credential for a protection space.
enum PasswordLookup: Sendable {
  case fixed(Credential)
  case netrc(Netrc)
  /// Calls the closure once for all calls.
  case asking(AskedPasswords)
  /// Calls the closure for each call.
  case askingPerCall(PasswordSource.AskingOnce)
  /// Has the user information of the call's URLs.
  case ofURL

  /// Returns the credential for a question; nil, or the refused one again, if there is no other.
  func credential(for question: PasswordSource.Question, in call: Call) async throws -> PasswordAnswer? {
    let credential: Credential?
    switch self {
    case .fixed, .netrc, .ofURL: credential = storedCredential(for: question.space.origin, in: call)
    case .askingPerCall(let ask): return try await ask(question, call)
    case .asking(let passwords):
      credential = try await passwords.credential(for: question, by: call)
    }
    return credential.map { PasswordAnswer($0, isShared: true) }
  }

  /// Returns the credential that is available without a question; nil if there is none. If the URL names a user, it is
  /// a credential of that user.
  func storedCredential(for origin: Origin, in call: Call) -> Credential? {
    let named = call[URLCredentials.ofCall][origin]
    switch self {
    case .fixed(let credential): return named.map { $0.user == credential.user } ?? true ? credential : nil
    case .netrc(let netrc):
      guard let named else { return netrc.credential(for: origin.host) }
      return netrc.credential(for: origin.host, user: named.user)
    case .ofURL: return named?.credential
    case .asking, .askingPerCall: return nil
    }
  }

  /// Returns what a credential must match to be sent without a challenge; nil if the source may send any that it has.
  func requirement(for origin: Origin, in call: Call) -> UserInformation? {
    let named = call[URLCredentials.ofCall][origin]
    if case .ofURL = self { return named.map { UserInformation($0.credential) } }
    return named
  }
}

/// The passwords that a closure has returned for the 100 most recently used protection spaces. For each space, only one
/// task at a time calls the closure.
final class AskedPasswords: Sendable {
  private struct Space {
    let renewal = Renewal<Credential>(nil, of: "the password")
    /// The number of calls that get the password now.
    var callCount = 0

    /// Whether the closure is running for the space, or may begin to run: if the space were forgotten, the next call
    /// would run it a second time.
    var isInUse: Bool { callCount > 0 || renewal.running != nil }
  }

  private let ask: PasswordSource.Asking
  /// Bounded, because a server can invent realms.
  private let spaces = Mutex(LRUStorage<ProtectionSpace, Space>(countLimit: 100, isInUse: { $0.isInUse }))

  init(_ ask: @escaping PasswordSource.Asking) { self.ask = ask }

  func credential(for question: PasswordSource.Question, by call: Call) async throws -> Credential? {
    let renewal = spaces.withLock { spaces in
      spaces.update(question.space, from: Space()) { space -> Renewal<Credential> in
        space.callCount += 1
        return space.renewal
      }
    }
    defer { spaces.withLock { spaces in spaces.update(question.space, from: Space()) { $0.callCount -= 1 } } }
    let answer = try await renewal.value(insteadOf: { $0.value == question.refused }, by: call) { [ask] _ in
      do { return try await ask(question) } catch {
        throw HTTPError(
          .authenticationFailed, "no password for \(question.space): see the underlying error", underlying: error)
      }
    }
    return answer.version?.value
  }
}
