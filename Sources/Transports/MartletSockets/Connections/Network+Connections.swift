#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics

// The pool decides what happens to connections; their changes are reported to it.

// MARK: - The pool's actions

extension Network {
  /// Performs the pool's actions. Actions that follow from them are queued, because many openings that fail at once
  /// would exhaust the stack by recursion.
  func perform(_ actions: [PoolState<ConnectionKey>.Action]) {
    guard !isPerforming else { return pending += actions }
    if !actions.isEmpty { performInTurn(actions) }
    // Needed without actions too: a connection may have become idle, or be the last one opened ahead of requests.
    if expiry.due == .max, pool.idleCount > 0 { watchIdleConnections() }
    finishPreconnects()
  }

  private func performInTurn(_ actions: [PoolState<ConnectionKey>.Action]) {
    isPerforming = true
    for action in actions { carryOut(action) }
    var index = 0
    while index < pending.count {
      index += 1
      carryOut(pending[index - 1])
    }
    pending.removeAll(keepingCapacity: true)
    isPerforming = false
  }

  private func carryOut(_ action: PoolState<ConnectionKey>.Action) {
    switch action {
    case .use(let connection, let waiter):
      guard let transfer = waiting.take(waiter) else {
        return perform(pool.released(connection, now: loop.now))  // It has ended.
      }
      transfer.waiter = nil
      // An earlier action may have closed it.
      if let connection = connections[connection] { connection.start(transfer) } else { enqueue(transfer) }
    case .open(let id, let key):
      let connection = Connection(id, to: key, on: self)
      connections[id] = connection
      connection.open()
    case .close(let connection): connections.take(connection)?.close()
    case .refuse(let waiter):
      failWaiting(waiter, OpeningFailure(error: HTTPError(.shutDown, Self.shutDownMessage, phase: .queued)))
    }
  }

  private func failWaiting(_ waiter: Int, _ failure: OpeningFailure) {
    guard let transfer = waiting.take(waiter) else { return }
    transfer.waiter = nil
    transfer.timing.connection = failure.facts
    // The caller's check is also called for a server that the system refuses, and may throw another error.
    if transfer.exchange.destination.identity.settings.serverTrustCheck != nil, let certificates = failure.refused {
      var refusal = failure.error(for: transfer.exchange.origin)
      refusal.underlying = nil  // the certificates, which the check receives
      ask(transfer, ServerCheck(certificates: certificates, refusal: refusal), isLast: true)
    } else {
      transfer.fail(failure.error(for: transfer.exchange.origin))
    }
  }
}

// MARK: - Connections

extension Network {
  /// Adds an open connection to the pool.
  func opened(_ connection: Connection) {
    let isHTTP2 = connection.facts.version == .http2
    if connection.key.versions == .negotiated, let origin = connection.key.origin {
      http1Servers.note(origin, isHTTP2: isHTTP2)
    }
    let capacity = isHTTP2 ? HTTP2Session.assumedStreamLimit : 1
    perform(pool.opened(connection.id, capacity: capacity, now: loop.now))
  }

  /// Updates how many requests a connection serves at once.
  func changed(_ connection: Connection, capacity: Int) {
    perform(pool.changed(connection.id, capacity: capacity, now: loop.now))
  }

  /// Gives a connection no further requests.
  func drain(_ connection: Connection) { perform(pool.drain(connection.id, now: loop.now)) }

  /// Notes that a connection has bytes to send at the end of the turn.
  func noteOutput(of connection: Connection) { sending.append(connection) }

  /// Handles a connection that could not be opened.
  func failedToOpen(_ connection: Connection, _ failure: OpeningFailure) {
    connections[connection.id] = nil
    checks.closed(connection.id)
    preconnects.fail(connection.key, failure)
    if failure.lacksDescriptor, waitForDescriptor(connection.id) { return }
    let (waiter, actions) = pool.failed(connection.id, now: loop.now)
    if let waiter { failWaiting(waiter, failure) }
    perform(actions)
  }

  /// Returns a connection to the pool after a request and its response are complete.
  func released(_ connection: Connection) {
    perform(pool.released(connection.id, now: loop.now))
  }

  /// Closes the connections whose idle lifetime has expired.
  func closeExpired() {
    perform(pool.expire(now: loop.now))
    watchIdleConnections()
  }

  private func watchIdleConnections() { loop.set(expiry, to: pool.nextExpiry ?? .max) }

  /// Removes a closed connection.
  func closed(_ connection: Connection) {
    checks.closed(connection.id)
    guard connections.take(connection.id) != nil else { return }
    perform(pool.closed(connection.id, now: loop.now))
  }

  // MARK: - The caller's check of servers

  /// Handles a server that was verified, or was refused but may be accepted. If the caller's check was not called for
  /// these certificates yet, the task of a request that waits for the connection calls it.
  func verified(_ connection: Connection, _ check: ServerCheck) {
    // Without its identity, no request can use it any more.
    guard let origin = connection.key.origin, let identity = identity(of: connection.key) else {
      return connection.close()
    }
    guard identity.settings.serverTrustCheck != nil || check.canBeAccepted,
      checks.hold(connection.id, check, of: origin, for: identity)
    else { return connection.accept() }
    askAbout(connection.id)
  }

  /// Requests the caller's check for a connection, unless it is already running for the same certificates.
  func askAbout(_ id: Int) {
    guard let check = checks.undecided(id), let connection = connections[id] else { return }
    let waiter = waiting.filter { $0.value.key == connection.key }.min { $0.number < $1.number }
    guard let transfer = waiter?.value else { return connection.close() }
    checks.ask(ObjectIdentifier(transfer), about: id)
    ask(transfer, check)
  }

  /// Lets a request's task call the caller's check. The request ends there if the server was refused for good.
  private func ask(_ transfer: Transfer, _ check: ServerCheck, isLast: Bool = false) {
    let exchange = transfer.exchange
    let settings = exchange.destination.identity.settings
    let question: @Sendable (Call) async throws -> Void = { [jobs] call in
      try await check.decide(settings, for: exchange.origin, in: call)
      jobs.submit { $0.accepted(check, of: exchange.origin, in: exchange) }
    }
    transfer.ask(question, isLast: isLast)
  }

  // MARK: - Names

  /// Resolves a host. If the addresses are not known at once, the connection gets them later.
  func addresses(of host: String, port: Int, for connection: Int) -> Resolver.Answer {
    if let unixSocket = options.unixSocket { return .known(.success([unixSocket])) }
    return resolver.lookUp(host, port: port) { [jobs] result in
      jobs.submit { $0.resolved(result, for: connection) }
    }
  }
}
#endif
