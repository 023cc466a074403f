#if os(Linux)
@_spi(Toolkit) @_spi(Transports) import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// The connections of a transport, and the transfers that wait for one. It carries out what ``PoolState`` decides, and
/// reports to it what happens to the connections. It belongs to the loop's thread.
final class ConnectionPool {
  private typealias Action = PoolState<ConnectionKey>.Action

  /// Its owner, to which the connections report; set directly after `init`, because each needs the other.
  unowned var transport: TransportCore?
  private let loop: EventLoop
  private let configuration: ConnectionConfiguration
  // SAFETY: as for `TransportCore`.
  @exclusivity(unchecked) private var state: PoolState<ConnectionKey>
  @exclusivity(unchecked) private var connections = NumberTable<PooledConnection>()
  /// The transfers that wait for a connection, by their number.
  @exclusivity(unchecked) private var waiting = NumberTable<LoopTransfer>()
  private var lastNumber = 0
  /// The callers that wait for connections opened ahead of requests.
  private var preconnects = Preconnects()
  /// The deadlines of the waiters. The waits are usually equally long, so the first to begin is the first to end.
  private var deadlines = HeadQueue<WaiterDeadline>()
  /// The actions that follow from the one in progress.
  private var pending: [Action] = []
  private var isPerforming = false
  // Not weak: each retain and release of an object that has a weak reference takes longer. The loop fires timers only
  // while the transport lives, which owns the pool.
  private lazy var expiryTimer = HeapTimer { [unowned self] in closeExpired() }
  private lazy var waitTimer = HeapTimer { [unowned self] in checkWaits() }
  private lazy var descriptorTimer = HeapTimer { [unowned self] in tryDescriptorsAgain() }

  /// When a waiter fails because it has no connection.
  private struct WaiterDeadline {
    let waiter: Int
    let due: UInt64
    /// Whether no connection was being opened for the waiter when its time began, so that its time counts.
    let isQueued: Bool
  }

  init(_ configuration: ConnectionConfiguration, on loop: EventLoop) {
    self.configuration = configuration
    self.loop = loop
    state = PoolState(
      PoolState.Limits(
        perHost: configuration.connectionLimitPerHost, upgradesPerHost: configuration.webSocketLimitPerHost,
        total: configuration.connectionLimit, idle: configuration.idleConnectionLimit,
        idleNanoseconds: configuration.idleLifetime.nanosecondsOfWholeSeconds,
        openingsPerTurn: Self.openingsPerTurn))
  }

  /// Opening this many takes about as long as thirty requests.
  private static var openingsPerTurn: Int { 8 }

  /// The numbers of each origin, and of each proxy that forwards requests.
  var statistics: [Origin: PoolStatistics] {
    var numbers: [Origin: PoolStatistics] = [:]
    for (key, statistics) in state.statistics {
      let origin =
        switch key.end {
        case .origin(let origin): origin
        case .proxy(let proxy): proxy.origin(isSecure: key.route.isSecure)
        }
      guard let origin else { continue }
      numbers[origin] = (numbers[origin] ?? PoolStatistics()) + statistics
    }
    return numbers
  }

  /// Opens the connections that earlier turns have postponed. Called at the end of a turn, before its output is sent.
  func finishTurn() {
    guard state.hasOpenings else { return }
    perform(state.finishTurn())
    if state.hasPostponed { loop.noteUnfinishedWork() }
  }

  /// Fails the transfers that wait for a connection, and opens no more connections.
  func shutDown() { perform(state.shutDown()) }

  /// Closes all connections.
  func closeAll() {
    preconnects.finish { _ in true }
    for connection in connections.values { connection.close() }
  }
}

// MARK: - Transfers

extension ConnectionPool {
  /// Starts a transfer on a ready connection, or on the first one that becomes ready.
  func assign(_ transfer: LoopTransfer) {
    if startImmediately(transfer) { return }
    lastNumber += 1
    let number = lastNumber
    transfer.indices.waiter = number
    waiting[number] = transfer
    perform(
      state.request(
        number, for: transfer.key, isAgain: transfer.failures.count > 0,
        needsNew: transfer.failures.requireNewConnection, now: loop.now))
    if let limit = configuration.poolTimeout, waiting[number] != nil { limitWait(of: number, to: limit) }
  }

