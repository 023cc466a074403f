#if os(Linux)
import CSockets
import Glibc
import MartletEngine
import MartletSemantics

/// What speaks a version of HTTP over a connection. It is called on the loop's thread.
protocol ConnectionDriver: AnyObject {
  /// Sends the request of a transfer.
  func start(_ transfer: Transfer)
  /// Takes bytes that were received.
  func receive(_ bytes: UnsafeRawBufferPointer)
  /// The peer sends no more: with the error number if the connection failed.
  func receiveEnd(_ failure: Int32?)
  /// Sends what it can: there is room again, or a request's body has more bytes.
  func send()
  /// The reader of a transfer wants more.
  func resumeReading(for transfer: Transfer)
  /// Gives up a transfer, which has ended or was cancelled.
  func abandon(_ transfer: Transfer)
  /// The connection failed or was closed by this side: every transfer ends with this error.
  func fail(_ error: HTTPError)
}

/// A connection: its socket, and what speaks HTTP over it. It belongs to the loop's thread.
final class Connection: SocketHandler {
  let id: Int
  let key: ConnectionKey
  private(set) var facts = ConnectionFacts()
  /// How many requests were sent over it.
  var requestCount = 0
  private(set) var isClosed = false
  /// Whether it waits for a request.
  private(set) var isIdle = false

  let network: Network
  private var race: SocketRace?
  private var socket: Socket?
  private var driver: (any ConnectionDriver)?
  private lazy var connectTimer = LoopTimer { [weak self] in self?.connectingTookTooLong() }

  init(_ id: Int, to key: ConnectionKey, on network: Network) {
    self.id = id
    self.key = key
    self.network = network
  }

  private var peer: String { key.origin.authority }
  private var loop: EventLoop { network.loop }
}

// MARK: - Opening

extension Connection {
  /// Begins to connect. The network is told of the result.
  func open() {
    let race = SocketRace(to: peer, on: loop) { [weak self] in self?.connected($0) }
    self.race = race
    if let limit = network.configuration.connectTimeout {
      loop.set(connectTimer, to: loop.now &+ max(1, limit.nanoseconds))
    }
    let answer = network.resolver.lookUp(key.origin.host, port: key.origin.port) { [jobs = network.jobs, id] result in
      jobs.submit { $0.resolved(result, for: id) }
    }
    if case .known(let addresses) = answer { race.start(addresses) }
  }

  /// Goes on with the result of the name's look-up.
  func resolved(_ addresses: Result<[SocketAddress], HTTPError>) { race?.start(addresses) }

  private func connected(_ result: Result<(Socket, SocketAddress), HTTPError>) {
    facts.resolved = race?.resolved ?? 0
    facts.connected = loop.now
    race = nil
    switch result {
    case .failure(let error): failToOpen(error)
    case .success((let socket, let address)):
      self.socket = socket
      facts.remoteAddress = address.ip.map(String.init(describing:)) ?? address.path
      facts.remotePort = address.port
      facts.localPort = socket.localPort
      isOpen()
    }
  }

  private func isOpen() {
    loop.set(connectTimer, to: .max)
    facts.version = .http1_1
    driver = HTTP1Driver(self)
    socket?.handler = self
    socket?.interest = .read
    network.opened(self)
  }

  private func connectingTookTooLong() {
    let limit = network.configuration.connectTimeout ?? .zero
    guard let race else { return }
    failToOpen(race.timeout(after: limit))
  }

  private func failToOpen(_ error: HTTPError) {
    guard !isClosed else { return }
    releaseSocket()
    network.failedToOpen(self, error)
  }

  /// How far the opening is, for errors.
  var phase: HTTPError.Phase { race?.phase ?? .sending }
}

// MARK: - Use

extension Connection {
  /// Sends a request over the open connection.
  func start(_ transfer: Transfer) {
    transfer.connection = self
    transfer.phase = .sending
    transfer.timing.connection = facts
    transfer.timing.reusedConnection = requestCount > 0
    transfer.timing.requestStart = loop.now
    requestCount += 1
    isIdle = false
    driver?.start(transfer)
  }

  /// A request's body has more bytes.
  func continueUpload() { driver?.send() }

  func resumeReading(for transfer: Transfer) { driver?.resumeReading(for: transfer) }

  func abandon(_ transfer: Transfer) { driver?.abandon(transfer) }

  /// The request and its response are complete.
  func becomeIdle() {
    isReading = true
    isIdle = true
    network.released(self)
  }

  /// Whether bytes are received. Otherwise the peer has to wait.
  var isReading: Bool {
    get { socket?.interest.contains(.read) ?? false }
    set { if newValue { socket?.interest.insert(.read) } else { socket?.interest.remove(.read) } }
  }

  /// Sends bytes.
  ///
  /// - Parameter hasMore: whether more bytes follow at once.
  /// - Returns: how many were sent. If these are not all, the driver will be told when there is room. nil if the
  ///   connection has failed: then what the peer had sent before is still received.
  func send(_ bytes: UnsafeRawBufferPointer, hasMore: Bool = false) -> Int? {
    guard let socket else { return nil }
    guard !bytes.isEmpty else { return 0 }
    switch socket.send(bytes, hasMore: hasMore) {
    case .bytes(let count):
      socket.interest = count < bytes.count ? socket.interest.union(.write) : socket.interest.subtracting(.write)
      return count
    case .notReady:
      socket.interest.insert(.write)
      return 0
    case .end, .failed:
      socket.interest = .read
      return nil
    }
  }

  /// Closes it. Transfers have to be ended before, or are by ``ConnectionDriver/fail(_:)``.
  func close() {
    guard !isClosed else { return }
    releaseSocket()
    network.closed(self)
  }

  /// Closes it because of an error, with which its transfers end.
  func fail(_ error: HTTPError) {
    let driver = driver
    close()
    driver?.fail(error)
  }

  private func releaseSocket() {
    isClosed = true
    loop.set(connectTimer, to: .max)
    race?.cancel()
    race = nil
    socket?.close()
    socket = nil
    driver = nil
  }
}

// MARK: - Events

extension Connection {
  /// How often a socket is read in a turn, so that one connection does not keep the others waiting.
  private static let readsInATurn = 4

  func socketIsReadable(_ socket: Socket) {
    for _ in 0..<Self.readsInATurn {
      let room = network.receiveBuffer
      switch socket.receive(into: room) {
      case .bytes(let count):
        driver?.receive(UnsafeRawBufferPointer(rebasing: room[..<count]))
        guard count == room.count, isReading else { return }
      case .notReady: return
      case .end: return receivedEnd(nil)
      case .failed(let code): return receivedEnd(code)
      }
    }
  }

  func socketIsWritable(_ socket: Socket) {
    socket.interest.remove(.write)
    driver?.send()
  }

  func socketFailed(_ socket: Socket, _ code: Int32) { receivedEnd(code) }

  private func receivedEnd(_ failure: Int32?) {
    driver?.receiveEnd(failure)
    close()
  }
}
#endif
