@_spi(Credentials) import MartletEngine
import MartletSemantics

/// Answers challenges (Basic, Digest) with a stored credential, or with one that the user enters.
///
/// ```swift
/// let session = SAPURLSession()
/// session.register(BasicAuthenticationObserver(credentialDiscovery: loginScreen))
/// ```
///
/// The store is read, and the user asked, once for all requests that need a credential. A credential that the server
/// accepts is then sent without another challenge. If the server refuses it, it is deleted, and the user is asked
/// again; if that one is refused too, it is deleted, and the caller gets the 401. Credentials are sent only to the
/// server that the app addressed, never to another one after a redirect. The names of the initializer's parameters are
/// not SAP's.
open class BasicAuthenticationObserver: SAPURLSessionObserver {
  private let credentials: BasicCredentials

  /// Makes an observer.
  ///
  /// - Parameters:
  ///   - credentialStore: stores credentials; in memory by default.
  ///   - credentialDiscovery: gets credentials from the user; without it, only stored ones are used. Its own requests
  ///     with the same session get no credential from this observer; requests from another queue need the
  ///     `CallContext`.
  public init(
    credentialStore: any BasicCredentialStoring = BasicCredentialStorage(),
    credentialDiscovery: (any BasicCredentialDiscovery)? = nil
  ) {
    credentials = BasicCredentials(UserData(credentialStore), UncheckedSendable(value: credentialDiscovery))
  }

  /// Answers a Basic or Digest challenge, and leaves all others to the next observer.
  open override func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
  ) {
    let methods = [NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPDigest]
    guard methods.contains(challenge.protectionSpace.authenticationMethod),
      let (url, origin) = task.askedServer(of: challenge),
      let entry = credentials.entry(for: challenge, url, origin, begun: task.begun)
    else { return completionHandler(.performDefaultHandling) }
    let challenge = UncheckedSendable(value: challenge)
    task.complete(completionHandler) { [credentials, begun = task.begun] call in
      try await credentials.credential(for: challenge, entry, by: call, begun: begun)
    }
  }
}

extension BasicAuthenticationObserver: CredentialHolder {
  func gave(_ credential: URLCredential) -> Bool { credentials.gave(credential) }

  var keeper: any CredentialKeeper { credentials.servers }
}

/// The credentials of one observer.
private final class BasicCredentials: Sendable {
  typealias Servers = CredentialsByOrigin<BasicCredential, any BasicCredentialStoring>
  typealias Entry = Servers.Entry

  let servers: Servers
  private let discovery: UncheckedSendable<(any BasicCredentialDiscovery)?>
  /// The credentials that answered challenges.
  private let given: Locked<Set<BasicCredential>>
  private var store: UserData<any BasicCredentialStoring> { servers.store }

  init(_ store: UserData<any BasicCredentialStoring>, _ discovery: UncheckedSendable<(any BasicCredentialDiscovery)?>) {
    let given = Locked<Set<BasicCredential>>([])
    servers = Servers("password", in: store, delete: { try $0.delete(for: $1) }) { store in
      store.clear()
      given.withLock { $0 = [] }
    }
    (self.given, self.discovery) = (given, discovery)
  }

  /// Returns the entry of the challenging server; nil if the user has signed out since, or if two credentials were
  /// already refused: then the second is deleted.
  func entry(for challenge: URLAuthenticationChallenge, _ url: URL, _ origin: Origin, begun: Beginning) -> Entry? {
    guard !store.hasSignedOut(since: begun) else { return nil }
    let entry = servers.entry(for: origin, url)
    guard challenge.previousFailureCount < 2 else {
      if let refused = challenge.proposedCredential { delete(BasicCredential(refused), entry) }
      return nil
    }
    return entry
  }

  func credential(
    for challenge: UncheckedSendable<URLAuthenticationChallenge>, _ entry: Entry, by call: Call, begun: Beginning
  ) async throws -> URLCredential? {
    let credential: BasicCredential?
    if challenge.value.previousFailureCount > 0,
      let refused = challenge.value.proposedCredential.map(BasicCredential.init)
    {
      credential = try await entry.renewal.value(insteadOf: { $0.value == refused }, by: call) { [self] _ in
        try store.use(since: begun) { try $0.delete(for: entry.url) }
        return try await discover(entry.url, challenge, begun: begun)
      }.version?.value
    } else {
      credential = try await entry.renewal.value(where: { _ in true }, by: call) { [self] _ in
        if let stored = try store.access({ try $0.credential(for: entry.url) }) { return stored }
        return try await discover(entry.url, challenge, begun: begun)
      }.version?.value
    }
    guard let credential else { return nil }
    try store.use(since: begun) { _ in _ = given.withLock { $0.insert(credential) } }
    return URLCredential(user: credential.username, password: credential.password, persistence: .none)
  }

