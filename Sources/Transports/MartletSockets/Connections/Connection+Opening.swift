#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics

/// The stages of opening a connection.
enum OpeningStage {
  /// Resolving the origin's name, because its proxy does not resolve names.
  case resolvingOrigin
  /// Opening a socket.
  case connecting(SocketRace)
  /// In the handshake with a proxy over TLS.
  case securingProxy
  /// Waiting for the caller's token for a proxy.
  case askingForToken(Tunnel)
  case tunneling(Tunnel)
  /// Waiting for the caller's TLS settings.
  case choosingIdentity
  /// In the handshake with the origin.
  case securing
  /// The server may be used unless the caller's check refuses it.
  case verified(chosenProtocol: String?)
  case open
}

/// Why a connection could not be opened.
struct OpeningFailure {
  let error: HTTPError
  /// The certificates of the server, if they are the reason.
  var refused: [Data]?
  /// The proxy that cannot be reached.
  var proxy: ProxyServer?
  /// Whether the system has no descriptor for it.
  var lacksDescriptor = false
  /// The known facts about the connection at the time of the failure.
  var facts: ConnectionFacts?

  /// Returns the error of a request that waited for the connection.
  func error(for origin: Origin) -> HTTPError { proxy?.unreachable(error, for: origin) ?? error }
}

extension Connection {
  /// Begins to connect, and reports the result to the network.
  func open() {
    facts.started = loop.now
    if let limit = network.configuration.connectTimeout {
      loop.set(connectTimer, to: loop.now &+ max(1, limit.nanoseconds))
    }
    if case .socks5(_, resolvesNames: false) = key.route, let origin = key.origin {
      stage = .resolvingOrigin
      return lookUp(origin.host, port: origin.port)
    }
    connect()
  }

  /// Opens a socket to the proxy, or to the origin if there is none.
  private func connect() {
    guard let end = key.route.server.map({ ($0.host, $0.port) }) ?? key.origin.map({ ($0.host, $0.port) }) else {
      return
    }
    socket?.close()
    socket = nil
    let race = SocketRace(to: peer, from: network.options.localAddress, key.serviceClass, on: loop) { [weak self] in
      self?.connected($0)
    }
    stage = .connecting(race)
    lookUp(end.0, port: end.1)
  }

  /// Continues the handshake with a proxy over another socket.
  private func reconnect(_ tunnel: Tunnel) {
    interruptedTunnel = tunnel
    connect()
  }

  private func lookUp(_ host: String, port: Int) {
    switch network.addresses(of: host, port: port, for: id) {
    case .known(let addresses): resolved(addresses)
    case .pending(let pending): lookUp = pending
    }
  }

  /// Continues with the result of the name's look-up.
  func resolved(_ addresses: Result<[SocketAddress], HTTPError>) {
    lookUp = nil
    switch stage {
    case .connecting(let race): race.start(key.route.server == nil ? allowed(addresses) : addresses)
    case .resolvingOrigin:
      switch allowed(addresses) {
      case .failure(let error): failToOpen(error)
      case .success(let addresses):
        originAddresses = addresses.compactMap(\.ip)
        connect()
      }
    default: break
    }
  }

  /// Returns the addresses of the origin that the caller's policy allows. A proxy's address is the caller's own setting
  /// and is not checked.
  private func allowed(_ addresses: Result<[SocketAddress], HTTPError>) -> Result<[SocketAddress], HTTPError> {
    addresses.flatMap { addresses in
      Result { () throws(HTTPError) in
        try network.options.addressRules.allowed(addresses, of: key.origin?.host ?? key.host)
      }
    }
  }

