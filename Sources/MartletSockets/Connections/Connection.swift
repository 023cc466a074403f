#if os(Linux)
import MartletEngine
import MartletSemantics

/// What speaks a version of HTTP over a connection. It is called on the loop's thread.
protocol ConnectionDriver: AnyObject {
  /// Sends the request of a transfer.
  func start(_ transfer: Transfer)
  /// Takes bytes that were received.
  func receive(_ bytes: UnsafeRawBufferPointer)
  /// The peer sends no more. The connection is closed afterwards.
  func receiveEnd(_ end: StreamEnd)
  /// Sends what it can: there is room again.
  func send()
  /// The body of a transfer's request has more bytes.
  func continueUpload(of transfer: Transfer)
  /// The reader of a transfer wants more.
  func resumeReading(for transfer: Transfer)
  /// Gives up a transfer, which has ended or was cancelled.
  func abandon(_ transfer: Transfer)
  /// The connection has failed and was closed: every transfer ends with this error.
  func fail(_ error: HTTPError)
}

/// A connection: its socket, TLS, and what speaks HTTP over it. It belongs to the loop's thread.
final class Connection {
  let id: Int
  let key: ConnectionKey
  let network: Network
  private(set) var facts = ConnectionFacts()
  /// How many requests were sent over it.
  private(set) var requestCount = 0
  private(set) var isClosed = false
  /// Whether it waits for a request.
  private(set) var isIdle = false

  private var race: SocketRace?
  private var stream: LayeredSocket?
  private var driver: (any ConnectionDriver)?
  /// Whether the network knows that there is something to send.
  private var hasOutput = false
  /// The protocol that the server has chosen in the TLS handshake.
  private var chosenProtocol: String?
  private lazy var connectTimer = LoopTimer { [weak self] in self?.connectingTookTooLong() }

  init(_ id: Int, to key: ConnectionKey, on network: Network) {
    self.id = id
    self.key = key
    self.network = network
  }

  /// Host and port, for messages.
  var peer: String { key.origin.authority }
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
      facts.remoteAddress = address.ip.map(String.init(describing:)) ?? address.path
      facts.remotePort = address.port
      facts.localPort = socket.localPort
      let stream = LayeredSocket(socket, network.receiveMemory, owner: self)
      self.stream = stream
      guard key.origin.isSecure else { return use(key.versions == .http2 ? .http2 : .http1_1) }
      do throws(HTTPError) { stream.add(try network.makeTLSSession(for: key)) } catch { failToOpen(error) }
    }
  }

  /// Goes on over a server that may be used: it was verified, and is not refused by the check of the caller.
  func goOn() {
    guard driver == nil, let stream else { return }
    use(chosenProtocol == "h2" || key.versions == .http2 ? .http2 : .http1_1)
    stream.release()
  }

  private func use(_ version: HTTPVersion) {
    loop.set(connectTimer, to: .max)
    facts.version = version
    if version == .http2 {
      do throws(HTTPError) { driver = try HTTP2Driver(self) } catch { return failToOpen(error) }
    } else {
      driver = HTTP1Driver(self)
    }
    network.opened(self)
  }

  private func connectingTookTooLong() {
    let limit = network.configuration.connectTimeout ?? .zero
    let message = "\(peer): the TLS handshake was not complete within \(limit)"
    failToOpen(race?.timeout(after: limit) ?? HTTPError(.connectTimeout, message, phase: .securing))
  }

  /// - Parameter certificates: those of the server if they were refused.
  private func failToOpen(_ error: HTTPError, refused certificates: [Data]? = nil) {
    guard !isClosed else { return }
    release()
    network.failedToOpen(self, OpeningFailure(error: error, refused: certificates))
  }

  /// How far the opening is, for errors.
  var phase: HTTPError.Phase { race?.phase ?? .securing }
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

  func continueUpload(of transfer: Transfer) { driver?.continueUpload(of: transfer) }

  func resumeReading(for transfer: Transfer) { driver?.resumeReading(for: transfer) }

  func abandon(_ transfer: Transfer) { driver?.abandon(transfer) }

  /// Notes that there is something to send at the end of the turn: what was collected until then goes out together.
  func noteOutput() {
    guard !hasOutput, !isClosed else { return }
    hasOutput = true
    network.noteOutput(of: self)
  }

  /// Sends what was collected in this turn.
  func sendOutput() {
    hasOutput = false
    driver?.send()
  }

  /// A request and its response are complete.
  func becomeIdle() {
    isReading = true
    isIdle = true
    network.released(self)
  }

  /// Whether bytes are received. Otherwise the peer has to wait.
  var isReading: Bool {
    get { stream?.isReading ?? false }
    set { stream?.isReading = newValue }
  }

  /// Sends bytes; see ``LayeredSocket/send(_:hasMore:)``.
  func send(_ bytes: UnsafeRawBufferPointer, hasMore: Bool = false) -> Int? { stream?.send(bytes, hasMore: hasMore) }

  /// Closes it. Its transfers have ended before.
  func close() {
    guard !isClosed else { return }
    release()
    network.closed(self)
  }

  /// Closes it because of an error, with which its transfers end.
  func fail(_ error: HTTPError) {
    let driver = driver
    close()
    driver?.fail(error)
  }

  private func release() {
    isClosed = true
    loop.set(connectTimer, to: .max)
    race?.cancel()
    race = nil
    stream?.close()
    stream = nil
    driver = nil
  }
}

// MARK: - Events

extension Connection: LayeredSocketHandler {
  func layerIsSecure(_ session: TLSSession) {
    facts.secured = loop.now
    loop.set(connectTimer, to: .max)
    chosenProtocol = session.negotiatedProtocol
    stream?.hold()
    network.verified(self, session.certificates)
  }

  func layerFailed(_ session: TLSSession, _ error: HTTPError) {
    guard driver == nil else { return fail(error) }
    failToOpen(error, refused: session.trustFailure?.certificates)
  }

  func received(_ bytes: UnsafeRawBufferPointer) { driver?.receive(bytes) }

  func hasRoom() { driver?.send() }

  func receivedEnd(_ end: StreamEnd) {
    guard let driver else {
      let message = "\(peer): the connection ended before it could be used"
      return failToOpen(HTTPError(.connectionLost, message, phase: phase))
    }
    driver.receiveEnd(end)
    close()
  }
}
#endif
