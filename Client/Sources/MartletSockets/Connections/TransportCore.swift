#if os(Linux)
import CSockets
@_spi(Transports) import MartletEngine
import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The state of a transport that belongs to its loop's thread: the transfers, the facts about servers, and the pool of
/// connections.
///
/// SAFETY: some properties, here and in other classes of the loop, are not checked for overlapping accesses while the
/// program runs (`@exclusivity(unchecked)`), because the checks take 6 % of a request's instructions. One thread at a
/// time has the loop, and the methods of these values call nothing that could reach the same property again.
final class TransportCore {
  let configuration: ConnectionConfiguration
  let loop: EventLoop
  /// The work that other threads submit.
  let jobs: JobQueue<TransportCore>
  let ownership: LoopOwnership<TransportCore>
  let resumed: ResumedJobs
  let servers: ServerKnowledge
  let authentications: ProxyAuthentications
  let resolver: Resolver
  let options: ConnectionOptions
  let chunks = ChunkPool.shared
  let receiveMemory: ReceiveMemory
  @exclusivity(unchecked) var turn = TurnOutput()

  let pool: ConnectionPool
  /// The sockets of closed connections, by their numbers.
  var lingering = NumberTable<LingeringSocket>()
  /// Until this time, no caller's thread waits for a response, because another request arrived during such a wait, or
  /// the wait of an upgraded connection was in vain.
  var nextWait: UInt64 = 0
  /// All transfers that have not ended.
  @exclusivity(unchecked) private(set) var transfers: [LoopTransfer] = []
  let security: ConnectionSecurity
  /// The identities of requests besides the transport's own, by their numbers.
  var otherIdentities = NumberTable<OtherIdentity>()
  var checks = ServerChecks()

  /// The output that waits for the end of the loop's turn, so that all of a turn's output goes out together.
  struct TurnOutput {
    /// The connections with bytes to send.
    var connections: [Connection] = []
    /// The transfers with something to deliver.
    var transfers: [LoopTransfer] = []
  }

  /// The parts that callers' threads use too.
  struct SharedParts {
    let jobs: JobQueue<TransportCore>
    let ownership: LoopOwnership<TransportCore>
    let resumed: ResumedJobs
    let servers: ServerKnowledge
    let authentications: ProxyAuthentications
  }

  init(
    _ configuration: ConnectionConfiguration, _ options: ConnectionOptions, _ security: ConnectionSecurity,
    _ parts: SharedParts
  ) throws(HTTPError) {
    self.configuration = configuration
    self.options = options
    self.security = security
    resolver = Resolver(
      options.source, overrides: options.overrides, lifetime: configuration.connectionLifetime?.nanoseconds)
    (jobs, ownership, resumed) = (parts.jobs, parts.ownership, parts.resumed)
    (servers, authentications) = (parts.servers, parts.authentications)
    receiveMemory = try ReceiveMemory(chunks)
    loop = try EventLoop(wakeUp: jobs.wakeUp)
    pool = ConnectionPool(configuration, on: loop)
    pool.transport = self
  }

  /// Works until ``shutDown()``.
  func run() {
    ownership.begin()
    loop.run(jobs, in: self, lending: { $0.isLent ? $0.ownership : nil }, finishTurn: { $0.flush() })
  }

  /// Ends a turn: sends and delivers its results.
  func flush() {
    pool.finishTurn()
    while !turn.connections.isEmpty {
      let connections = turn.connections
      turn.connections.removeAll(keepingCapacity: true)
      for connection in connections { connection.sendOutput() }
    }
    // A delivery cannot add to the list: only the loop does.
    for transfer in turn.transfers { transfer.flush() }
    turn.transfers.removeAll(keepingCapacity: true)
    if resumed.run() { loop.noteUnfinishedWork() }
  }
}

// MARK: - Jobs

extension TransportCore {
  /// Begins an exchange.
  func start(_ exchange: Exchange) {
    keep(exchange.destination.identity)
    let transfer = LoopTransfer(exchange, on: self)
    exchange.transfer.set(transfer, on: loop)
    transfer.indices.transfer = transfers.count
    transfers.append(transfer)
    enqueue(transfer)
  }

  /// Passes the addresses of a host to the opening that waits for them.
  func resolved(_ addresses: Result<[SocketAddress], HTTPError>, for connection: Int) {
    pool.opening(connection)?.resolved(addresses)
  }

  /// Continues the connections whose server the caller's check has accepted.
  func accepted(_ check: ServerCheck, of origin: Origin, in exchange: Exchange) {
    exchange.transfer.get(on: loop)?.resumeWait(answered: true)
    let accepted = checks.accepted(check, of: origin, for: exchange.destination.identity)
    for opening in accepted.compactMap({ pool.opening($0) }) {
      for transfer in pool.transfers(waitingFor: opening.key) { transfer.resumeWait(answered: false) }
      opening.accept(refused: check.canBeAccepted)
    }
  }

  /// Gives all connections no further requests. The names of those that follow are looked up again.
  func drainConnections() {
    resolver.forget()
    pool.drainAll()
  }

