@_spi(Credentials) import MartletEngine
import MartletSemantics

#if os(Linux)
/// Answers challenges for a client certificate with the user's certificate, which is stored or obtained.
///
/// ```swift
/// let session = SAPURLSession()
/// let identities = UserIdentityStorage(store: secrets)
/// session.register(UserIdentityObserver(userIdentityDiscovery: enrolment, identityStore: identities))
/// ```
///
/// - For each server, one certificate is obtained at a time; all requests that need it wait for it.
/// - A certificate that cannot be read, or that the server refuses with a TLS alert about certificates (RFC 8446 §6.2),
///   is deleted. Another one is obtained, and the request is sent again. If the server refuses that one, too, it is
///   deleted, and all requests that waited for it fail: there is no loop. If obtaining fails, they fail with its error.
/// - The certificate is used for the server that the app addressed, never for another one after a redirect. A status
///   such as 403 does not mean that the certificate was refused.
///
/// On Linux the challenge comes before the first connection to each secure origin: see ``SAPClientCertificate``.
open class UserIdentityObserver: BuiltInObserver {
  private let identities: UserIdentities
  private let password: String

  /// Makes an observer.
  ///
  /// - Parameters:
  ///   - userIdentityDiscovery: obtains certificates.
  ///   - identityStore: stores them; in memory by default.
  ///   - password: the password of the PKCS#12 containers; empty by default, as SAP documents. (SAP's initializer does
  ///     not have this parameter.)
  public init(
    userIdentityDiscovery: any UserIdentityObtaining, identityStore: any UserIdentityStoring = UserIdentityStorage(),
    password: String = ""
  ) {
    identities = UserIdentities(UncheckedSendable(value: userIdentityDiscovery), UserData(identityStore))
    self.password = password
  }

  /// Answers a challenge for a client certificate, and leaves all others to the next observer.
  open override func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
  ) {
    guard challenge.protectionSpace.authenticationMethod == SAPClientCertificate.authenticationMethod,
      let (url, origin) = task.askedServer(of: challenge)
    else { return completionHandler(.performDefaultHandling) }
    task.complete(completionHandler) { [identities, password] call in
      try await identities.identity(for: url, at: origin, for: task, by: call).map {
        SAPClientCertificate(.pkcs12(data: $0.value, password: password), version: $0)
      }
    }
  }
}

extension UserIdentityObserver: CustomReflectable {
  /// A mirror without children, because the observer has a password.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension UserIdentityObserver: InterceptingObserver, CredentialHolder {
  var interceptor: any Interceptor { identities }

  var keeper: any CredentialKeeper { identities.servers }
}

/// The certificates of one observer.
private final class UserIdentities: Interceptor {
  private let discovery: UncheckedSendable<any UserIdentityObtaining>
  let servers: CredentialsByOrigin<Data, any UserIdentityStoring>
  private var store: UserData<any UserIdentityStoring> { servers.store }
  /// Whether a call has replaced a refused certificate.
  private let hasRenewed = CallLocal(false)

  init(_ discovery: UncheckedSendable<any UserIdentityObtaining>, _ store: UserData<any UserIdentityStoring>) {
    self.discovery = discovery
    servers = CredentialsByOrigin(
      "certificate", in: store, delete: { try $0.delete(for: $1) }, clear: { $0.clear() })
  }

  func identity(
    for url: URL, at origin: Origin, for task: SAPURLSessionTask, by call: Call
  ) async throws -> RenewedValue<Data>? {
    let begun = task.begun
    guard !store.hasSignedOut(since: begun) else { throw HTTPError.signedOut }
    let renewal = servers.entry(for: origin, url).renewal
    let outcome = try await renewal.value(where: { _ in true }, by: call) { [self] _ in
      if let stored = try store.access({ try $0.identity(for: url) }) { return stored }
      return try await obtain(for: url, begun: begun)
    }
    guard !store.hasSignedOut(since: begun) else { throw HTTPError.signedOut }
    return outcome.version
  }

