#if os(Linux)
public import Martlet
@_spi(Credentials) @_spi(Transports) public import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// The default transport with the TLS challenges that observers and the delegate answer: they choose a client
/// certificate, and may refuse a server. All its connections share a thread and the limits, but a connection is made
/// with one certificate or none, and serves no request with another.
///
/// A handshake does not wait for the answer about a certificate, so the challenge comes before the first connection to
/// a secure origin; the certificate is sent if the server requests one.
final class IdentifiedTransport: ChallengingTransport {
  private let connection: ConnectionConfiguration
  /// The transport with the settings of the configuration. The others share its thread.
  private let base: DefaultTransport
  private let answers = UserData(Answers())
  /// The transports with a set of connections each, which are closed when it is removed and no request uses it any
  /// more. Lock order: this lock is taken before that of `answers`.
  private let transports = Locked<[TransportKey: any Transport]>([:])

  /// A client certificate, with a number that no other certificate of this transport has.
  private struct Identity {
    let number: Int
    let certificate: SAPClientCertificate
  }

  /// The answers to challenges.
  private struct Answers {
    /// By origin; `.some(nil)` for no certificate.
    var identities: [Origin: Identity?] = [:]
    /// The number of times that an answer was removed: an answer to an earlier challenge is not kept.
    var removals = 0
    var lastNumber = 0

    /// Keeps the answer for an origin. If there are many, answers without a certificate are forgotten: their origins
    /// get another challenge.
    mutating func keep(_ identity: Identity?, for origin: Origin) {
      if identities.count >= Self.capacity { identities = identities.filter { $0.value != nil } }
      identities[origin] = .some(identity)
    }

    private static let capacity = 1000

    /// Returns the certificate's identity: that of another origin with the same certificate, or a new one.
    mutating func identity(of certificate: SAPClientCertificate) -> Identity {
      if let known = identities.values.first(where: { $0?.certificate === certificate }), let known { return known }
      lastNumber += 1
      return Identity(number: lastNumber, certificate: certificate)
    }
  }

  private struct TransportKey: Hashable {
    /// The number of the client certificate; nil for that of the configuration, if any.
    let identity: Int?
    /// Whether observers and the delegate are asked about servers.
    let asksAboutServers: Bool
    let serviceClass: ServiceClass?
  }

  /// The certificate of a call's last attempt; nil if it had none.
  static let certificateInUse = CallLocal<SAPClientCertificate?>(nil)

