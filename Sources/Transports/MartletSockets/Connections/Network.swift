#if os(Linux)
import CSockets
import Glibc
@_spi(Transports) import MartletEngine
import MartletSemantics

/// The state of a transport that belongs to its loop's thread: the connections, their pool, and the transfers.
final class Network {
  let configuration: ConnectionConfiguration
  let loop: EventLoop
  /// The work that other threads submit.
  let jobs: JobQueue<Network>
  let loan: LoopLoan<Network>
  private let http1Servers: HTTP1Servers
  let authentications: ProxyAuthentications
  let resolver: Resolver
  let options: ConnectionOptions
  let chunks = ChunkPool()
  let receiveMemory: ReceiveMemory
  /// The transfers that have something to deliver at the end of the turn.
  var dirty: [Transfer] = []

  var pool: PoolState<ConnectionKey>
  private(set) var connections = NumberTable<Connection>()
  /// The sockets of closed connections, by their numbers.
  var lingering = NumberTable<LingeringSocket>()
  /// The callers that wait for connections opened ahead of requests.
  var preconnects = Preconnects()
  /// The deadlines of the requests that wait for a connection.
  var poolTimeouts = PoolTimeouts()
  private(set) lazy var poolTimer = HeapTimer { [weak self] in self?.checkPoolTimeouts() }
  private(set) lazy var descriptorTimer = HeapTimer { [weak self] in self?.tryDescriptorsAgain() }
  /// Until this time no caller's thread waits for a response, because another request arrived during a wait.
  var nextWait: UInt64 = 0
  /// The transfers that wait for a connection, by their number.
  private(set) var waiting = NumberTable<Transfer>()
  /// All transfers that have not ended.
  private(set) var transfers: [Transfer] = []
  private var lastNumber = 0
  /// The pool's actions that are still to be done.
  private var pending: [(PoolState<ConnectionKey>.Action, OpeningFailure?)] = []
  private var isPerforming = false
  lazy var expiry = HeapTimer { [weak self] in self?.closeExpired() }
  let security: ConnectionSecurity
  /// The identities of requests besides the transport's own, by their numbers.
  var otherIdentities = NumberTable<OtherIdentity>()
  private var checks = ServerChecks()
  /// The servers that require HTTP/1.1 (RFC 9113 §7, HTTP_1_1_REQUIRED).
  private var http1Only: Set<Origin> = []
  /// The connections that have bytes to send at the end of the turn.
  private var sending: [Connection] = []

  init(
    _ configuration: ConnectionConfiguration, _ options: ConnectionOptions, _ security: ConnectionSecurity,
    _ authentications: ProxyAuthentications, _ jobs: JobQueue<Network>, _ loan: LoopLoan<Network>,
    _ http1Servers: HTTP1Servers
  ) throws(HTTPError) {
    self.configuration = configuration
    self.options = options
    self.security = security
    resolver = Resolver(options.source, overrides: options.overrides)
    self.authentications = authentications
    self.jobs = jobs
    self.loan = loan
    self.http1Servers = http1Servers
    receiveMemory = try ReceiveMemory(chunks)
    loop = try EventLoop(wakeUp: jobs.wakeUp)
    pool = PoolState(
      PoolState.Limits(
        perHost: configuration.connectionsPerHost, total: configuration.connections,
        idle: configuration.idleConnections, idleLifetime: configuration.idleLifetime.wholeSeconds))
  }

  /// Works until ``shutDown()``.
  func run() {
    loop.run(jobs, in: self, lending: { $0.transfers.isEmpty ? $0.loan : nil }, finishTurn: { $0.flush() })
  }

  /// Ends a turn: sends and delivers its results.
  func flush() {
    while !sending.isEmpty {
      let connections = sending
      sending.removeAll(keepingCapacity: true)
      for connection in connections { connection.sendOutput() }
    }
    // A delivery cannot add to the list: only the loop does.
    for transfer in dirty { transfer.flush() }
    dirty.removeAll(keepingCapacity: true)
  }
}

// MARK: - Jobs

extension Network {
  /// Begins an exchange.
  func start(_ exchange: Exchange) {
    keep(exchange.destination.identity)
    let transfer = Transfer(exchange, on: self)
    exchange.transfer.set(transfer, on: loop)
    transfer.index = transfers.count
    transfers.append(transfer)
    wait(transfer)
  }

  /// Reads on: the reader of a response wants more.
  func resumeReading(_ exchange: Exchange) { exchange.transfer.get(on: loop)?.resumeReading() }

