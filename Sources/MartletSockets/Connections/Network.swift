#if os(Linux)
import CSockets
import Glibc
@_spi(Transports) import MartletEngine
import MartletSemantics

/// Everything of a transport that belongs to its loop's thread: the connections, their pool, and the transfers.
final class Network {
  let configuration: ConnectionConfiguration
  let loop: EventLoop
  /// The work that other threads submit.
  let jobs: JobQueue<Network>
  let resolver = Resolver()
  let chunks = ChunkPool()
  /// Memory that every connection receives into. Its content is used before the next one receives.
  let receiveBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
  /// The transfers that have something to deliver at the end of the turn.
  var dirty: [Transfer] = []

  private var pool: PoolState<ConnectionKey>
  private var connections: [Int: Connection] = [:]
  /// The transfers that wait for a connection, by their number.
  private var waiting: [Int: Transfer] = [:]
  /// All transfers that have not ended.
  private var transfers: [ObjectIdentifier: Transfer] = [:]
  private var lastNumber = 0

  init(_ configuration: ConnectionConfiguration, _ jobs: JobQueue<Network>) throws(HTTPError) {
    self.configuration = configuration
    self.jobs = jobs
    loop = try EventLoop(wakeUp: jobs.wakeUp)
    pool = PoolState(configuration)
  }

  deinit { receiveBuffer.deallocate() }

  /// Works until ``shutDown()``.
  func run() { loop.run(jobs, in: self) { $0.flush() } }

  private func flush() {
    // what is delivered cannot add to the list: only the loop does
    for transfer in dirty { transfer.flush() }
    dirty.removeAll(keepingCapacity: true)
  }
}

// MARK: - Jobs

extension Network {
  /// Begins an exchange.
  func start(_ exchange: Exchange) {
    let transfer = Transfer(exchange, on: self)
    exchange.transfer.set(transfer, on: loop)
    transfers[ObjectIdentifier(transfer)] = transfer
    wait(transfer)
  }

  /// The reader of a response wants more.
  func resumeReading(_ exchange: Exchange) { exchange.transfer.get(on: loop)?.resumeReading() }

  /// The body of a request has more bytes.
  func continueUpload(_ exchange: Exchange) { exchange.transfer.get(on: loop)?.connection?.continueUpload() }

  /// The reader of an exchange has stopped. A short rest of the body may be read, so that the connection can be reused.
  func cancel(_ exchange: Exchange) {
    guard let transfer = exchange.transfer.get(on: loop), !transfer.startDiscarding() else { return }
    giveUp(transfer, HTTPError(wrapping: CancellationError()))
  }

  /// The body of a request cannot be read.
  func fail(_ exchange: Exchange, _ error: HTTPError) {
    if let transfer = exchange.transfer.get(on: loop) { giveUp(transfer, error) }
  }

  /// The name of a connection's host was resolved.
  func resolved(_ addresses: Result<[SocketAddress], HTTPError>, for connection: Int) {
    connections[connection]?.resolved(addresses)
  }

  /// Ends everything: nobody refers to the transport any more.
  func shutDown() {
    loop.stop()
    let error = HTTPError(.shutDown, "the transport was shut down", phase: .receiving)
    for transfer in Array(transfers.values) { transfer.fail(error) }
    waiting = [:]
    for connection in Array(connections.values) { connection.close() }
  }
}

// MARK: - Transfers

extension Network {
  private func nextNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  private func wait(_ transfer: Transfer) {
    let number = nextNumber()
    transfer.waiter = number
    waiting[number] = transfer
    perform(pool.request(number, for: ConnectionKey(transfer.exchange), now: loop.now))
  }

  /// Ends a transfer with an error, wherever it is.
  func giveUp(_ transfer: Transfer, _ error: HTTPError) {
    let connection = transfer.connection
    transfer.fail(error)
    connection?.abandon(transfer)
  }

  /// A transfer has ended.
  func ended(_ transfer: Transfer) {
    transfers[ObjectIdentifier(transfer)] = nil
    transfer.exchange.transfer.set(nil, on: loop)
    if let number = transfer.waiter, waiting.removeValue(forKey: number) != nil {
      perform(pool.cancelled(number, now: loop.now))
    }
  }

  /// The connection of a transfer had served before, and ended before any byte of the response: most likely the server
  /// had closed it before (RFC 9112 §9.3.1). The request is sent again if it may be.
  func foundStale(_ transfer: Transfer) {
    let reason = "the one it went over had served before, and ended before any byte of a response"
    guard transfer.staleCount == 0, transfer.exchange.limits.mayRepeat, transfer.canBeginAgain else {
      let message = "to be sent again on another connection: \(reason)"
      return transfer.fail(.connectionLost, message, delivery: .staleConnection)
    }
    transfer.tell("sent again on another connection: \(reason)")
    // the others are most likely stale too
    let key = ConnectionKey(transfer.exchange)
    for connection in Array(connections.values) where connection.key == key && connection.isIdle { connection.close() }
    transfer.beginAgain(isStale: true)
    wait(transfer)
  }
}

// MARK: - Connections

extension Network {
  /// A connection can be used.
  func opened(_ connection: Connection) {
    perform(pool.becameReady(connection.id, capacity: 1, now: loop.now))
  }

  /// A connection could not be opened.
  func failedToOpen(_ connection: Connection, _ error: HTTPError) {
    connections[connection.id] = nil
    perform(pool.failed(connection.id, now: loop.now), failure: error)
  }

  /// A request and its response are complete, so that the connection can be used again.
  func released(_ connection: Connection) { perform(pool.released(connection.id, now: loop.now)) }

  /// A connection was closed.
  func closed(_ connection: Connection) {
    guard connections.removeValue(forKey: connection.id) != nil else { return }
    perform(pool.closed(connection.id, now: loop.now))
  }

  private func perform(_ actions: [PoolState<ConnectionKey>.Action], failure: HTTPError? = nil) {
    for action in actions {
      switch action {
      case .use(let connection, let waiter):
        guard let transfer = waiting.removeValue(forKey: waiter) else { continue }
        transfer.waiter = nil
        connections[connection]?.start(transfer)
      case .open(let id, let key):
        let connection = Connection(id, to: key, on: self)
        connections[id] = connection
        connection.open()
      case .close(let connection): connections.removeValue(forKey: connection)?.close()
      case .fail(let waiter):
        guard let transfer = waiting.removeValue(forKey: waiter), let failure else { continue }
        transfer.waiter = nil
        transfer.fail(failure)
      }
    }
  }
}
#endif