  /// Starts a transfer on a ready connection. Returns false if it has to wait.
  private func startImmediately(_ transfer: LoopTransfer) -> Bool {
    guard !isPerforming, !transfer.failures.requireNewConnection,
      let number = state.useAvailable(for: transfer.key, now: loop.now)
    else { return false }
    if let connection = openConnection(number) {
      start(transfer, on: connection)
      return true
    }
    perform(state.closed(number, now: loop.now))
    return false
  }

  /// Starts a transfer on the connection that the pool has given it.
  private func start(_ transfer: LoopTransfer, on connection: Connection) {
    guard transfer.exchange.beginSending() else {  // Its reader has stopped, and ends it.
      return perform(state.released(connection.id, now: loop.now))
    }
    connection.start(transfer)
  }

  /// Returns the connection on which a transfer with this key would start at once; nil if it would have to wait.
  func readyConnection(for key: ConnectionKey) -> Connection? {
    state.available(for: key, now: loop.now).flatMap { openConnection($0.connection) }
  }

  /// Whether a transfer waits for a connection with the key of this one.
  func hasWaiters(for connection: Connection) -> Bool { !waiting.isEmpty && state.hasWaiters(for: connection.id) }

  /// The transfers that wait for a connection with this key, in the order of their arrival.
  func transfers(waitingFor key: ConnectionKey) -> [LoopTransfer] {
    waiting.filter { $0.value.key == key }.sorted { $0.number < $1.number }.map(\.value)
  }

  /// Ends the wait of a transfer that no longer needs a connection, if it waits for one.
  func withdraw(_ transfer: LoopTransfer) {
    if let number = transfer.indices.waiter, waiting.take(number) != nil {
      perform(state.cancelled(number, now: loop.now))
    }
  }

  private func endWait(of waiter: Int) -> LoopTransfer? {
    guard let transfer = waiting.take(waiter) else { return nil }
    transfer.indices.waiter = nil
    return transfer
  }
}

// MARK: - The limit of waiting

extension ConnectionPool {
  /// Returns why a transfer has no connection yet, and the phase of a connection that is being opened. Records the
  /// known facts about that connection.
  func reasonOfWait(of transfer: LoopTransfer) -> (HTTPError.Phase, String) {
    guard let waiter = transfer.indices.waiter, !state.isQueued(waiter),
      let opening = firstOpening(for: transfer.key)
    else {
      return (.queued, "all of \(exhausted(for: transfer.key)) were in use")
    }
    transfer.noteConnection(opening.facts)
    return (opening.phase, "no connection was ready while \(opening.phase.rawValue)")
  }

  private func firstOpening(for key: ConnectionKey) -> ConnectionOpening? {
    for case (_, .opening(let opening)) in connections where opening.key == key { return opening }
    return nil
  }

  /// Limits how long a transfer waits while all connections are in use.
  private func limitWait(of waiter: Int, to limit: Duration) {
    let due = loop.now &+ max(1, limit.nanoseconds)
    deadlines.append(WaiterDeadline(waiter: waiter, due: due, isQueued: state.isQueued(waiter)))
    watchWaits()
  }

  private func watchWaits() { loop.set(waitTimer, to: deadlines.head?.due ?? .max) }

  private func checkWaits() {
    guard let limit = configuration.poolTimeout else { return }
    while let deadline = deadlines.head, deadline.due <= loop.now {
      _ = deadlines.popFirst()
      guard let transfer = waiting[deadline.waiter] else { continue }
      guard deadline.isQueued, state.isQueued(deadline.waiter) else {
        // A connection was or is being opened for it, with a limit of its own: that time does not count.
        limitWait(of: deadline.waiter, to: max(limit, Self.shortestLimitAgain))
        continue
      }
      let time = Quantity.text(limit)
      let message = "\(transfer.exchange.peer): waited \(time) for one of \(exhausted(for: transfer.key))"
      transfer.fail(HTTPError(.poolTimeout, message, phase: .queued))
    }
    watchWaits()
  }