  /// Continues to send a request's body, which has more bytes.
  func continueUpload(_ exchange: Exchange) {
    guard let transfer = exchange.transfer.get(on: loop) else { return }
    transfer.connection?.continueUpload(of: transfer)
  }

  /// Cancels an exchange whose reader has stopped. A short rest is still read, so that the connection can be reused.
  func cancel(_ exchange: Exchange) {
    guard let transfer = exchange.transfer.get(on: loop), !transfer.startDiscarding() else { return }
    giveUp(transfer, HTTPError(wrapping: CancellationError()))
  }

  /// Fails an exchange because the request's body cannot be read.
  func fail(_ exchange: Exchange, _ error: HTTPError) {
    if let transfer = exchange.transfer.get(on: loop) { giveUp(transfer, error) }
  }

  /// Passes the addresses of a host to the connection that waits for them.
  func resolved(_ addresses: Result<[SocketAddress], HTTPError>, for connection: Int) {
    connections[connection]?.resolved(addresses)
  }

  /// Passes on that the caller's check has not refused a server's certificates.
  func accepted(_ check: ServerCheck, of origin: Origin, in exchange: Exchange) {
    exchange.transfer.get(on: loop)?.resumeWait(answered: true)
    let accepted = checks.accepted(check, of: origin, for: exchange.destination.identity)
    for connection in accepted.compactMap({ connections[$0] }) {
      for transfer in waiting.values where transfer.key == connection.key { transfer.resumeWait(answered: false) }
      connection.accept(refused: check.canBeAccepted)
    }
  }

  /// Ends everything after the last reference to the transport is released.
  func shutDown() {
    loop.stop()
    perform(pool.shutDown())  // so that nothing is opened for the waiting ones
    for transfer in Array(transfers) { transfer.fail(Self.shutDownError) }
    preconnects.finish { _ in true }
    for connection in connections.values { connection.close() }
    for socket in lingering.values { socket.close() }
  }
}

// MARK: - Transfers

extension Network {
  func wait(_ transfer: Transfer) {
    if !http1Only.isEmpty { transfer.key = usableKey(transfer.exchange.destination.key, of: transfer.exchange.origin) }
    if startAtOnce(transfer) { return }
    lastNumber += 1
    let number = lastNumber
    transfer.waiter = number
    waiting[number] = transfer
    perform(
      pool.request(
        number, for: transfer.key, isAgain: !transfer.failures.isEmpty,
        needsNew: transfer.failures.requireNewConnection, now: loop.now))
    if let limit = configuration.poolTimeout, waiting[number] != nil { limitWait(of: number, to: limit) }
  }

  /// Starts a transfer on a ready connection. Returns false if it has to wait.
  private func startAtOnce(_ transfer: Transfer) -> Bool {
    guard !isPerforming, !transfer.failures.requireNewConnection,
      let number = pool.useAvailable(for: transfer.key, now: loop.now)
    else { return false }
    if let connection = connections[number] {
      connection.start(transfer)
      return true
    }
    perform(pool.closed(number, now: loop.now))
    return false
  }

  /// The key of the connections that an origin's requests may use, given what is known about the origin.
  func usableKey(_ key: ConnectionKey, of origin: Origin) -> ConnectionKey {
    guard http1Only.contains(origin) else { return key }
    var key = key
    key.versions = .http1
    return key
  }

  private func sendAgain(_ transfer: Transfer, isStale: Bool) {
    transfer.beginAgain(isStale: isStale)
    wait(transfer)
  }

  /// Ends a transfer with an error, in whatever state it is.
  func giveUp(_ transfer: Transfer, _ error: HTTPError) {
    let connection = transfer.connection
    transfer.fail(error)
    connection?.abandon(transfer)
  }

  /// Removes a transfer that has ended.
  func ended(_ transfer: Transfer) {
    let last = transfers.removeLast()
    if last !== transfer {
      transfers[transfer.index] = last
      last.index = transfer.index
    }
    transfer.exchange.transfer.set(nil, on: loop)
    if let number = transfer.waiter, waiting.take(number) != nil {
      perform(pool.cancelled(number, now: loop.now))
    }
    for connection in checks.ended(ObjectIdentifier(transfer)) { askAbout(connection) }
  }

