#if os(Linux)
@_spi(Toolkit) @_spi(Transports) import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// The opening of a connection: looks up the name, opens a socket, asks the proxy for a tunnel, secures the socket with
/// TLS, and waits for the caller's check of the server. It ends with a ``Connection``, which takes over the socket, or
/// with an ``OpeningFailure``. It belongs to the loop's thread.
final class ConnectionOpening {
  let id: Int
  let key: ConnectionKey
  let transport: TransportCore
  /// The facts about the connection that are known so far.
  private(set) var facts = ConnectionFacts()

  private var stage = Stage.resolvingOrigin
  private(set) var socket: LayeredSocket?
  /// The origin's addresses, if its proxy does not resolve names.
  private var originAddresses: [IPAddress] = []
  /// The pending look-up of a name.
  private var lookUp: Resolver.Pending?
  /// The task that asks the caller: for a proxy's token or for TLS settings.
  private var question: Task<Void, Never>?
  /// The handshake with a proxy that continues over another socket, with its token if there is one: the limit on its
  /// challenges spans all sockets.
  private var interrupted: (tunnel: Tunnel, token: String?)?
  /// Ends the opening when its time is up.
  private lazy var connectTimer = HeapTimer { [weak self] in self?.tookTooLong() }
  /// Notes for the listeners of the connection's first request.
  var notes: [String] = []
  private var hasAwaitedDescriptors = false

  private enum Stage {
    /// Resolving the origin's name, because its proxy does not resolve names.
    case resolvingOrigin
    /// Opening a socket.
    case connecting(SocketRace)
    /// In the handshake with a proxy over TLS.
    case securingProxy
    /// Waiting for the caller's token for a proxy.
    case askingForToken(Tunnel)
    case tunneling(Tunnel)
    /// Waiting for the caller's TLS settings, or for a look at the files that they name.
    case choosingIdentity
    /// In the handshake with the origin.
    case securing
    /// The server may be used unless the caller's check refuses it.
    case verified(chosenProtocol: String?)
    /// The connection is open, could not be opened, or is no longer needed. Nothing follows.
    case over
  }

  init(_ id: Int, to key: ConnectionKey, on transport: TransportCore) {
    (self.id, self.key, self.transport) = (id, key, transport)
  }

  private var peer: String { key.peer }
  private var loop: EventLoop { transport.loop }
}

// MARK: - The socket

extension ConnectionOpening {
  /// Begins to connect, and reports the result to the transport.
  func open() {
    facts.started = loop.now
    if let limit = transport.configuration.connectTimeout {
      loop.set(connectTimer, to: loop.now &+ max(1, limit.nanoseconds))
    }
    if case .socks5(_, resolvesNames: false) = key.route, let origin = key.origin {
      stage = .resolvingOrigin
      return lookUp(origin.host, port: origin.port)
    }
    connect()
  }

  /// Opens a socket to the proxy, or to the origin if there is none.
  func connect() {
    socket.take()?.close()
    let race = SocketRace(to: peer, from: transport.options.localAddress, key.serviceClass, on: loop) { [weak self] in
      self?.connected($0)
    }
    stage = .connecting(race)
    lookUp(key.firstHop.host, port: key.firstHop.port)
  }

  /// Connects again after idle connections of the process were given up. Returns false if that has happened before.
  private func awaitDescriptors() -> Bool {
    guard !hasAwaitedDescriptors else { return false }
    hasAwaitedDescriptors = true
    SpareDescriptors.release { [id, jobs = transport.jobs] in jobs.submit { $0.pool.opening(id)?.connect() } }
    return true
  }

  /// Continues the handshake with a proxy over another socket.
  private func reconnect(_ tunnel: Tunnel, token: String? = nil) {
    interrupted = (tunnel, token)
    connect()
  }

  private func lookUp(_ host: String, port: Int) {
    switch transport.addresses(of: host, port: port, for: id) {
    case .known(let addresses): resolved(addresses)
    case .pending(let pending): lookUp = pending
    }
  }

