#if os(Linux)
import CCurl
import Glibc
@_spi(Transports) import MartletEngine
import MartletSemantics

/// The event loop that owns libcurl's multi handle and all its transfers. It runs and is released on one thread; other
/// threads use its `JobQueue`.
final class MultiLoop {
  var sockets: SocketInterest
  private let queue: JobQueue<MultiLoop>
  private let pool: HandlePool
  private let multi: UnsafeMutableRawPointer
  private let events = UnsafeMutableBufferPointer<epoll_event>.allocate(capacity: 256)
  private var transfers: [UnsafeMutableRawPointer: Transfer] = [:]
  private var dirty: [Transfer] = []
  private lazy var noteDirty: (Transfer) -> Void = { [unowned self] in dirty.append($0) }
  private var jobs: [JobQueue<MultiLoop>.Job] = []
  let connections = ConnectionTable()
  /// When libcurl's timer is due, in nanoseconds on the clock of ``now``; nil for not at all.
  private var timer: UInt64?
  /// When the first timeout of a transfer may end.
  private var nextCheck = UInt64.max
  /// The time at the beginning of the turn.
  private var now: UInt64 = 0
  private var isStopped = false

  init?(jobs queue: JobQueue<MultiLoop>, pool: HandlePool, configuration: ConnectionConfiguration) {
    let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard queue.wakeUp >= 0, epoll >= 0, let multi = curl_multi_init() else {
      if epoll >= 0 { close(epoll) }
      return nil
    }
    self.queue = queue
    self.pool = pool
    self.multi = multi
    sockets = SocketInterest(epoll: epoll)
    _ = martlet_epoll_control(epoll, EPOLL_CTL_ADD, queue.wakeUp, EPOLLIN.rawValue | EPOLLET.rawValue)
    let user = Unmanaged.passUnretained(self).toOpaque()
    _ = martlet_multi_set_socket(multi, Callbacks.socket, user)
    _ = martlet_multi_set_timer(multi, Callbacks.timer, user)
    _ = martlet_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
    _ = martlet_multi_set_long(multi, CURLMOPT_MAXCONNECTS, max(1, configuration.idleConnections))
    _ = martlet_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, Self.limit(configuration.connectionsPerHost))
    _ = martlet_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, Self.limit(configuration.connections))
  }

  deinit {
    curl_multi_cleanup(multi)
    close(sockets.epoll)
    events.deallocate()
  }

  func run() {
    while !isStopped {
      now = Self.clock()
      doJobs()
      runTimer()
      checkTimeouts()
      finishTurn()
      waitForSockets()
    }
    for transfer in Array(transfers.values) {
      end(transfer, .failed(HTTPError(.shutDown, "the transport was shut down", phase: .receiving)))
    }
  }

  /// libcurl's number for a limit: 0 means none.
  private static func limit(_ count: Int?) -> Int { count.map { max(1, $0) } ?? 0 }

  /// The time of a clock that only goes forward, in nanoseconds.
  @Sendable static func clock() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// Sets libcurl's timer.
  func setTimer(milliseconds: Int) {
    timer = milliseconds < 0 ? nil : milliseconds == 0 ? 0 : Self.clock() + UInt64(milliseconds) * 1_000_000
  }
}

// MARK: - Jobs

extension MultiLoop {
  /// Begins a transfer.
  func start(_ transfer: Transfer) {
    transfer.onDirty = noteDirty
    transfer.connections = connections
    transfer.lastActivity = now
    transfers[transfer.handle.raw] = transfer
    if let timeout = transfer.limits.response { nextCheck = min(nextCheck, now + timeout) }
    transfer.handle.setSockets(
      opened: Callbacks.openedSocket, close: Callbacks.closeSocket, Unmanaged.passUnretained(self).toOpaque())
    submit(transfer)
  }

  private func submit(_ transfer: Transfer) {
    let code = curl_multi_add_handle(multi, transfer.handle.raw)
    if code != CURLM_OK {
      let reason = String(cString: curl_multi_strerror(code))
      end(transfer, .failed(HTTPError(.other, "libcurl cannot start the transfer: \(reason)", phase: .preparing)))
    }
  }

  /// The reader wants more of the response, or there is more of the request's body.
  func unpause(_ transfer: Transfer) {
    guard isRunning(transfer) else { return }
    if transfer.isPausedByReader {
      transfer.isPausedByReader = false
      watchSilence(of: transfer)
    }
    curl_easy_pause(transfer.handle.raw, CURLPAUSE_CONT)
  }

  /// The reader stopped. A short rest of the body may be read, so that the connection can be reused.
  func cancel(_ transfer: Transfer) {
    guard isRunning(transfer) else { return }
    guard transfer.startDiscarding() else { return end(transfer, nil) }
    transfer.lastActivity = now
    nextCheck = min(nextCheck, now + Self.discardTime)
    unpause(transfer)
  }

  /// The request's body cannot be read.
  func fail(_ transfer: Transfer, _ error: HTTPError) {
    if isRunning(transfer) { end(transfer, .failed(error)) }
  }

  /// Ends everything: nobody refers to the transport any more.
  func stop() { isStopped = true }
}

// MARK: - A turn

extension MultiLoop {
  private func doJobs() {
    queue.drain(into: &jobs)
    for job in jobs { job(self) }
    jobs.removeAll(keepingCapacity: true)
  }

