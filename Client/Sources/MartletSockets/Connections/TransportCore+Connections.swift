#if os(Linux)
@_spi(Toolkit) @_spi(Transports) import MartletEngine
import MartletSemantics

// What connections report to the transport. They report directly to the pool what concerns only the pool.

extension TransportCore {
  /// Opens connections ahead of this many requests, within the limits. The caller gets the result when they are open.
  func preconnect(_ destination: Exchange.Destination, for requests: Int, _ result: OneShot<Void>) {
    keep(destination.identity)
    pool.preconnect(usableKey(destination.key, of: destination.origin), of: destination.origin, for: requests, result)
  }

  /// Adds an open connection to the pool.
  func opened(_ connection: Connection) {
    let isHTTP2 = connection.facts.version == .http2
    if connection.key.versions == .negotiated, let origin = connection.key.origin {
      if isHTTP2 { servers.choosingHTTP1.remove(origin) } else { servers.choosingHTTP1.insert(origin) }
    }
    pool.opened(
      connection, capacity: isHTTP2 ? HTTP2Session.assumedStreamLimit : 1,
      first: isHTTP2 ? HTTP2Session.firstStreamLimit : nil)
  }

  /// Handles a connection that could not be opened.
  func failedToOpen(_ opening: ConnectionOpening, _ failure: OpeningFailure) {
    checks.closed(opening.id)
    pool.failed(opening, failure)
  }

  /// Fails a transfer because the connection for which it waited could not be opened.
  func fail(_ transfer: LoopTransfer, _ failure: OpeningFailure) {
    transfer.noteConnection(failure.facts)
    // The caller's check is also called for a server that the system refuses, and may throw another error.
    if transfer.exchange.destination.identity.settings.serverTrustCheck != nil, let certificates = failure.refused {
      var refusal = failure.error(for: transfer.exchange.origin)
      refusal.underlying = nil  // the certificates, which the check receives
      ask(transfer, ServerCheck(certificates: certificates, refusal: refusal), isLast: true)
    } else {
      transfer.fail(failure.error(for: transfer.exchange.origin))
    }
  }

  /// Notes that a connection has bytes to send at the end of the turn.
  func noteOutput(of connection: Connection) { turn.connections.append(connection) }

  /// Removes a connection that was closed, even before it was open.
  func closed(_ connection: Int) {
    checks.closed(connection)
    pool.closed(connection)
  }

  // MARK: - The caller's check of servers

  /// Handles a server that was verified, or was refused but may be accepted. If the caller's check was not called for
  /// these certificates yet, the task of a request that waits for the connection calls it.
  func verified(_ opening: ConnectionOpening, _ check: ServerCheck) {
    // Without its identity, no request can use it any more.
    guard let origin = opening.key.origin, let identity = identity(of: opening.key) else { return opening.close() }
    guard identity.settings.serverTrustCheck != nil || check.canBeAccepted,
      checks.hold(opening.id, check, of: origin, for: identity)
    else { return opening.accept() }
    askAbout(opening.id)
  }

  /// Requests the caller's check for a connection, unless it is already running for the same certificates.
  func askAbout(_ id: Int) {
    guard let check = checks.undecided(id), let opening = pool.opening(id) else { return }
    guard let transfer = pool.transfers(waitingFor: opening.key).first else { return opening.close() }
    checks.ask(ObjectIdentifier(transfer), about: id)
    ask(transfer, check)
  }

  /// Lets a request's task call the caller's check. The request ends there if the server was refused for good.
  private func ask(_ transfer: LoopTransfer, _ check: ServerCheck, isLast: Bool = false) {
    let exchange = transfer.exchange
    let settings = exchange.destination.identity.settings
    let question: @Sendable (Call) async throws -> Void = { [jobs] call in
      try await check.decide(settings, for: exchange.origin, in: call)
      jobs.submit { $0.accepted(check, of: exchange.origin, in: exchange) }
    }
    transfer.ask(question, isLast: isLast)
  }

  // MARK: - Names

  /// Resolves a host. If the addresses are not known at once, the opening gets them later.
  func addresses(of host: String, port: Int, for connection: Int) -> Resolver.Answer {
    if let unixSocket = options.unixSocket { return .known(.success([unixSocket])) }
    return resolver.lookUp(host, port: port) { [jobs] result in
      jobs.submit { $0.resolved(result, for: connection) }
    }
  }

  /// Returns the addresses of an origin that the caller's policy allows. A proxy's address is the caller's own setting
  /// and is not checked.
  func allowed(
    _ addresses: Result<[SocketAddress], HTTPError>, for key: ConnectionKey
  ) -> Result<[SocketAddress], HTTPError> {
    addresses.flatMap { addresses in
      Result { () throws(HTTPError) in try options.addressRules.allowed(addresses, of: key.origin?.host ?? key.host) }
    }
  }
}
#endif