  /// Ends everything after the last reference to the transport is released.
  func shutDown() {
    loop.stop()
    pool.shutDown()  // first, so that no connection is opened for waiting requests
    for transfer in Array(transfers) { transfer.fail(.shutDown, Self.shutDownMessage) }
    pool.closeAll()
    for socket in lingering.values { socket.close() }
  }

  static let shutDownMessage = "the transport was shut down"
}

// MARK: - Transfers

extension TransportCore {
  /// Starts a transfer on a ready connection, or queues it until the pool has one.
  func enqueue(_ transfer: LoopTransfer) {
    if transfer.exchange.upgrade != nil {
      transfer.key = upgradeKey(of: transfer)
    } else if !servers.requiringHTTP1.isEmpty {
      transfer.key = usableKey(transfer.exchange.destination.key, of: transfer.exchange.origin)
    }
    pool.assign(transfer)
  }

  /// The key of the connections that an origin's requests may use, given what is known about the origin.
  func usableKey(_ key: ConnectionKey, of origin: Origin) -> ConnectionKey {
    guard servers.requiringHTTP1.contains(origin) else { return key }
    var key = key
    key.versions = .http1
    return key
  }

  func sendAgain(_ transfer: LoopTransfer, because cause: ConnectionFailures.Cause) {
    transfer.beginAgain(because: cause)
    enqueue(transfer)
  }

  /// Ends a transfer with an error, in any state. Whatever the reason, a connection that has been silent is tested, so
  /// that a dead one does not cost the next requests too.
  func end(_ transfer: LoopTransfer, with error: HTTPError) {
    let connection = transfer.connection
    connection?.driver?.checkLiveness(after: transfer, patience: options.probePatience)
    transfer.fail(error)
    connection?.driver?.release(transfer)
  }

  /// Removes a transfer that has ended.
  func forget(_ transfer: LoopTransfer) {
    let last = transfers.removeLast()
    if last !== transfer {
      transfers[transfer.indices.transfer] = last
      last.indices.transfer = transfer.indices.transfer
    }
    transfer.exchange.transfer.set(nil, on: loop)
    pool.withdraw(transfer)
    for connection in checks.ended(ObjectIdentifier(transfer)) { askAbout(connection) }
  }

  /// Sends a request again, if that is allowed, after its reused connection ended before any byte of the response. Most
  /// likely the server had closed it before (RFC 9112 §9.3.1). The same holds for a new connection over HTTP/2 that
  /// ended before the server's SETTINGS.
  ///
  /// - Parameter error: the failure of a new connection.
  func handleStaleConnection(of transfer: LoopTransfer, _ error: HTTPError? = nil) {
    let kind = transfer.timing.reusedConnection ? "reused" : "new"
    let reason = "the \(kind) connection ended before any byte of a response"
    pool.closeIdle(for: transfer.key)  // Most likely they are stale too.
    guard transfer.failures.stale == 0, transfer.exchange.message.request.replacesStaleConnection,
      transfer.canBeginAgain
    else {
      if var error, !transfer.timing.reusedConnection {
        error.delivery = .unknown
        return transfer.fail(error)
      }
      let message = "\(reason): it is not known whether the server has acted on the request"
      return transfer.fail(.connectionLost, message, delivery: .staleConnection)
    }
    transfer.note("sent again on another connection: \(reason)")
    sendAgain(transfer, because: .stale)
  }

  /// Handles an HTTP/2 transfer that ended without a complete response. If its connection is closing and has not
  /// processed the request, another connection sends it, ahead of later requests. The engine may retry requests that
  /// were refused for other reasons.
  func handleFailure(_ failure: HTTP2Failure, of transfer: LoopTransfer, isClosing: Bool) {
    guard !transfer.isEnded else { return }
    if transfer.exchange.upgrade != nil, !transfer.hasHead, failure.suggestsHTTP1 {
      return sendOverHTTP1(transfer, failure.error)
    }
    if failure.cause == .http11Required { servers.requiringHTTP1.insert(transfer.exchange.origin) }
    if failure.error.delivery == .staleConnection { return handleStaleConnection(of: transfer, failure.error) }
    guard isClosing, failure.cause == .refused, transfer.mayBeReplaced else { return transfer.fail(failure.error) }
    transfer.note("sent again on another connection: the one it went over is being closed, and has not processed it")
    sendAgain(transfer, because: .refused)
  }

  /// Does what a call's task asks for, unless the exchange has ended.
  func obey(_ command: Exchange.Command, of exchange: Exchange) {
    guard let transfer = exchange.transfer.get(on: loop) else { return }
    switch command {
    case .resumeReading: transfer.resumeReading()
    case .continueUpload: transfer.connection?.driver?.continueUpload(of: transfer)
    case .cancel: transfer.cancel()
    case .fail(let error): end(transfer, with: error)
    }
  }

  /// Moves a transfer to another connection, because its own connection could not send any part of the request.
  func sendElsewhere(_ transfer: LoopTransfer) {
    guard !transfer.isEnded else { return }
    guard transfer.mayGoElsewhere else {
      return transfer.fail(.connectionLost, "the connection was lost before the request was sent", delivery: .refused)
    }
    sendAgain(transfer, because: .unsent)
  }
}
#endif