  func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    guard let task = call[SAPURLSessionTask.ofCall] else { return .accept }
    let begun = task.begun
    guard case .failure(let error) = outcome, Self.isRefusal(error),
      !store.hasSignedOut(since: begun), let origin = Origin(attempt.sent.url), let entry = servers[origin]
    else { return .accept }
    let refused = call[IdentifiedTransport.certificateInUse]?.version
    guard !call[hasRenewed] else {
      if let refused { delete(refused, entry) }
      return .accept
    }
    call[hasRenewed] = true
    let version = try await entry.renewal.value(insteadOf: { isSame($0, refused) }, by: call) { [self] _ in
      try store.use(since: begun) { try $0.delete(for: entry.url) }
      return try await obtain(for: entry.url, begun: begun)
    }.version
    guard version != nil, attempt.request.body.canBeSent else { return .accept }
    // A request that failed after the renewal, or a challenge before it, may have kept the refused certificate.
    task.session.removeTLSAnswer(for: origin)
    return .resend(attempt.request, reason: "\(origin) refused the user's certificate")
  }

  /// Deletes a refused certificate, unless it was replaced in the meantime: first in the store, from which the next
  /// call would get it again.
  private func delete(
    _ refused: RenewedValue<Data>, _ entry: CredentialsByOrigin<Data, any UserIdentityStoring>.Entry
  ) {
    store.access { store in
      if (try? store.identity(for: entry.url)) == refused.value { try? store.delete(for: entry.url) }
    }
    entry.renewal.remove { isSame($0, refused) }
  }

  /// Whether they are one version. The certificate is compared, too: another observer may have given one with the same
  /// number.
  private func isSame(_ version: RenewedValue<Data>, _ other: RenewedValue<Data>?) -> Bool {
    version.number == other?.number && version.value == other?.value
  }

  /// Obtains a certificate, and stores it.
  private func obtain(for url: URL, begun: Beginning) async throws -> Data? {
    let identity = try await firstResult(of: begun) { discovery.value.obtainUserIdentity(completionHandler: $0) }
    try store.use(since: begun) { store in
      if let identity { try store.store(identity: identity, for: url) }
    }
    return identity
  }

  private static func isRefusal(_ error: HTTPError) -> Bool {
    [.badClientCertificate, .badClientCertificatePassword].contains(error.kind)
  }
}
#endif

// MARK: - Certificates and their stores

/// Stores a user's certificates. The URL is that of the request; distinguish URLs by host and port, at least. Only one
/// thread at a time calls it.
public protocol UserIdentityStoring {
  /// Stores a certificate with its key, as PKCS#12. It replaces a previous one.
  func store(identity: Data, for url: URL) throws

  /// Returns the certificate for a URL; nil if there is none.
  func identity(for url: URL) throws -> Data?

  /// Deletes the certificate for a URL.
  func delete(for url: URL) throws

  /// Deletes all certificates. Does nothing by default.
  func clear()
}

extension UserIdentityStoring {
  /// Does nothing.
  public func clear() {}
}

/// Obtains a certificate for the user, from a service or a file.
public protocol UserIdentityObtaining {
  /// Obtains a certificate with its key, as PKCS#12. Call the handler once, on any thread: with a certificate, with an
  /// error, or with nil for both if there is none.
  func obtainUserIdentity(completionHandler: @escaping @Sendable (Data?, (any Error)?) -> Void)
}

/// Stores certificates in a ``CodableStoring``, by scheme, host and port. They include private keys: use an encrypted
/// store.
open class UserIdentityStorage: UserIdentityStoring {
  /// The store of the certificates.
  open var store: any CodableStoring
  /// Returns the key of a URL's certificate.
  open var keyHandler: (URL) -> String

  /// Makes a storage; in memory by default.
  public init(
    store: any CodableStoring = CodableStorage(), keyHandler: @escaping (URL) -> String = UserIdentityStorage.key
  ) {
    self.store = store
    self.keyHandler = keyHandler
  }

  /// The prefix of all keys.
  public static let keyPrefix = "user-identity "

  /// Returns the key of a URL's certificate: the same for all URLs with its scheme, host and port.
  public class func key(for url: URL) -> String { url.storageKey(keyPrefix) }

  open func store(identity: Data, for url: URL) throws {
    try store.put(identity, for: keyHandler(url), listedBelow: Self.keyPrefix)
  }

  open func identity(for url: URL) throws -> Data? { try store.get(Data.self, for: keyHandler(url)) }

  open func delete(for url: URL) throws { try store.remove(for: keyHandler(url)) }

  /// Deletes all certificates, even those of earlier runs of the program. For this the store has a list of their keys.
  open func clear() { store.removeAll(listedBelow: Self.keyPrefix) }
}
