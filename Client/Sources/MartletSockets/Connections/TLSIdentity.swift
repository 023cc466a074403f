#if os(Linux)
@_spi(Toolkit) @_spi(Transports) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Synchronization

/// The identities of a transport's connections.
struct ConnectionSecurity: Sendable {
  /// For origins, with the settings of the transport.
  let own: TLSIdentity
  /// For proxies: the system's authorities.
  let ofProxies: TLSIdentity

  init(_ configuration: ConnectionConfiguration) {
    own = TLSIdentity(configuration.tls, within: configuration.connectTimeout)
    ofProxies = TLSIdentity(TLSSettings(), within: configuration.connectTimeout)
  }
}

/// TLS settings, and the context made from them. Making the context reads files and decrypts keys, so it is left to the
/// first https request. It happens on separate threads, and a request waits for it no longer than for a connection.
///
/// A transport has an identity of its own, and may have others. The connections of another identity serve only requests
/// with the same identity, and are closed once nothing refers to it. Requests and unread bodies hold a reference to
/// their identity; connections do not.
final class TLSIdentity: Sendable {
  private enum State {
    case none
    case making([OneShot<TLSContext>])
    case made(TLSContext)
  }

  /// 0 for the transport's own identity. The numbers of other identities are never used again, unlike addresses in
  /// memory.
  let number: Int
  let settings: TLSSettings
  /// The servers that the check of the settings has accepted.
  let checked = CheckedServers()
  private let limit: Duration
  private let state = Mutex(State.none)
  private let answered = Mutex(AnsweredContexts())
  /// The jobs of the loop that may have connections of this identity; always nil for the transport's own identity.
  private let jobs = Mutex<JobQueue<TransportCore>?>(nil)
  private static let lastNumber = Atomic(0)
  /// The threads, shared by all transports.
  private static let threads = WorkerThreads("martlet-keys", limit: 4)

  /// - Parameter limit: the time for a connection; nil for 60 seconds.
  init(_ settings: TLSSettings, within limit: Duration?) {
    number = 0
    self.settings = settings
    self.limit = limit ?? .seconds(60)
  }

  /// Makes another identity beside that of a transport.
  init(_ settings: TLSSettings, beside own: TLSIdentity) {
    number = Self.lastNumber.add(1, ordering: .relaxed).newValue
    self.settings = settings
    limit = own.limit
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

  /// The context that all TLS sessions of the identity share; nil before the end of ``context(in:)``.
  var ready: TLSContext? {
    guard case .made(let context) = state.withLock({ $0 }) else { return nil }
    return context
  }

  /// Returns the context that all TLS sessions of the identity share, unless the caller provides settings. While it is
  /// being made, requests that need it share the wait.
  ///
  /// - Parameter call: the call, whose deadline ends the wait too.
  func context(in call: Call?) async throws(HTTPError) -> TLSContext {
    if let ready { return ready }
    do {
      guard let call else { return try await sharedContext() }
      return try await call.withinDeadline { try await self.sharedContext() }
    } catch { throw HTTPError(wrapping: error) }
  }

  private func sharedContext() async throws -> TLSContext {
    let result = OneShot<TLSContext>()
    let (isFirst, made) = state.withLock { state -> (Bool, TLSContext?) in
      switch state {
      case .none:
        state = .making([result])
        return (true, nil)
      case .making(let others):
        state = .making(others + [result])
        return (false, nil)
      case .made(let context): return (false, context)
      }
    }
    if let made { return made }
    // It runs detached: if the first request is cancelled, the other requests still wait for it.
    if isFirst { Task.detached { await self.make() } }
    return try await result.wait()
  }

  private func make() async {
    let made: Result<TLSContext, any Error>
    do { made = .success(try await makeContext(settings)) } catch { made = .failure(error) }
    let waiters = state.withLock { state -> [OneShot<TLSContext>] in
      defer { state = (try? made.get()).map(State.made) ?? .none }  // A file may be readable the next time.
      guard case .making(let waiters) = state else { return [] }
      return waiters
    }
    for waiter in waiters { waiter.answer(made) }
  }

  /// Asks the caller for the settings of a connection. Returns the context of its TLS session; connections with equal
  /// settings share one.
  func context(for origin: Origin) async throws(HTTPError) -> TLSContext {
    guard let ask = settings.originSettings else { return try await context(in: nil) }
    let answer: TLSSettings.OriginSettings?
    do { answer = try await ask(origin) } catch {
      if error is HTTPError || error is CancellationError { throw HTTPError(wrapping: error) }
      throw HTTPError(
        .tlsFailed, "\(origin.authority): the program's originSettings failed", phase: .securing, underlying: error)
    }
    guard let answer else { return try await context(in: nil) }
    if let context = answered.withLock({ $0.use(answer) }) { return context }
    var settings = settings
    settings.clientCertificate = answer.clientCertificate
    settings.pinnedPublicKeys = answer.pinnedPublicKeys
    let context = try await makeContext(settings)
    return answered.withLock { $0.use(answer, or: context) }
  }

  private func makeContext(_ settings: TLSSettings) async throws(HTTPError) -> TLSContext {
    // A client certificate is sent in the handshake, so the server has to be trusted first.
    let mayAccept = settings.acceptsRefusedServer != nil && settings.clientCertificate == nil
    do {
      return try await Self.threads.run(within: Deadline(limit, on: ContinuousClock())) {
        try TLSContext(settings, refusedChains: mayAccept ? .hold : .fail)
      }
    } catch let error as HTTPError where error.kind == .deadlineExceeded {
      throw HTTPError(
        .connectTimeout,
        "TLS was not ready within \(Quantity.text(limit)): deriving a key from its password took too long, "
          + "or did for an earlier one",
        phase: .preparing)
    } catch { throw HTTPError(wrapping: error) }
  }
}

/// The contexts for the caller's last answers, the most recently used at the end.
private struct AnsweredContexts {
  private var contexts: [(answer: TLSSettings.OriginSettings, context: TLSContext)] = []

  /// Returns the context of an answer; nil if there is none.
  mutating func use(_ answer: TLSSettings.OriginSettings) -> TLSContext? {
    guard let index = contexts.firstIndex(where: { $0.answer == answer }) else { return nil }
    let used = contexts.remove(at: index)
    contexts.append(used)
    return used.context
  }

  /// Returns the context for an answer: one that another task has made in the meantime, or this one.
  mutating func use(_ answer: TLSSettings.OriginSettings, or new: TLSContext) -> TLSContext {
    if let context = use(answer) { return context }
    if contexts.count >= 64 { contexts.removeFirst() }
    contexts.append((answer, new))
    return new
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