  init(_ connection: ConnectionConfiguration) {
    self.connection = connection
    base = DefaultTransport(connection)
  }

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    try await transport(with: nil, asksAboutServers: false, for: nil).send(request, in: call)
  }

  func send(_ request: HTTPRequest, in call: Call, for task: SAPURLSessionTask) async throws -> HTTPResponse {
    guard let origin = request.origin, origin.isSecure else {
      return try await transport(with: nil, asksAboutServers: false, for: task).send(request, in: call)
    }
    let identity = try await identity(for: origin, task)
    call[Self.certificateInUse] = identity?.certificate
    let asksAboutServers = task.session.eventHandlers.contains { $0.mayRefuseServers }
    let transport = transport(with: identity, asksAboutServers: asksAboutServers, for: task)
    do { return try await transport.send(request, in: call) } catch {
      // The next request gets a challenge for another certificate, unless another one is already in use.
      if HTTPError(wrapping: error).isTLSFailure, number(for: origin) == identity?.number {
        removeAnswer(for: origin)
      }
      throw error
    }
  }

  // The transports for other certificates share its connections.
  func releaseConnections(_ which: ConnectionRelease) async { await base.releaseConnections(which) }

  func removeAnswers() {
    answers.signOut { $0.identities = [:] }
    removeTransports { $0 != nil }
  }

  func removeAnswer(for origin: Origin) {
    let removed = answers.access { answers in
      answers.removals += 1
      return answers.identities.removeValue(forKey: origin)
    }
    if case let identity?? = removed { removeTransports { $0 == identity.number } }
  }

  /// Removes the transports of some certificates. They are released outside the lock.
  private func removeTransports(_ areRemoved: (_ identity: Int?) -> Bool) {
    let former = transports.withLock { transports in
      defer { transports = transports.filter { !areRemoved($0.key.identity) } }
      return transports
    }
    withExtendedLifetime(former) {}
  }

  /// The number of the certificate in use for an origin; nil for none.
  private func number(for origin: Origin) -> Int? { answers.access { $0.identities[origin]??.number } }

  private func identity(for origin: Origin, _ task: SAPURLSessionTask) async throws -> Identity? {
    let (known, removals) = try answers.use(since: task.begun) { ($0.identities[origin], $0.removals) }
    if let known { return known }
    let space = URLProtectionSpace(
      host: origin.host, port: origin.port, protocol: origin.scheme, realm: nil,
      authenticationMethod: SAPClientCertificate.authenticationMethod)
    var certificate: SAPClientCertificate?
    if case .use(let credential) = try await task.resolve(URLAuthenticationChallenge(about: space)) {
      certificate = credential as? SAPClientCertificate
    }
    return try answers.use(since: task.begun) { answers in
      // The certificate may be the one that was refused in the meantime: only this request uses it.
      let isCurrent = answers.removals == removals
      if isCurrent, let first = answers.identities[origin] { return first }
      let identity = certificate.map { answers.identity(of: $0) }
      if isCurrent { answers.keep(identity, for: origin) }
      return identity
    }
  }

  @inline(never)  // Its variables would take space in the frame of a call that waits for a response.
  private func transport(
    with identity: Identity?, asksAboutServers: Bool, for task: SAPURLSessionTask?
  ) -> any Transport {
    let serviceClass =
      task?.mutable.withLock { $0.begunWith?.networkServiceType }?.serviceClass ?? connection.serviceClass
    let key = TransportKey(
      identity: identity?.number, asksAboutServers: asksAboutServers, serviceClass: serviceClass)
    if let known = transports.withLock({ $0[key] }) { return known }
    var made = base
    if serviceClass != connection.serviceClass { made = made.with(serviceClass: serviceClass) }
    if identity != nil || asksAboutServers {
      made = made.with(tls: settings(with: identity, asksAboutServers: asksAboutServers))
    }
    return transports.withLock { [made] transports in
      if let known = transports[key] { return known }
      // Not for a certificate that was removed in the meantime: its transport would never be removed.
      let isKept = answers.access { $0.identities.values.contains { $0?.number == identity?.number } }
      if identity == nil || isKept { transports[key] = made }
      return made
    }
  }

  private func settings(with identity: Identity?, asksAboutServers: Bool) -> TLSSettings {
    var tls = connection.tls
    if let identity { tls.clientCertificate = identity.certificate.certificate }
    guard asksAboutServers else { return tls }
    tls.serverTrustCheck = { [own = tls.serverTrustCheck] trust, call in
      try await own?(trust, call)
      _ = try await call[SAPURLSessionTask.ofCall]?.checkServer(trust, canAccept: false)
    }
    tls.acceptsRefusedServer = { [own = connection.tls.serverTrustCheck] trust, call in
      try await own?(trust, call)
      return try await call[SAPURLSessionTask.ofCall]?.checkServer(trust, canAccept: true) ?? false
    }
    return tls
  }
}

extension URLAuthenticationChallenge {
  /// A challenge of a connection.
  fileprivate convenience init(about space: URLProtectionSpace) {
    self.init(
      protectionSpace: space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil, error: nil,
      sender: ChallengeSender())
  }
}

// MARK: - Client certificates