  /// Handles a reused connection that ended before any byte of the response: most likely the server had closed it
  /// before (RFC 9112 §9.3.1). The request is sent again if that is allowed.
  func foundStale(_ transfer: Transfer) {
    let reason = "the one it went over had served before, and ended before any byte of a response"
    closeIdle(for: transfer.key)  // the others are most likely stale too
    guard !transfer.failures.requireNewConnection, transfer.exchange.limits.mayRepeat, transfer.canBeginAgain else {
      let message = "to be sent again on another connection: \(reason)"
      return transfer.fail(.connectionLost, message, delivery: .staleConnection)
    }
    transfer.tell("sent again on another connection: \(reason)")
    sendAgain(transfer, isStale: true)
  }

  /// Handles an HTTP/2 transfer without a complete response. If its closing connection has not processed the request,
  /// another one sends it, ahead of later requests. The engine may retry requests that were refused for other reasons.
  func failed(_ transfer: Transfer, _ failure: HTTP2Failure, isClosing: Bool) {
    guard !transfer.isEnded else { return }
    if failure.cause == .http11Required { http1Only.insert(transfer.exchange.origin) }
    if failure.error.delivery == .staleConnection { return foundStale(transfer) }
    guard isClosing, failure.cause == .refused, transfer.mayBeReplaced else { return transfer.fail(failure.error) }
    transfer.tell("sent again on another connection: the one it went over is being closed, and has not processed it")
    sendAgain(transfer, isStale: false)
  }

  /// Moves a transfer to another connection: its own could not send any of the request.
  func sendElsewhere(_ transfer: Transfer) {
    guard !transfer.isEnded else { return }
    guard transfer.mayGoElsewhere else {
      return transfer.fail(.connectionLost, "the connection was lost before the request was sent", delivery: .refused)
    }
    sendAgain(transfer, isStale: false)
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
    let capacity = isHTTP2 ? HTTP2Driver.assumedCapacity : 1
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
    let lacksDescriptor = failure.lacksDescriptor && waitForDescriptor(connection.id)
    if !lacksDescriptor { perform(pool.failed(connection.id, now: loop.now), failure: failure) }
  }

  /// Returns a connection to the pool after a request and its response are complete.
  func released(_ connection: Connection) {
    perform(pool.released(connection.id, now: loop.now))
  }

  /// Closes the connections whose idle lifetime has expired.
  private func closeExpired() {
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
  private func askAbout(_ id: Int) {
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

  /// Resolves a host. If the addresses are not known at once, the connection gets them later.
  func addresses(of host: String, port: Int, for connection: Int) -> Resolver.Answer {
    if let unixSocket = options.unixSocket { return .known(.success([unixSocket])) }
    return resolver.lookUp(host, port: port) { [jobs] result in
      jobs.submit { $0.resolved(result, for: connection) }
    }
  }

  private func fail(_ waiter: Int, _ failure: OpeningFailure) {
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

  /// Performs the pool's actions. Their consequences are queued and not performed recursively: a long chain of openings
  /// that fail at once would exhaust the stack.
  func perform(_ actions: [PoolState<ConnectionKey>.Action], failure: OpeningFailure? = nil) {
    guard !isPerforming else { return pending += actions.map { ($0, failure) } }
    if !actions.isEmpty { performAll(actions, failure) }
    // Needed without actions too: a connection may have become idle, or be the last one opened ahead of requests.
    if expiry.due == .max, pool.idleCount > 0 { watchIdleConnections() }
    finishPreconnects()
  }

  private func performAll(_ actions: [PoolState<ConnectionKey>.Action], _ failure: OpeningFailure?) {
    isPerforming = true
    for action in actions { perform(action, failure) }
    var index = 0
    while index < pending.count {
      let (action, failure) = pending[index]
      index += 1
      perform(action, failure)
    }
    pending.removeAll(keepingCapacity: true)
    isPerforming = false
  }

  private func perform(_ action: PoolState<ConnectionKey>.Action, _ failure: OpeningFailure?) {
    switch action {
    case .use(let connection, let waiter):
      guard let transfer = waiting.take(waiter) else {
        return perform(pool.released(connection, now: loop.now))  // it has ended
      }
      transfer.waiter = nil
      // An earlier action may have closed it.
      if let connection = connections[connection] { connection.start(transfer) } else { wait(transfer) }
    case .open(let id, let key):
      let connection = Connection(id, to: key, on: self)
      connections[id] = connection
      connection.open()
    case .close(let connection): connections.take(connection)?.close()
    case .fail(let waiter, _): if let failure { fail(waiter, failure) }
    case .refuse(let waiter): fail(waiter, OpeningFailure(error: Self.shutDownError))
    }
  }
}
#endif
