#if os(Linux)
@_spi(Toolkit) @_spi(Transports) import MartletEngine
import MartletSemantics

/// Speaks a version of HTTP over a connection. It is called on the loop's thread.
protocol ConnectionDriver: AnyObject {
  /// Sends the request of a transfer.
  func start(_ transfer: LoopTransfer)
  /// Takes bytes that were received.
  func receive(_ bytes: UnsafeRawBufferPointer)
  /// Memory into which bytes can be received without a later copy; nil if they have to be passed to ``receive(_:)``.
  var bodyMemory: UnsafeMutableRawBufferPointer? { get }
  /// Takes bytes that were received into ``bodyMemory``; there may be none.
  func receive(inBodyMemory bytes: UnsafeRawBufferPointer)
  /// The peer sends no more. The connection is closed afterwards, unless ``outlivesInput``: a second call then means
  /// that it has failed.
  func receiveEnd(_ end: InputEnd)
  /// Whether it continues to send after the peer has ended its direction.
  var outlivesInput: Bool { get }
  /// Sends what it can: the connection has room again.
  func send()
  /// The body of a transfer's request has more bytes.
  func continueUpload(of transfer: LoopTransfer)
  /// The reader of a transfer wants more.
  func resumeReading(for transfer: LoopTransfer)
  /// Frees the place of a transfer that has ended before its response was complete.
  func release(_ transfer: LoopTransfer)
  /// Reacts to a transfer that got no bytes in time, or is about to end without a response: the connection may be dead.
  ///
  /// - Parameter patience: how long, in nanoseconds, it must have been silent to be suspected.
  func checkLiveness(after transfer: LoopTransfer, patience: UInt64)
  /// Ends every transfer with this error: the connection has failed and was closed.
  func fail(_ error: HTTPError)
}

extension ConnectionDriver {
  var bodyMemory: UnsafeMutableRawBufferPointer? { nil }
  func receive(inBodyMemory bytes: UnsafeRawBufferPointer) {}
  var outlivesInput: Bool { false }
  func checkLiveness(after transfer: LoopTransfer, patience: UInt64) {}
}

/// What a ``ConnectionOpening`` leaves to the connection.
struct OpenedConnection {
  let socket: LayeredSocket
  let facts: ConnectionFacts
  /// Notes for the listeners of its first request.
  let notes: [String]
}

/// An open connection: its socket, TLS, and the driver that speaks HTTP over it. Once it is closed, it stays so. It
/// belongs to the loop's thread.
final class Connection {
  let id: Int
  let key: ConnectionKey
  let transport: TransportCore
  let socket: LayeredSocket
  /// Speaks HTTP, or carries the bytes of an upgrade; nil once the connection is closed.
  private(set) var driver: (any ConnectionDriver)?
  private(set) var facts: ConnectionFacts
  /// How many requests were sent over it.
  private(set) var requestCount = 0
  private(set) var isClosed = false
  /// Whether it was opened for a request whose connection was the wrong one for its origin (421).
  private(set) var replacesWrongOne = false
  /// How long the last HTTP/1 request took, from sending it to the end of its response, in nanoseconds; the maximum
  /// before the first.
  private(set) var lastDuration = UInt64.max
  private var lastStart: UInt64 = 0
  /// How long the peer may leave everything unacknowledged, in nanoseconds.
  private var acknowledgementTimeout: UInt64
  /// When it became idle, if it is idle.
  var idleSince: UInt64 { lastStart &+ lastDuration }
  /// Whether it waits for a request.
  private(set) var isIdle = false
  /// Whether it was just checked and nothing had arrived.
  var isKnownQuiet = false
  /// Notes for the listeners of its first request.
  private let notes: [String]
  /// Whether the transport knows that there are bytes to send.
  private var hasOutput = false

  init(_ opened: OpenedConnection, _ id: Int, to key: ConnectionKey, on transport: TransportCore) throws(HTTPError) {
    self.id = id
    self.key = key
    self.transport = transport
    socket = opened.socket
    facts = opened.facts
    notes = opened.notes
    acknowledgementTimeout = transport.options.acknowledgementTimeout
    driver = facts.version == .http2 ? try HTTP2Driver(self) : HTTP1Driver(self)
  }

  var peer: String { key.peer }
  var loop: EventLoop { transport.loop }
}

// MARK: - Use

extension Connection {
  /// Sends a request.
  func start(_ transfer: LoopTransfer) {
    guard let driver else { return transport.sendElsewhere(transfer) }
    if facts.secured != nil, facts.tls == nil, transfer.exchange.settings.events.contains(.metrics) {
      facts.tls = socket.innermost?.description
    }
    transfer.begin(on: self, isReused: requestCount > 0 || facts.opened < loop.now)
    if requestCount == 0 {
      replacesWrongOne = transfer.exchange.settings.needsNewConnection
      for note in notes { transfer.note(note) }
    }
    requestCount += 1
    lastStart = loop.now
    isIdle = false
    adjustAcknowledgement(to: transfer)
    if transfer.exchange.settings.ping != nil { transfer.watchSilence() }
    driver.start(transfer)
  }