  /// A very short limit must not keep the loop busy while connections are being opened.
  private static var shortestLimitAgain: Duration { .milliseconds(10) }

  /// Describes the connections that fill the limit.
  private func exhausted(for key: ConnectionKey) -> String {
    let (most, users) =
      key.isForUpgrades
      ? (configuration.webSocketLimitPerHost, "WebSockets") : (configuration.connectionLimitPerHost, "connections")
    if state.isFull(key), let most { return "\(max(1, most)) \(users) to \(key.host)" }
    return "\(state.connections.count) connections of the transport"
  }
}

// MARK: - Connections

extension ConnectionPool {
  /// Returns a connection that is being opened; nil if it is open or was closed.
  func opening(_ id: Int) -> ConnectionOpening? {
    if case .opening(let opening)? = connections[id] { opening } else { nil }
  }

  /// Returns an open connection; nil if it is being opened or was closed.
  func openConnection(_ id: Int) -> Connection? {
    if case .open(let connection)? = connections[id] { connection } else { nil }
  }

  /// Whether a connection that is open, or is being opened, may open WebSockets over HTTP/2.
  func mayOpenWebSockets(_ key: ConnectionKey) -> Bool {
    connections.contains { $0.value.key == key && $0.value.mayOpenWebSockets }
  }

  /// Opens connections for this many requests, within the limits. The caller gets the result when they are open.
  func preconnect(_ key: ConnectionKey, of origin: Origin, for requests: Int, _ result: OneShot<Void>) {
    preconnects.add(result, for: key, of: origin)
    perform(state.expect(requests, for: key, now: loop.now))
  }

  /// Replaces an opening with its connection.
  ///
  /// - Parameters:
  ///   - capacity: how many requests it serves at once.
  ///   - first: how many it gets before the peer has said so; nil if the capacity is known.
  func opened(_ connection: Connection, capacity: Int, first: Int? = nil) {
    connections[connection.id] = .open(connection)
    let retires = configuration.connectionLifetime.map { lifetime in
      PoolConnection.retirement(after: lifetime.nanoseconds, now: loop.now, fraction: .random(in: 0...1))
    }
    perform(
      state.opened(connection.id, capacity: capacity, first: first, retires: retires ?? .max, now: loop.now))
  }

  /// Removes a connection that could not be opened. One waiting transfer fails with it, unless the process lacks
  /// descriptors and there are other connections to wait for.
  func failed(_ opening: ConnectionOpening, _ failure: OpeningFailure) {
    connections[opening.id] = nil
    preconnects.fail(opening.key, failure)
    if failure.lacksDescriptor, let actions = state.lacksDescriptor(for: opening.id, now: loop.now) {
      perform(actions)
      return loop.set(descriptorTimer, to: loop.now &+ 1_000_000_000)
    }
    let (waiter, actions) = state.failed(opening.id, now: loop.now)
    if let transfer = waiter.flatMap(endWait) { opening.transport.fail(transfer, failure) }
    perform(actions)
  }

  /// Tries again: the process may have closed other descriptors in the meantime.
  private func tryDescriptorsAgain() { perform(state.forgetDescriptorLimit(now: loop.now)) }

  /// Takes back the place of a request that no longer uses its connection.
  func released(_ connection: Connection) { perform(state.released(connection.id, now: loop.now)) }

  /// Updates how many requests a connection serves at once.
  func changed(_ connection: Connection, capacity: Int) {
    perform(state.changed(connection.id, capacity: capacity, now: loop.now))
  }

  /// Gives a connection no further requests.
  func drain(_ connection: Connection) { perform(state.drain(connection.id, now: loop.now)) }

  /// Gives the connections of an identity no further requests.
  func drainConnections(ofIdentity identity: Int) {
    for (id, connection) in connections where connection.key.identity == identity {
      perform(state.drain(id, now: loop.now))
    }
  }

  /// Gives the connections whose TLS sessions have this context no further requests: files have changed.
  func drainConnections(with context: TLSContext) {
    for (id, connection) in connections where connection.tlsContext === context {
      perform(state.drain(id, now: loop.now))
    }
  }