  /// Continues with the result of the name's look-up.
  func resolved(_ addresses: Result<[SocketAddress], HTTPError>) {
    lookUp = nil
    switch stage {
    case .connecting(let race): race.start(key.route.server == nil ? transport.allowed(addresses, for: key) : addresses)
    case .resolvingOrigin:
      switch transport.allowed(addresses, for: key) {
      case .failure(let error): fail(error)
      case .success(let addresses):
        originAddresses = addresses.compactMap(\.ip)
        connect()
      }
    default: break
    }
  }

  private func connected(_ result: Result<(Socket, SocketAddress), HTTPError>) {
    guard case .connecting(let race) = stage else { return }
    switch result {
    case .failure(let error):
      if !race.lacksDescriptor || !awaitDescriptors() { fail(error, isUnreachable: true) }
    case .success((let socket, let address)):
      facts.resolved = race.resolved
      facts.connected = loop.now
      facts.remoteAddress = address.ip.map(String.init(describing:)) ?? address.path
      facts.remotePort = address.port
      facts.localPort = socket.localPort
      race.serviceClassRefusal.map { notes.append("\(peer): the system refused connection.serviceClass: \($0)") }
      self.socket = LayeredSocket(socket, transport.receiveMemory, owner: self)
      self.socket?.limitAcknowledgement(to: transport.options.acknowledgementTimeout)
      guard case .http(_, isTLS: true) = key.route else { return reachedProxy() }
      stage = .securingProxy
      secure { () throws(HTTPError) in try transport.makeProxySession(for: key) }
    }
  }
}

// MARK: - The proxy

extension ConnectionOpening {
  /// Asks the proxy for a tunnel, unless there is no proxy or it forwards requests.
  private func reachedProxy() {
    do throws(HTTPError) {
      if let (tunnel, token) = interrupted.take() {
        return try token == nil ? begin(tunnel) : begin(tunnel, token: token)
      }
      let tunnel = try Tunnel(
        to: key.origin, by: key.route, at: originAddresses,
        userAgent: transport.pool.transfers(waitingFor: key).first?.exchange.message.request.fields[.userAgent])
      if let tunnel { try begin(tunnel) } else { reachedOrigin() }
    } catch { fail(error) }
  }

  /// Begins the handshake with a proxy. If the proxy needs a token, the caller is asked for it first, which may take a
  /// long time.
  private func begin(_ tunnel: Tunnel) throws(HTTPError) {
    guard let origin = key.origin, let (server, tokens) = try tunnel.neededTokens(transport.authentications) else {
      return try begin(tunnel, token: nil)
    }
    stage = .askingForToken(tunnel)
    question = Task.detached { [id, jobs = transport.jobs] in
      let token: Result<String, HTTPError>
      do throws(HTTPError) { token = .success(try await server.token(by: tokens, for: origin)) } catch {
        token = .failure(error)
      }
      jobs.submit { $0.pool.opening(id)?.received(token) }
    }
  }

  private func begin(_ tunnel: Tunnel, token: String?) throws(HTTPError) {
    var tunnel = tunnel
    let greeting = try tunnel.begin(transport.authentications, token: token)
    stage = .tunneling(tunnel)
    send(handshake: greeting)
  }

  /// Continues with the caller's token for the proxy.
  private func received(_ token: Result<String, HTTPError>) {
    guard case .askingForToken(let tunnel) = stage else { return }
    question = nil
    do throws(HTTPError) {
      let token = try token.get()
      if socket == nil { reconnect(tunnel, token: token) } else { try begin(tunnel, token: token) }
    } catch { fail(error) }
  }

  private func send(handshake bytes: [UInt8]) {
    // The bytes are few and the first on this connection, so the system has room for them.
    guard bytes.withUnsafeBytes({ socket?.send($0, hasMore: false) }) == bytes.count else { return ended() }
  }
}

// MARK: - The server