  private func runTimer() {
    guard let timer, timer <= now else { return }
    self.timer = nil
    var running: Int32 = 0
    curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running)
  }

  /// Ends the transfers that libcurl has finished, delivers the signals of this turn, and updates epoll's interest in
  /// sockets.
  private func finishTurn() {
    endFinished()
    for transfer in dirty where isRunning(transfer) {  // the handle of an ended one may be in use again
      transfer.flush()
      watchSilence(of: transfer)
    }
    dirty.removeAll(keepingCapacity: true)
    sockets.apply()
  }

  private func endFinished() {
    var doubtful: [(transfer: Transfer, ending: TransferSignal)] = []
    while true {
      let finished = martlet_next_finished(multi)
      guard let handle = finished.handle else { break }
      guard let transfer = transfers[handle] else { continue }
      if transfer.wantsFreshConnection, transfer.failure == nil {
        restart(transfer)
      } else if transfer.endsWithConnection(finished.code), let connection = transfer.connection {
        doubtful.append((transfer, transfer.ending(finished.code)))
        examine(connection)
      } else {
        transfer.noteLoss()
        end(transfer, transfer.ending(finished.code))
      }
    }
    for (transfer, ending) in doubtful {
      end(transfer, transfer.connection?.isCutOff == true ? transfer.cutOff : ending)
    }
  }

  /// Makes libcurl read from a connection that has other transfers: if it has failed, they fail too, and the last one
  /// closes it.
  private func examine(_ connection: Connection) {
    guard connection.isOpen, connection.transferCount > 1 else { return }
    var running: Int32 = 0
    curl_multi_socket_action(multi, connection.descriptor, CURL_CSELECT_IN, &running)
  }

  private func waitForSockets() {
    let wait = milliseconds(until: min(timer ?? .max, nextCheck))
    guard !isStopped, wait == 0 || queue.mayFallAsleep() else { return }
    let count = epoll_wait(sockets.epoll, events.baseAddress, Int32(events.count), wait)
    queue.awake()
    guard count > 0 else { return }
    now = Self.clock()
    for index in 0..<Int(count) { handle(events[index]) }
    finishTurn()
  }

  private func handle(_ event: epoll_event) {
    let descriptor = withUnsafePointer(to: event, martlet_event_descriptor)
    if descriptor == queue.wakeUp { return }  // reported once for each wake-up
    guard sockets.isWanted(descriptor) else {
      // what comes over an idle HTTP/1 connection is no response, so the connection is ended; a new connection may be
      // about to get its first request
      if let connection = connections[descriptor], connection.hasServed, connection.isIdle, connection.version != .http2
      {
        connection.end()
      }
      return
    }
    var mask: Int32 = 0
    if event.events & (EPOLLIN.rawValue | EPOLLHUP.rawValue) != 0 { mask |= CURL_CSELECT_IN }
    if event.events & EPOLLOUT.rawValue != 0 { mask |= CURL_CSELECT_OUT }
    if event.events & EPOLLERR.rawValue != 0 { mask |= CURL_CSELECT_ERR }
    var running: Int32 = 0
    curl_multi_socket_action(multi, descriptor, mask, &running)
  }

  private func milliseconds(until time: UInt64) -> Int32 {
    if time == .max { return -1 }
    if time <= now { return 0 }
    return Int32(clamping: (time - now + 999_999) / 1_000_000)
  }
}

// MARK: - Transfers

extension MultiLoop {
  private func isRunning(_ transfer: Transfer) -> Bool { transfers[transfer.handle.raw] === transfer }

  /// Removes a transfer from the multi handle and delivers its last signal.
  private func end(_ transfer: Transfer, _ last: TransferSignal?) {
    transfers[transfer.handle.raw] = nil
    curl_multi_remove_handle(multi, transfer.handle.raw)
    transfer.finish(last ?? .failed(HTTPError(wrapping: CancellationError())))
    transfer.onDirty = nil
    transfer.connections = nil
    let connection = transfer.connection
    transfer.leaveConnection()
    if let connection, transfer.limits.ownsConnection, connection.isIdle { connection.end() }
    pool.give(back: transfer.handle)
  }

  /// Restarts a transfer of which nothing was sent.
  private func restart(_ transfer: Transfer) {
    curl_multi_remove_handle(multi, transfer.handle.raw)
    transfer.restart()
    submit(transfer)
  }

  /// How long the rest of a cancelled response may take, in nanoseconds.
  private static let discardTime: UInt64 = 1_000_000_000

  /// Notes activity of a transfer. Until the head is complete, only bytes of the request count, so that a server that
  /// sends the head byte by byte is subject to the response timeout.
  private func watchSilence(of transfer: Transfer) {
    guard transfer.hasHead || transfer.hasSentMore() else { return }
    transfer.lastActivity = now
    guard let timeout = transfer.hasHead ? transfer.limits.idle : transfer.limits.response else { return }
    nextCheck = min(nextCheck, now + timeout)
  }

  /// Ends transfers whose timeout is over. All are checked, but only when the first can be due: usually once a minute.
  private func checkTimeouts() {
    guard now >= nextCheck else { return }
    nextCheck = .max
    for transfer in Array(transfers.values) where !transfer.isPausedByReader || transfer.isDiscarding {
      let timeout =
        transfer.isDiscarding
        ? Self.discardTime : transfer.hasHead ? transfer.limits.idle : transfer.limits.response
      guard let timeout else { continue }
      // silence does not count while the reader does not wait for more
      let reader = transfer.hasHead && !transfer.isDiscarding ? transfer.signals.waitingSince ?? now : 0
      let due = max(transfer.lastActivity, reader) + timeout
      if due <= now { end(transfer, transfer.timedOut(after: timeout)) } else { nextCheck = min(nextCheck, due) }
    }
  }
}
#endif