/// A client certificate with its key, as a credential, which Foundation does not have on Linux. It is the answer to a
/// challenge with ``authenticationMethod``.
///
/// ```swift
/// func sapURLSession(
///   _ session: SAPURLSession, task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
///   completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
/// ) {
///   guard challenge.protectionSpace.authenticationMethod == SAPClientCertificate.authenticationMethod else {
///     return completionHandler(.performDefaultHandling)
///   }
///   completionHandler(.use(SAPClientCertificate(pkcs12: container, password: password)))
/// }
/// ```
///
/// The challenge comes before the first connection to each secure origin, because a handshake does not wait for the
/// answer; the certificate is sent to servers that request one. If the container cannot be read, the task fails with a
/// `URLError` whose `underlyingHTTPError` is of kind `.badClientCertificate`; if the password is wrong, of kind
/// `.badClientCertificatePassword`. Then the next request to the origin gets a new challenge. For challenges about
/// servers see ``SAPServerTrust``.
///
/// SAFETY: it has constants only.
public final class SAPClientCertificate: URLCredential, @unchecked Sendable {
  /// `NSURLAuthenticationMethodClientCertificate`, whose name is not available on Linux.
  public static let authenticationMethod = "NSURLAuthenticationMethodClientCertificate"

  /// The certificate in the engine's form.
  public let certificate: ClientCertificate
  /// The container and its number among those of its origin in the ``UserIdentityObserver`` that gave it; nil for any
  /// other certificate.
  let version: RenewedValue<Data>?

  /// Makes a credential from a certificate in any form.
  public convenience init(_ certificate: ClientCertificate) { self.init(certificate, version: nil) }

  init(_ certificate: ClientCertificate, version: RenewedValue<Data>?) {
    self.certificate = certificate
    self.version = version
    super.init(user: "", password: "", persistence: .forSession)
  }

  /// Makes a credential from a PKCS#12 container (`.p12`, `.pfx`) in memory. It is not read yet.
  public convenience init(pkcs12 container: Data, password: String) {
    self.init(.pkcs12(data: container, password: password))
  }

  /// Makes a credential from a PKCS#12 container in a file. It is not read yet.
  public convenience init(pkcs12 file: URL, password: String) {
    self.init(.pkcs12(file: file, password: password))
  }

  /// Returns nil: a key is not archived.
  public required init?(coder: NSCoder) { nil }
}

// MARK: - Server trust

/// A server's certificates and the system's judgement of them: the counterpart of Foundation's `SecTrust`.
///
/// Observers and the delegate get it with a challenge whose method is `SAPServerTrust.authenticationMethod`, and
/// can refuse the server:
///
/// ```swift
/// func sapURLSession(
///   _ session: SAPURLSession, task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
///   completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
/// ) {
///   guard challenge.protectionSpace.authenticationMethod == SAPServerTrust.authenticationMethod,
///     let trust = challenge.protectionSpace.sapServerTrust
///   else { return completionHandler(.performDefaultHandling) }
///   let isKnown = trust.publicKeyPins.contains(key)
///   completionHandler(isKnown ? .use(URLCredential(trust: trust)) : .rejectProtectionSpace)
/// }
/// ```
///
/// - `.rejectProtectionSpace` fails the task with `URLError.serverCertificateUntrusted`, `.cancel` with its error,
///   before anything is sent to the server. `.use` with any credential and `.performDefaultHandling` accept the
///   system's judgement.
/// - A server that the system refuses cannot be accepted with `URLCredential(trust:)`: this has no effect except a
///   warning in the log. Add its authority to `TLSSettings.additionalAuthorities`; for development see
///   `acceptedForDevelopment(at:)`.
/// - The challenge comes when a new connection has certificates that were not checked yet: see `ServerTrust.Check`. It
///   does not come if only observers of this module are registered, or if the session has `protocolClasses`.
public typealias SAPServerTrust = ServerTrust

extension ServerTrust {
  /// `NSURLAuthenticationMethodServerTrust`, whose name is not available on Linux.
  public static let authenticationMethod = "NSURLAuthenticationMethodServerTrust"