extension ConnectionOpening {
  /// Continues once the connection reaches the origin, or a proxy that forwards requests.
  private func reachedOrigin() {
    guard let origin = key.origin, origin.isSecure else { return use(key.versions == .http2 ? .http2 : .http1_1) }
    let identity = transport.identity(of: key)
    guard let identity, identity.mayChange else { return secure(origin, with: identity?.ready) }
    stage = .choosingIdentity
    question = Task.detached { [id, jobs = transport.jobs] in
      let answer: Result<ContextSource.Answer, HTTPError>
      do throws(HTTPError) { answer = .success(try await identity.context(for: origin)) } catch {
        answer = .failure(error)
      }
      jobs.submit { $0.pool.opening(id)?.choseIdentity(answer, for: origin) }
    }
  }

  /// Continues with the caller's TLS settings, or with the files as they are now.
  private func choseIdentity(_ answer: Result<ContextSource.Answer, HTTPError>, for origin: Origin) {
    guard case .choosingIdentity = stage else { return }
    question = nil
    switch answer {
    case .success(let answer):
      if let note = answer.note { notes.append("\(peer): \(note)") }
      if let replaced = answer.replaced { transport.pool.drainConnections(with: replaced) }
      if case .choosingIdentity = stage { secure(origin, with: answer.context) }
    case .failure(let error): fail(error)
    }
  }

  private func secure(_ origin: Origin, with context: TLSContext?) {
    stage = .securing
    secure { () throws(HTTPError) in try transport.makeSession(for: key, to: origin, with: context) }
  }

  private func secure(_ make: () throws(HTTPError) -> TLSSession) {
    do throws(HTTPError) { socket?.add(try make()) } catch { fail(error) }
  }

  /// Continues after the caller's check has accepted the server, or if it does not have to be called.
  ///
  /// - Parameter refused: whether the check accepted a server that the system refuses.
  func accept(refused: Bool = false) {
    guard case .verified(let chosen) = stage, let socket else { return }
    if refused { socket.acceptRefusedChain() }
    use(chosen == "h2" || key.versions == .http2 ? .http2 : .http1_1)
    socket.release()
  }

  /// Makes the connection, which takes over the socket.
  private func use(_ version: HTTPVersion) {
    guard let socket else { return }
    loop.set(connectTimer, to: .max)
    facts.version = version
    facts.opened = loop.now
    do throws(HTTPError) {
      let opened = OpenedConnection(socket: socket, facts: facts, notes: notes)
      let connection = try Connection(opened, id, to: key, on: transport)
      stage = .over
      socket.owner = connection
      transport.opened(connection)
    } catch { fail(error) }
  }
}

// MARK: - Events

extension ConnectionOpening: LayeredSocketHandler {
  func run(_ step: HandshakeStep) {
    transport.options.handshakeThreads.submit { [id, jobs = transport.jobs] in
      if step.run() { jobs.submit { $0.pool.opening(id)?.ended(step) } }
    }
  }

  private func ended(_ step: HandshakeStep) { socket?.ended(step) }

  func layerIsSecure(_ session: TLSSession) {
    if case .securingProxy = stage { return reachedProxy() }
    facts.secured = loop.now
    loop.set(connectTimer, to: .max)
    stage = .verified(chosenProtocol: session.negotiatedProtocol)
    socket?.hold()
    var refusal = session.refusedChain
    refusal?.underlying = nil  // the certificates, which the check receives
    let check = ServerCheck(certificates: session.certificates, refusal: refusal, canBeAccepted: refusal != nil)
    transport.verified(self, check)
  }

  func layerFailed(_ session: TLSSession, _ error: HTTPError) {
    // The caller's check is for the origin's certificates, and is called only if these are the reason.
    var refused: TrustFailure?
    if case .securing = stage { refused = error.underlying as? TrustFailure }
    fail(error, refused: refused?.certificates)
  }

