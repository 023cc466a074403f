#if os(Linux)
@_spi(Toolkit) @_spi(Transports) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Synchronization

/// The identities of a transport's connections.
struct ConnectionSecurity: Sendable {
  /// For origins, with the settings of the transport.
  let own: TLSIdentity
  /// For proxies: the system's authorities, and the key log.
  let ofProxies: TLSIdentity

  init(_ configuration: ConnectionConfiguration) {
    own = TLSIdentity(configuration.tls, within: configuration.connectTimeout)
    var proxies = TLSSettings()
    proxies.keyLog = configuration.tls.keyLog
    ofProxies = TLSIdentity(proxies, within: configuration.connectTimeout)
  }
}

/// TLS settings, and the contexts made from them. Making a context reads files and decrypts keys, so it is left to the
/// first https request.
///
/// A transport has an identity of its own, and may have others. The connections of another identity serve only requests
/// with the same identity, and are closed once nothing refers to it. Requests and unread bodies hold a reference to
/// their identity; connections do not.
final class TLSIdentity: Sendable {
  /// 0 for the transport's own identity. The numbers of other identities are never used again, unlike addresses in
  /// memory.
  let number: Int
  let settings: TLSSettings
  /// The servers that the check of the settings has accepted.
  let checked = CheckedServers()
  private let limit: Duration
  /// The context that all TLS sessions of the identity share, unless the caller provides settings.
  private let own: ContextSource
  private let answered = Mutex(AnsweredContexts())
  /// The jobs of the loop that may have connections of this identity; always nil for the transport's own identity.
  private let jobs = Mutex<JobQueue<TransportCore>?>(nil)
  private static let lastNumber = Atomic(0)

  /// - Parameter limit: the time for a connection; nil for 60 seconds.
  convenience init(_ settings: TLSSettings, within limit: Duration?) {
    self.init(settings, number: 0, within: limit ?? .seconds(60))
  }

  /// Makes another identity beside that of a transport.
  convenience init(_ settings: TLSSettings, beside own: TLSIdentity) {
    self.init(settings, number: Self.lastNumber.add(1, ordering: .relaxed).newValue, within: own.limit)
  }

  private init(_ settings: TLSSettings, number: Int, within limit: Duration) {
    (self.settings, self.number, self.limit) = (settings, number, limit)
    own = ContextSource(settings, within: limit)
  }

  deinit {
    if let jobs = jobs.withLock({ $0 }) { jobs.submit { [number] in $0.forgetIdentity(number) } }
  }

  /// Notes the loop that closes this identity's connections when the identity is released.
  func closesConnections(by jobs: JobQueue<TransportCore>) { self.jobs.withLock { $0 = jobs } }

  /// Reads the additional authorities, so that an unreadable file is found before any request.
  func readAuthorities() throws(HTTPError) {
    guard settings.additionalAuthorities != nil else { return }
    CryptoLibrary.start()
    _ = try TrustStore.shared(TrustSources(settings, system: .current))
  }

  /// Whether the caller provides the settings of each connection.
  var asksForOrigins: Bool { settings.originSettings != nil }

  /// Whether the context of a connection has to be requested: the caller provides settings, or files may have changed.
  var mayChange: Bool { asksForOrigins || own.namesFiles }

  /// The context; nil before the end of ``context(in:)``. It may be outdated if the identity ``mayChange``.
  var ready: TLSContext? { own.ready }

  /// Prepares the context, unless the caller provides settings. While it is being made, requests that need it share the
  /// wait.
  ///
  /// - Parameter call: the call, whose deadline ends the wait too.
  func prepare(in call: Call?) async throws(HTTPError) {
    guard ready == nil else { return }
    do {
      guard let call else { return _ = try await own.context() }
      try await call.withinDeadline { _ = try await self.own.context() }
    } catch { throw HTTPError(wrapping: error) }
  }

  /// Returns the context of a new connection's TLS session, with the settings for its origin if the caller provides
  /// some. Connections with equal settings share one.
  func context(for origin: Origin) async throws(HTTPError) -> ContextSource.Answer {
    var source = own
    if let ask = settings.originSettings {
      let answer: TLSSettings.OriginSettings?
      do { answer = try await ask(origin) } catch {
        if error is HTTPError || error is CancellationError { throw HTTPError(wrapping: error) }
        throw HTTPError(
          .tlsFailed, "\(origin.authority): the program's originSettings failed", phase: .securing, underlying: error)
      }
      if let answer { source = answered.withLock { $0.source(for: answer, in: settings, within: limit) } }
    }
    do { return try await source.context() } catch { throw HTTPError(wrapping: error) }
  }
}

/// The contexts for the caller's last answers, the most recently used at the end.
private struct AnsweredContexts {
  private var sources: [(answer: TLSSettings.OriginSettings, source: ContextSource)] = []

  /// Returns the source of the context for an answer.
  mutating func source(
    for answer: TLSSettings.OriginSettings, in settings: TLSSettings, within limit: Duration
  ) -> ContextSource {
    if let index = sources.firstIndex(where: { $0.answer == answer }) {
      let used = sources.remove(at: index)
      sources.append(used)
      return used.source
    }
    if sources.count >= 64 { sources.removeFirst() }
    var settings = settings
    settings.clientCertificate = answer.clientCertificate
    settings.pinnedPublicKeys = answer.pinnedPublicKeys
    let source = ContextSource(settings, within: limit)
    sources.append((answer, source))
    return source
  }
}

/// An identity other than the transport's own. Only its requests and their unread bodies keep it alive.
struct OtherIdentity {
  weak var identity: TLSIdentity?
}

extension TransportCore {
  /// Keeps the identity of a request for the connections that are opened for it.
  func keep(_ identity: TLSIdentity) {
    guard identity.number != 0, otherIdentities[identity.number] == nil else { return }
    otherIdentities[identity.number] = OtherIdentity(identity: identity)
    identity.closesConnections(by: jobs)
  }

  /// The identity of a connection; nil if no request can use the connection any more.
  func identity(of key: ConnectionKey) -> TLSIdentity? {
    key.identity == 0 ? security.own : otherIdentities[key.identity]?.identity
  }

  /// Forgets an identity that no request has any more, and closes its connections. A connection in use, such as an
  /// upgraded one, is closed when its use ends.
  func forgetIdentity(_ number: Int) {
    otherIdentities[number] = nil
    pool.drainConnections(ofIdentity: number)
  }

  /// Makes the TLS session with an origin.
  func makeSession(for key: ConnectionKey, to origin: Origin, with tls: TLSContext?) throws(HTTPError) -> TLSSession {
    guard let tls else { throw HTTPError(.tlsFailed, "\(origin.authority): TLS is not prepared", phase: .securing) }
    // A resumed session has no certificates to check.
    let resumes = identity(of: key)?.settings.serverTrustCheck == nil
    let peer = try TLSPeer(host: origin.host, port: origin.port)
    return try TLSSession(tls, peer: peer, protocols: key.protocols, resumes: resumes)
  }

  /// Makes the TLS session with a proxy.
  func makeProxySession(for key: ConnectionKey) throws(HTTPError) -> TLSSession {
    guard let tls = security.ofProxies.ready, let server = key.route.server else {
      throw HTTPError(.tlsFailed, "TLS with the proxy is not prepared", phase: .connecting)
    }
    let peer = try TLSPeer(host: server.host, port: server.port)
    return try TLSSession(tls, peer: peer, protocols: ["http/1.1"], reauthenticates: false)
  }
}
#endif