  /// Returns the answer that accepts this server although the system refuses its certificates, if its host is one of
  /// these. Use it for development only: anybody between the app and the server can then read and change everything.
  ///
  /// ```swift
  /// func answer(_ trust: SAPServerTrust) -> SAPURLSession.AuthChallengeDisposition {
  ///   .use(trust.acceptedForDevelopment(at: ["localhost", "test.example.com"]))
  /// }
  /// ```
  ///
  /// The challenge comes again for each new connection, and each acceptance is a warning in the log. For another host,
  /// or for a key that is not in `TLSSettings.pinnedPublicKeys`, it has no effect except a warning. The same applies if
  /// the session has a client certificate for the server, because an unknown server must not get it. For a server that
  /// the system trusts, it is `URLCredential(trust:)`.
  ///
  /// - Parameter hosts: names and addresses as in URLs; there are no wildcards.
  public func acceptedForDevelopment(at hosts: Set<String>) -> URLCredential {
    DevelopmentCredential(self, hosts: hosts)
  }
}

/// The answer that accepts a server that the system refuses.
///
/// SAFETY: it has constants only.
private final class DevelopmentCredential: URLCredential, @unchecked Sendable {
  private let trust: ServerTrust
  /// Whether the host is one of the named hosts.
  private let isNamed: Bool

  init(_ trust: ServerTrust, hosts: Set<String>) {
    self.trust = trust
    let host = HostName.canonical(trust.host)
    isNamed = hosts.contains { name in host != nil && HostName.canonical(name) == host }
    super.init(user: "", password: "", persistence: .none)
  }

  required init?(coder: NSCoder) { nil }

  /// The reason why it does not accept a server; nil if it does.
  ///
  /// - Parameter canAccept: whether a server that the system refuses can be accepted.
  func objection(to server: ServerTrust, canAccept: Bool) -> String? {
    guard isNamed, server == trust else {
      return "\(server.host) is not one of the hosts of acceptedForDevelopment(at:)"
    }
    guard canAccept else {
      return "the session has a client certificate for the server, or the key is not in tls.pinnedPublicKeys"
    }
    return nil
  }
}

extension URLProtectionSpace {
  /// The server of a challenge with `SAPServerTrust.authenticationMethod`; nil for any other challenge.
  public var sapServerTrust: SAPServerTrust? { (self as? TrustedSpace)?.trust }
}

extension URLCredential {
  /// Makes the answer that accepts a server if the system trusts it.
  public convenience init(trust: SAPServerTrust) { self.init(user: "", password: "", persistence: .none) }
}

/// The protection space of a challenge about a server.
///
/// SAFETY: its own property is a constant, and so are those of Foundation's class.
private final class TrustedSpace: URLProtectionSpace, @unchecked Sendable {
  let trust: ServerTrust

  init(_ trust: ServerTrust) {
    self.trust = trust
    super.init(
      host: trust.host, port: trust.port, protocol: "https", realm: nil,
      authenticationMethod: ServerTrust.authenticationMethod)
  }

  required init?(coder: NSCoder) { nil }
}

extension SAPURLSessionTask {
  /// Asks observers and the delegate about a server.
  ///
  /// - Parameter canAccept: whether a server that the system refuses can be accepted.
  /// - Returns: whether such a server was accepted.
  /// - Throws: an error if one of them refuses the server.
  fileprivate func checkServer(_ trust: ServerTrust, canAccept: Bool) async throws -> Bool {
    let server = "\(trust.host):\(trust.port)"
    switch try await resolve(URLAuthenticationChallenge(about: TrustedSpace(trust))) {
    case .rejectProtectionSpace:
      throw HTTPError(
        .untrustedCertificate, "\(server): an observer or the delegate refused the server", phase: .securing)
    case .use(let credential as DevelopmentCredential) where !trust.isTrusted:
      if let objection = credential.objection(to: trust, canAccept: canAccept) {
        SessionLog.write(.warning, nil, "\(server) is not accepted for development: \(objection)")
        return false
      }
      SessionLog.write(
        .warning, nil, "\(server) is used for development although its certificate is refused: \(trust.refusal ?? "")")
      return true
    case .use where !trust.isTrusted:
      SessionLog.write(
        .warning, nil,
        "the answer to the challenge of \(server) has no effect, because the system refuses the certificate: add its "
          + "authority to ConnectionConfiguration.tls.additionalAuthorities")
    case .use, .performDefaultHandling, .cancel: break
    }
    return false
  }
}
#endif