  /// A server may leave a body unread for as long as its response may take. With several requests, the longest of their
  /// timeouts applies.
  private func adjustAcknowledgement(to transfer: LoopTransfer) {
    let patience = max(
      transport.options.acknowledgementTimeout, transfer.exchange.settings.response ?? Self.silenceLimit)
    guard patience != acknowledgementTimeout, patience > acknowledgementTimeout || facts.version != .http2 else {
      return
    }
    acknowledgementTimeout = patience
    socket.limitAcknowledgement(to: patience)
  }

  /// How long the peer may leave everything unacknowledged if the request has no timeout: five minutes.
  private static let silenceLimit: UInt64 = 300_000_000_000

  /// Checks once more for arrived bytes before a connection is reused: the loop may not know of them yet. Returns
  /// whether the connection can be used.
  func staysUsable() -> Bool {
    defer { isKnownQuiet = false }
    guard !isClosed, !isKnownQuiet, !socket.isQuiet else { return !isClosed }
    // A TLS record may contain nothing for the driver. While another connection is read, its bytes occupy the memory.
    if socket.isSecure, !loop.isHandlingEvents { socket.receiveInput() }
    if !isClosed, !socket.isQuiet { close() }
    return !isClosed
  }

  /// Schedules sending for the end of the turn, so that the bytes collected until then go out together.
  func noteOutput() {
    guard !hasOutput, !isClosed else { return }
    hasOutput = true
    transport.noteOutput(of: self)
  }

  /// Sends the bytes that were collected in this turn.
  func sendOutput() {
    hasOutput = false
    driver?.send()
  }

  /// Marks the connection as idle after a request and its response are complete.
  func becomeIdle() {
    lastDuration = loop.now - lastStart
    isReading = true
    isIdle = true
    transport.pool.released(self)
  }

  /// Whether bytes are received. Otherwise the peer has to wait.
  var isReading: Bool {
    get { !isClosed && socket.isReading }
    set { if !isClosed { socket.isReading = newValue } }
  }

  /// Sends bytes; see ``LayeredSocket/send(_:hasMore:)``.
  func send(_ bytes: UnsafeRawBufferPointer, hasMore: Bool = false) -> Int? { socket.send(bytes, hasMore: hasMore) }

  /// Ends the client's direction after all bytes that were sent.
  func finishSending() { socket.finishSending() }

  /// Whether the network has not yet taken all sent bytes.
  var hasUnsentBytes: Bool { socket.hasUnsentBytes }

  /// Lets the driver continue to send in the next turn.
  func sendInNextTurn() { socket.sendInNextTurn() }

  /// Whether it may open WebSockets over HTTP/2, as far as is known.
  var mayOpenWebSockets: Bool { (driver as? HTTP2Driver)?.mayOpenWebSockets ?? false }

  /// Turns the connection into a stream of bytes, which is no longer used for HTTP.
  ///
  /// - Parameter rest: the bytes after the response.
  func handOver(to upgrade: Upgrade?, _ rest: UnsafeRawBufferPointer) {
    guard let upgrade, case .expected = upgrade.stage.get(on: loop) else { return close() }
    socket.innermost?.endReauthentication()
    let driver = UpgradedDriver(self, upgrade)
    self.driver = driver
    upgrade.stage.set(.open(driver), on: loop)
    driver.receive(rest)
    driver.send()
  }

  /// Closes the connection. A transfer that still uses it fails, unless it can be sent again.
  func close() { fail(HTTPError(.connectionLost, "\(peer): the connection was closed")) }

  /// Closes the connection after giving the peer the chance to read these bytes.
  func close(afterSending last: SendBuffer) {
    if let (socket, unsent) = socket.giveAway(after: last) { transport.linger(socket, of: id, sending: unsent) }
    close()
  }

  /// Closes the connection because of an error, and ends its transfers with it.
  func fail(_ error: HTTPError) {
    guard !isClosed else { return }
    let driver = driver
    isClosed = true
    socket.close()
    self.driver = nil
    transport.closed(id)
    driver?.fail(error)
  }
}

// MARK: - Events

extension Connection: LayeredSocketHandler {
  // The server has asked for a client certificate.
  func run(_ step: HandshakeStep) {
    transport.options.handshakeThreads.submit { [id, jobs = transport.jobs] in
      if step.run() { jobs.submit { $0.pool.openConnection(id)?.socket.ended(step) } }
    }
  }

  func layerIsSecure(_ session: TLSSession) { noteOutput() }

  func layerFailed(_ session: TLSSession, _ error: HTTPError) { fail(error) }

  func received(_ bytes: UnsafeRawBufferPointer) { driver?.receive(bytes) }

  var bodyMemory: UnsafeMutableRawBufferPointer? { driver?.bodyMemory }

  func received(inBodyMemory bytes: UnsafeRawBufferPointer) { driver?.receive(inBodyMemory: bytes) }

  func becameWritable() { noteOutput() }

  func receivedEnd(_ end: InputEnd) {
    guard let driver else { return }
    driver.receiveEnd(end)
    if !driver.outlivesInput { close() }
  }
}
#endif