  func received(_ bytes: UnsafeRawBufferPointer) {
    if case .choosingIdentity = stage {
      let message = "\(peer): the server sent bytes before the TLS handshake"
      return fail(HTTPError(.tlsFailed, message, phase: phase))
    }
    if case .askingForToken = stage {
      let message = "\(peer): the proxy sent bytes that nothing had asked for"
      return fail(HTTPError(.proxyFailed, message, phase: phase))
    }
    guard case .tunneling(var tunnel) = stage else { return }
    var position = 0
    do throws(HTTPError) {
      let step = try tunnel.receive(bytes, from: &position, transport.authentications)
      stage = .tunneling(tunnel)
      switch step {
      case .needsMore: break
      case .send(let more): send(handshake: more)
      case .beginAgain: try begin(tunnel)
      case .reconnect: reconnect(tunnel)
      case .open:
        guard position == bytes.count else {
          let message = "\(peer): the proxy sent bytes before anything was asked for through its tunnel"
          throw HTTPError(.proxyFailed, message, phase: .connecting)
        }
        reachedOrigin()
      }
    } catch { fail(error) }
  }

  func receivedEnd(_ end: InputEnd) { ended() }
}

// MARK: - The end

extension ConnectionOpening {
  private func tookTooLong() {
    let limit = transport.configuration.connectTimeout ?? .zero
    if case .connecting(let race) = stage { return fail(race.timeout(after: limit), isUnreachable: true) }
    if case .tunneling(let tunnel) = stage, let refusal = tunnel.refusal { return fail(refusal) }
    var message = "\(peer): the connection was not ready within \(Quantity.text(limit))"
    if case .askingForToken = stage { message += ", because there was no token for its proxy" }
    if case .choosingIdentity = stage {
      message += ", because the program's originSettings had not returned, or a certificate was not opened"
    }
    fail(HTTPError(.connectTimeout, message, phase: phase))
  }

  /// Handles a peer that closes the connection: the opening fails, unless the handshake with a proxy continues over
  /// another socket.
  private func ended() {
    do throws(HTTPError) {
      switch stage {
      case .tunneling(var tunnel): if case .reconnect = try tunnel.receiveEnd() { reconnect(tunnel) }
      case .askingForToken(var tunnel):
        _ = try tunnel.receiveEnd()
        stage = .askingForToken(tunnel)
        socket.take()?.close()  // The token will be sent over another one.
      default:
        throw HTTPError(.connectionLost, "\(peer): the connection ended before it could be used", phase: phase)
      }
    } catch { fail(error) }
  }

  /// - Parameters:
  ///   - certificates: the server's certificates if they were refused.
  ///   - isUnreachable: whether no connection was made at all.
  private func fail(_ error: HTTPError, refused certificates: [Data]? = nil, isUnreachable: Bool = false) {
    if case .over = stage { return }
    var lacksDescriptor = false
    if case .connecting(let race) = stage { (facts.resolved, lacksDescriptor) = (race.resolved, race.lacksDescriptor) }
    var failure = OpeningFailure(error: error, refused: certificates, facts: facts)
    if isUnreachable { failure.proxy = key.route.server }
    failure.lacksDescriptor = lacksDescriptor
    release()
    transport.failedToOpen(self, failure)
  }

  /// Ends the opening, because no request needs the connection any more.
  func close() {
    if case .over = stage { return }
    release()
    transport.closed(id)
  }

  private func release() {
    loop.set(connectTimer, to: .max)
    if let lookUp { transport.resolver.cancel(lookUp) }
    if case .connecting(let race) = stage { race.cancel() }
    question?.cancel()
    stage = .over
    socket.take()?.close()
  }

  /// The phase of the opening, for errors.
  var phase: HTTPError.Phase {
    switch stage {
    case .resolvingOrigin: .resolving
    case .connecting(let race): race.phase
    case .securingProxy, .askingForToken, .tunneling: .connecting
    case .choosingIdentity, .securing, .verified: .securing
    case .over: .sending
    }
  }
}
#endif