  /// Lets all connections finish their requests, and gives them no further ones.
  func drainAll() { perform(state.drainAll(now: loop.now)) }

  /// Gives a connection, which may be dead, no requests until ``resume(_:)``.
  func suspend(_ connection: Connection) { perform(state.suspend(connection.id, now: loop.now)) }

  /// Resumes a suspended connection that has proved to be alive.
  func resume(_ connection: Connection) { perform(state.resume(connection.id, now: loop.now)) }

  /// Removes a connection that was closed, even before it was open.
  func closed(_ connection: Int) {
    guard connections.take(connection) != nil else { return }
    perform(state.closed(connection, now: loop.now))
  }

  // MARK: - Idle connections

  /// Notes after how many idle seconds the server closes a connection. A request sent at that moment would be lost, so
  /// the connection is not used in the last second, or in the second half of a shorter time.
  func limitIdling(of connection: Connection, to seconds: Int) {
    let time = UInt64(clamping: seconds).multipliedReportingOverflow(by: 1_000_000_000)
    guard !time.overflow else { return }
    state.limitIdling(of: connection.id, to: time.partialValue - min(1_000_000_000, time.partialValue / 2))
  }

  /// Closes all idle connections.
  func closeIdle() { perform(state.closeIdle()) }

  /// Closes the idle HTTP/1 connections of a key, or only connections that were already idle at a time.
  func closeIdle(for key: ConnectionKey, idleBefore time: UInt64 = .max) {
    for case .open(let connection) in connections.values where connection.key == key && connection.isIdle {
      if connection.idleSince <= time { connection.close() }
    }
  }

  /// Closes some idle connections, because the process has no descriptors left.
  func giveUpIdle() { perform(state.giveUpIdle()) }

  /// Closes the connections whose idle time has expired, and replaces those that have reached their age.
  private func closeExpired() { perform(state.expire(now: loop.now)) }
}

// MARK: - Actions

extension ConnectionPool {
  /// Performs actions. Further actions that follow from them are queued, because many openings that fail at once would
  /// exhaust the stack by recursion.
  private func perform(_ actions: [Action]) {
    guard !isPerforming else { return pending += actions }
    if !actions.isEmpty { performInTurn(actions) }
    // Needed without actions too: a connection may have become idle, or be the last one opened ahead of requests.
    if let next = state.nextCheck, next < expiryTimer.due { loop.set(expiryTimer, to: next) }
    if !preconnects.isEmpty { preconnects.finish { !state.isExpecting($0) } }
  }

  private func performInTurn(_ actions: [Action]) {
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

  /// The note of a connection that replaces an earlier one; nil if it replaces none.
  private func noteOnReplacement(_ connection: Int) -> String? {
    switch state.connections[connection]?.cause {
    case .age:
      let lifetime = configuration.connectionLifetime.map { " (\(Quantity.text($0)))" } ?? ""
      return "a new connection: the one before it has reached connection.connectionLifetime\(lifetime)"
    case .drained: return "a new connection: the program has drained the ones before it"
    case nil: return nil
    }
  }

  private func carryOut(_ action: Action) {
    switch action {
    case .use(let connection, let waiter):
      guard let transfer = endWait(of: waiter) else {
        return perform(state.released(connection, now: loop.now))  // It has ended.
      }
      // An earlier action may have closed it.
      if let connection = openConnection(connection) {
        start(transfer, on: connection)
      } else {
        transfer.transport.enqueue(transfer)
      }
    case .open(let id, let key):
      guard let transport else { preconditionFailure("the pool has no transport") }
      let opening = ConnectionOpening(id, to: key, on: transport)
      if let note = noteOnReplacement(id) { opening.notes.append(note) }
      connections[id] = .opening(opening)
      opening.open()
    case .close(let connection): connections.take(connection)?.close()
    case .refuse(let waiter):
      let error = HTTPError(.shutDown, TransportCore.shutDownMessage, phase: .queued)
      if let transfer = endWait(of: waiter) { transfer.fail(error) }
    }
  }
}
#endif