  private func connected(_ result: Result<(Socket, SocketAddress), HTTPError>) {
    guard case .connecting(let race) = stage else { return }
    switch result {
    case .failure(let error): failToOpen(error, isUnreachable: true)
    case .success((let socket, let address)):
      facts.resolved = race.resolved
      facts.connected = loop.now
      facts.remoteAddress = address.ip.map(String.init(describing:)) ?? address.path
      facts.remotePort = address.port
      facts.localPort = socket.localPort
      note = race.serviceClassRefusal.map { "\(peer): the system refused connection.serviceClass: \($0)" }
      self.socket = LayeredSocket(socket, network.receiveMemory, owner: self)
      limitAcknowledgement(to: network.options.acknowledgementTimeout)
      guard case .http(_, isTLS: true) = key.route else { return reachedProxy() }
      stage = .securingProxy
      secure { () throws(HTTPError) in try network.makeProxySession(for: key) }
    }
  }

  /// Asks the proxy for a tunnel, unless there is no proxy or it forwards requests.
  private func reachedProxy() {
    do throws(HTTPError) {
      if interruptedTunnel == nil {
        interruptedTunnel = try Tunnel(to: key.origin, by: key.route, at: originAddresses)
      }
      guard let tunnel = interruptedTunnel else { return reachedOrigin() }
      interruptedTunnel = nil
      try begin(tunnel)
    } catch { failToOpen(error) }
  }

  /// Begins the handshake with a proxy. If the proxy needs a token, the caller is asked for it first, which may take a
  /// long time.
  private func begin(_ tunnel: Tunnel) throws(HTTPError) {
    guard let origin = key.origin, let (server, tokens) = try tunnel.neededTokens(network.authentications) else {
      return try begin(tunnel, token: nil)
    }
    stage = .askingForToken(tunnel)
    question = Task.detached { [id, jobs = network.jobs] in
      let token: Result<String, HTTPError>
      do throws(HTTPError) { token = .success(try await server.token(by: tokens, for: origin)) } catch {
        token = .failure(error)
      }
      jobs.submit { $0.pool.connections[id]?.received(token) }
    }
  }

  private func begin(_ tunnel: Tunnel, token: String?) throws(HTTPError) {
    var tunnel = tunnel
    let greeting = try tunnel.begin(network.authentications, token: token)
    stage = .tunneling(tunnel)
    send(handshake: greeting)
  }

  /// Continues with the caller's token for the proxy.
  private func received(_ token: Result<String, HTTPError>) {
    guard case .askingForToken(let tunnel) = stage else { return }
    question = nil
    do throws(HTTPError) { try begin(tunnel, token: try token.get()) } catch { failToOpen(error) }
  }

  private func send(handshake bytes: [UInt8]) {
    // The bytes are few and the first on this connection, so the system has room for them.
    guard bytes.withUnsafeBytes({ send($0) }) == bytes.count else { return endedWhileOpening() }
  }

  /// Takes bytes that were received before the connection is open.
  func receivedWhileOpening(_ bytes: UnsafeRawBufferPointer) {
    if case .choosingIdentity = stage {
      let message = "\(peer): the server sent bytes before the TLS handshake"
      return failToOpen(HTTPError(.tlsFailed, message, phase: phase))
    }
    if case .askingForToken = stage {
      let message = "\(peer): the proxy sent bytes that nothing had asked for"
      return failToOpen(HTTPError(.proxyFailed, message, phase: phase))
    }
    guard case .tunneling(var tunnel) = stage else { return }
    var position = 0
    do throws(HTTPError) {
      let step = try tunnel.receive(bytes, from: &position, network.authentications)
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
    } catch { failToOpen(error) }
  }

  /// Continues once the connection reaches the origin, or a proxy that forwards requests.
  private func reachedOrigin() {
    guard let origin = key.origin, origin.isSecure else { return use(key.versions == .http2 ? .http2 : .http1_1) }
    let identity = network.identity(of: key)
    guard let identity, identity.asksForOrigins else { return secure(origin, with: identity?.ready) }
    stage = .choosingIdentity
    question = Task.detached { [id, jobs = network.jobs] in
      let context: Result<TLSContext, HTTPError>
      do throws(HTTPError) { context = .success(try await identity.context(for: origin)) } catch {
        context = .failure(error)
      }
      jobs.submit { $0.choseIdentity(context, for: id) }
    }
  }

