#if os(Linux)
import CCurl
import Glibc
import MartletEngine
import MartletSemantics

/// The one thread that owns libcurl's multi handle and every transfer on it. Once it runs, it is used and torn down on
/// that thread alone; the ``Mailbox`` is how others reach it.
final class MultiLoop {
  var sockets: SocketInterest
  private let mailbox: Mailbox
  private let pool: HandlePool
  private let multi: UnsafeMutableRawPointer
  private let events = UnsafeMutableBufferPointer<epoll_event>.allocate(capacity: 256)
  private var transfers: [UnsafeMutableRawPointer: Transfer] = [:]
  private var dirty: [Transfer] = []
  private lazy var noteDirty: (Transfer) -> Void = { [unowned self] in dirty.append($0) }
  private var commands: [Mailbox.Command] = []
  let connections = ConnectionTable()
  /// When libcurl wants to be called, nil for not at all; nanoseconds on ``now``'s clock.
  private var timer: UInt64?
  /// When the first of the transfers' own timeouts may strike.
  private var nextCheck = UInt64.max
  /// The time, read once a turn.
  private var now: UInt64 = 0
  private var isStopped = false

  init?(mailbox: Mailbox, pool: HandlePool, configuration: CurlConfiguration) {
    let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard mailbox.wakeUp >= 0, epoll >= 0, let multi = curl_multi_init() else {
      if epoll >= 0 { close(epoll) }
      return nil
    }
    self.mailbox = mailbox
    self.pool = pool
    self.multi = multi
    sockets = SocketInterest(epoll: epoll)
    _ = martlet_epoll_control(epoll, EPOLL_CTL_ADD, mailbox.wakeUp, EPOLLIN.rawValue)
    let user = Unmanaged.passUnretained(self).toOpaque()
    _ = martlet_multi_set_socket(multi, Callbacks.socket, user)
    _ = martlet_multi_set_timer(multi, Callbacks.timer, user)
    _ = martlet_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
    _ = martlet_multi_set_long(multi, CURLMOPT_MAXCONNECTS, max(1, configuration.idleConnections))
    _ = martlet_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, configuration.connectionsPerHost)
    _ = martlet_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, configuration.connections)
  }

  deinit {
    curl_multi_cleanup(multi)
    close(sockets.epoll)
    events.deallocate()
  }

  func run() {
    while !isStopped {
      now = Self.clock()
      obeyCommands()
      runTimer()
      checkTimeouts()
      finishTurn()
      waitForSockets()
    }
    for transfer in Array(transfers.values) {
      end(transfer, .failed(HTTPError(.shutDown, "the transport was shut down", phase: .receiving)))
    }
  }

  static func clock() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// libcurl's one timer.
  func setTimer(milliseconds: Int) {
    timer = milliseconds < 0 ? nil : milliseconds == 0 ? 0 : Self.clock() + UInt64(milliseconds) * 1_000_000
  }
}

// MARK: - A turn

extension MultiLoop {
  private func obeyCommands() {
    mailbox.drain(into: &commands)
    for command in commands {
      switch command {
      case .start(let transfer): start(transfer)
      case .unpause(let transfer): if isRunning(transfer) { unpause(transfer) }
      case .giveUp(let transfer): if isRunning(transfer) { giveUp(transfer) }
      case .fail(let transfer, let error): if isRunning(transfer) { end(transfer, .failed(error)) }
      case .stop: isStopped = true
      }
    }
    commands.removeAll(keepingCapacity: true)
  }

  private func start(_ transfer: Transfer) {
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
      end(transfer, .failed(HTTPError(.other, "libcurl takes no transfer: \(reason)", phase: .preparing)))
    }
  }

  private func unpause(_ transfer: Transfer) {
    if transfer.isPausedByReader {
      transfer.isPausedByReader = false
      watchSilence(of: transfer)
    }
    curl_easy_pause(transfer.handle.raw, CURLPAUSE_CONT)
  }

  private func giveUp(_ transfer: Transfer) {
    guard transfer.startDiscarding() else { return end(transfer, nil) }
    transfer.lastActivity = now
    nextCheck = min(nextCheck, now + Self.discardTime)
    unpause(transfer)
  }

  private func runTimer() {
    guard let timer, timer <= now else { return }
    self.timer = nil
    var running: Int32 = 0
    curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running)
  }

  /// Ends what libcurl says is done, delivers what came, and tells the kernel what to watch.
  private func finishTurn() {
    endFinished()
    for transfer in dirty where isRunning(transfer) {  // the handle of any other may be another transfer's by now
      transfer.flush()
      watchSilence(of: transfer)
    }
    dirty.removeAll(keepingCapacity: true)
    sockets.apply()
  }

  private func endFinished() {
    var doubtful: [(transfer: Transfer, ending: Signal)] = []
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

  /// Lets the other transfers of a connection find out whether it has failed: then the last of them closes it.
  private func examine(_ connection: Connection) {
    guard connection.isOpen, connection.transferCount > 1 else { return }
    var running: Int32 = 0
    curl_multi_socket_action(multi, connection.descriptor, CURL_CSELECT_IN, &running)
  }

  private func waitForSockets() {
    let wait = milliseconds(until: min(timer ?? .max, nextCheck))
    guard !isStopped, wait == 0 || mailbox.mayFallAsleep() else { return }
    let count = epoll_wait(sockets.epoll, events.baseAddress, Int32(events.count), wait)
    mailbox.awake()
    guard count > 0 else { return }
    now = Self.clock()
    for index in 0..<Int(count) { handle(events[index]) }
    finishTurn()
  }

  private func handle(_ event: epoll_event) {
    let descriptor = withUnsafePointer(to: event, martlet_event_descriptor)
    if descriptor == mailbox.wakeUp { return mailbox.clearWakeUp() }
    guard sockets.isWanted(descriptor) else {
      // nothing that comes over an idle connection of HTTP/1 answers a request, and its end is its end; one that has not served
      // may be on the way to its first request
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

  /// Takes a transfer off the multi handle and tells its reader, if there still is one.
  private func end(_ transfer: Transfer, _ last: Signal?) {
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

  /// Begins anew with a transfer of which nothing was sent.
  private func restart(_ transfer: Transfer) {
    curl_multi_remove_handle(multi, transfer.handle.raw)
    transfer.restart()
    submit(transfer)
  }

  private static let discardTime: UInt64 = 1_000_000_000

  /// Until the head is whole only bytes of the request count: a server that sends it byte by byte is too slow as well.
  private func watchSilence(of transfer: Transfer) {
    guard transfer.hasHead || transfer.hasSentMore() else { return }
    transfer.lastActivity = now
    guard let timeout = transfer.hasHead ? transfer.limits.idle : transfer.limits.response else { return }
    nextCheck = min(nextCheck, now + timeout)
  }

  /// Looks at all transfers, but only when the first of them can be due: usually once a minute.
  private func checkTimeouts() {
    guard now >= nextCheck else { return }
    nextCheck = .max
    for transfer in Array(transfers.values) where !transfer.isPausedByReader || transfer.isDiscarding {
      let timeout =
        transfer.isDiscarding
        ? Self.discardTime : transfer.hasHead ? transfer.limits.idle : transfer.limits.response
      guard let timeout else { continue }
      // silence while nobody waits for more is nobody's fault
      let reader = transfer.hasHead && !transfer.isDiscarding ? transfer.stream.waitingSince ?? now : 0
      let due = max(transfer.lastActivity, reader) + timeout
      if due <= now { end(transfer, transfer.timedOut(after: timeout)) } else { nextCheck = min(nextCheck, due) }
    }
  }
}
#endif