  /// Gets a credential from the user, and stores it.
  private func discover(
    _ url: URL, _ challenge: UncheckedSendable<URLAuthenticationChallenge>, begun: Beginning
  ) async throws -> BasicCredential? {
    guard let discovery = discovery.value else { return nil }
    let credential = try await firstResult(of: begun) {
      discovery.provideBasicCredential(for: url, challenge: challenge.value, completionHandler: $0)
    }
    try store.use(since: begun) { store in
      if let credential { try store.store(credential: credential, for: url) }
    }
    return credential
  }

  /// Deletes a refused credential, unless it was replaced in the meantime.
  private func delete(_ refused: BasicCredential, _ entry: Entry) {
    store.access { store in
      if (try? store.credential(for: entry.url)) == refused { try? store.delete(for: entry.url) }
    }
    entry.renewal.remove { $0.value == refused }
  }

  func gave(_ credential: URLCredential) -> Bool { given.withLock { $0.contains(BasicCredential(credential)) } }
}

// MARK: - Credentials and their stores

/// A user's name and password. A description of it shows neither.
public struct BasicCredential: Codable, Sendable, Hashable {
  /// The user's name.
  public let username: String
  /// The password.
  public let password: String

  /// Makes a credential.
  public init(username: String, password: String) {
    self.username = username
    self.password = password
  }

  fileprivate init(_ credential: URLCredential) {
    self.init(username: credential.user ?? "", password: credential.password ?? "")
  }
}

extension BasicCredential: CustomStringConvertible, CustomReflectable {
  /// The words "a credential".
  public var description: String { "a credential" }

  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Stores credentials. The URL is the request's; distinguish URLs at least by host and port. One thread at a time calls
/// it.
public protocol BasicCredentialStoring {
  /// Stores a credential, and replaces a previous one.
  func store(credential: BasicCredential, for url: URL) throws

  /// Returns the credential for a URL; nil if there is none.
  func credential(for url: URL) throws -> BasicCredential?

  /// Deletes the credential for a URL.
  func delete(for url: URL) throws

  /// Deletes all credentials, including those from an earlier run of the program, because the user signs out. Does
  /// nothing by default: credentials of servers that this run has seen are deleted one by one anyway.
  func clear()
}

extension BasicCredentialStoring {
  /// Does nothing.
  public func clear() {}
}

/// Gets a credential from the user.
public protocol BasicCredentialDiscovery {
  /// Asks the user for the credential for a URL.
  ///
  /// - Parameters:
  ///   - url: the URL of the request.
  ///   - challenge: the server's challenge: host, realm, and how many credentials were refused.
  ///   - completionHandler: to be called once, on any thread: with a credential, with an error, or with nil for both if
  ///     the user cancels.
  func provideBasicCredential(
    for url: URL, challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (BasicCredential?, (any Error)?) -> Void)
}

/// Stores credentials in a ``CodableStoring``, by scheme, host and port. They are secrets: use an encrypted store.
open class BasicCredentialStorage: BasicCredentialStoring {
  private let storage: any CodableStoring

  /// Makes a storage; in memory by default.
  public init(store: any CodableStoring = CodableStorage()) { storage = store }

  open func store(credential: BasicCredential, for url: URL) throws {
    try storage.put(credential, for: url.storageKey(Self.keyPrefix), listedBelow: Self.keyPrefix)
  }

  open func credential(for url: URL) throws -> BasicCredential? {
    try storage.get(BasicCredential.self, for: url.storageKey(Self.keyPrefix))
  }

  open func delete(for url: URL) throws { try storage.remove(for: url.storageKey(Self.keyPrefix)) }

  /// Deletes all credentials, even those of earlier runs of the program. For this the store has a list of their keys.
  open func clear() { storage.removeAll(listedBelow: Self.keyPrefix) }

  /// The prefix of all keys.
  static let keyPrefix = "basic-credential "
}