  /// Continues with the caller's TLS settings.
  func choseIdentity(_ context: Result<TLSContext, HTTPError>) {
    guard case .choosingIdentity = stage, let origin = key.origin else { return }
    question = nil
    switch context {
    case .success(let context): secure(origin, with: context)
    case .failure(let error): failToOpen(error)
    }
  }

  private func secure(_ origin: Origin, with context: TLSContext?) {
    stage = .securing
    secure { () throws(HTTPError) in try network.makeSession(for: key, to: origin, with: context) }
  }

  private func secure(_ make: () throws(HTTPError) -> TLSSession) {
    do throws(HTTPError) { socket?.add(try make()) } catch { failToOpen(error) }
  }

  func layerIsSecure(_ session: TLSSession) {
    if case .securingProxy = stage { return reachedProxy() }
    facts.secured = loop.now
    loop.set(connectTimer, to: .max)
    stage = .verified(chosenProtocol: session.negotiatedProtocol)
    socket?.hold()
    var refusal = session.refusedChain
    refusal?.underlying = nil  // the certificates, which the check receives
    let check = ServerCheck(certificates: session.certificates, refusal: refusal, canBeAccepted: refusal != nil)
    network.verified(self, check)
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

  private func use(_ version: HTTPVersion) {
    loop.set(connectTimer, to: .max)
    stage = .open
    facts.version = version
    facts.opened = loop.now
    do throws(HTTPError) {
      driver = version == .http2 ? try HTTP2Driver(self) : HTTP1Driver(self)
      network.opened(self)
    } catch { failToOpen(error) }
  }
}

// MARK: - Failures

extension Connection {
  func connectingTookTooLong() {
    let limit = network.configuration.connectTimeout ?? .zero
    if case .connecting(let race) = stage { return failToOpen(race.timeout(after: limit), isUnreachable: true) }
    if case .tunneling(let tunnel) = stage, let refusal = tunnel.refusal { return failToOpen(refusal) }
    var message = "\(peer): the connection was not ready within \(limit)"
    if case .askingForToken = stage { message += ", because there was no token for its proxy" }
    if case .choosingIdentity = stage {
      message += ", because the program's originSettings had not returned, or their certificate was not opened"
    }
    failToOpen(HTTPError(.connectTimeout, message, phase: phase))
  }

  /// Handles a peer that closes the connection before it is open: the opening fails, unless the handshake with a proxy
  /// continues over another socket.
  func endedWhileOpening() {
    guard case .tunneling(let tunnel) = stage else {
      return failToOpen(
        HTTPError(.connectionLost, "\(peer): the connection ended before it could be used", phase: phase))
    }
    do throws(HTTPError) {
      if case .reconnect = try tunnel.receiveEnd() { reconnect(tunnel) }
    } catch { failToOpen(error) }
  }

  /// - Parameters:
  ///   - certificates: the server's certificates if they were refused.
  ///   - isUnreachable: whether no connection was made at all.
  func failToOpen(_ error: HTTPError, refused certificates: [Data]? = nil, isUnreachable: Bool = false) {
    guard !isClosed else { return }
    var lacksDescriptor = false
    if case .connecting(let race) = stage { (facts.resolved, lacksDescriptor) = (race.resolved, race.lacksDescriptor) }
    var failure = OpeningFailure(error: error, refused: certificates, facts: facts)
    if isUnreachable { failure.proxy = key.route.server }
    failure.lacksDescriptor = lacksDescriptor
    release()
    network.failedToOpen(self, failure)
  }

  var isOpening: Bool { driver == nil && !isClosed }

  /// The phase of the opening, for errors.
  var phase: HTTPError.Phase {
    switch stage {
    case .resolvingOrigin: .resolving
    case .connecting(let race): race.phase
    case .securingProxy, .askingForToken, .tunneling: .connecting
    case .choosingIdentity, .securing, .verified: .securing
    case .open: .sending
    }
  }
}
#endif
