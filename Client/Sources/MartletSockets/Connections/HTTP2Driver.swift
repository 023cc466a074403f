#if os(Linux)
import CSockets
@_spi(Transports) import MartletEngine
import MartletSemantics

/// Speaks HTTP/2 over a connection: many requests at once. It belongs to the loop's thread.
final class HTTP2Driver: ConnectionDriver {
  private let connection: Connection  // It releases its driver when it is closed.
  private let session: HTTP2Session
  private var places = Places()
  /// Frames that wait to be sent.
  private var outgoing = SendBuffer()
  /// The requests that have failed and may be sent again. The transport gets them when no call to the session is in
  /// progress.
  private var failed: [(transfer: LoopTransfer, failure: HTTP2Failure)] = []
  private var probe = Probe.none
  private var clock = SilenceClock()
  private lazy var probeTimer = HeapTimer { [weak self] in self?.probeIsOverdue() }

  /// The requests and WebSockets on the connection. Each of them is in one of the collections, and has a place that the
  /// pool counts. A place is free as soon as its user is in none of the collections, however the user ended.
  private struct Places {
    /// The requests by the numbers of their streams.
    var streams = NumberTable<HTTP2RequestStream>()
    /// The open WebSockets by the numbers of their streams.
    var tunnels = NumberTable<HTTP2Tunnel>()
    /// The requests that wait: until a connection that was silent for long proves to be alive, or for the server's
    /// SETTINGS, without which no WebSocket can be opened.
    var held: [LoopTransfer] = []
    /// How many places the pool has given, and has not got back.
    private var count = 0

    /// The number of WebSockets that are open or have asked to be.
    var webSocketCount: Int {
      tunnels.count + streams.values.count { $0.transfer.exchange.upgrade != nil }
    }

    /// Adds a place that the pool has given.
    mutating func add() { count += 1 }

    /// Removes a free place. Returns false if there is none.
    mutating func removeFree() -> Bool {
      guard count > streams.count + tunnels.count + held.count else { return false }
      count -= 1
      return true
    }
  }

  /// Whether a PING is testing the connection; any byte answers it.
  private enum Probe {
    case none
    /// Requests wait for the answer.
    case holdsRequests
    /// The answer takes long: requests get other connections.
    case isSuspended
  }

  init(_ connection: Connection) throws(HTTPError) {
    self.connection = connection
    var settings = HTTP2Settings()
    settings.streamWindow = max(Exchange.minimumReadAhead, connection.transport.configuration.readAhead)
    session = try HTTP2Session(peer: connection.peer, settings: settings)
    connection.noteOutput()
  }

  var transport: TransportCore { connection.transport }
}

// MARK: - The requests

extension HTTP2Driver {
  func start(_ transfer: LoopTransfer) {
    places.add()
    let isReused = transfer.timing.reusedConnection && places.streams.isEmpty
    guard isProbed || isReused && silence >= transport.options.silenceLimit else { return submit(transfer) }
    sendProbe()
    places.held.append(transfer)
  }

  private func submit(_ transfer: LoopTransfer) {
    let head: HTTP2RequestHead?
    do throws(HTTPError) {
      head = try transfer.exchange.message.headForHTTP2(to: transfer.exchange.origin)
    } catch { return reject(transfer, error) }
    guard let head else {
      let message = "\(connection.peer): the request was not prepared for HTTP/2"
      return reject(transfer, HTTPError(.other, message, phase: .sending))
    }
    if transfer.exchange.upgrade != nil {
      guard session.hasSettings else { return places.held.append(transfer) }
      guard session.allowsExtendedConnect else {
        return refuse(transfer, "its SETTINGS have no SETTINGS_ENABLE_CONNECT_PROTOCOL")
      }
      guard hasRoomForWebSocket || connection.key.versions == .http2 else {
        transport.sendAgain(transfer, because: .crowded)
        return connection.noteOutput()
      }
    }
    if let refusal = session.refusal(of: head) { return reject(transfer, refusal) }
    let stream = HTTP2RequestStream(transfer, of: self)
    do throws(HTTPError) {
      let id = try session.submit(head, headLimit: transfer.exchange.settings.headerBytes, handler: stream)
      places.streams[Int(id)] = stream
      clock.sent(at: loop.now)
      stream.begin(id)
      transfer.wrote(head.lines)
    } catch {
      // The session takes no more requests.
      transport.pool.drain(connection)
      transport.sendElsewhere(transfer)
    }
    connection.noteOutput()
  }

  /// Fails a request that cannot be sent.
  private func reject(_ transfer: LoopTransfer, _ error: HTTPError) {
    transfer.fail(error)
    connection.noteOutput()
  }

  func send() {
    do throws(HTTPError) {
      try sendFrames()
      report()
      if session.isOver { connection.close() }
    } catch {
      // The GOAWAY says why. The connection is closed first, so that no request gets it again.
      connection.close(afterSending: outgoing)
      report()
    }
  }

  /// Sends the session's frames, within the limits of the turn and the network.
  private func sendFrames() throws(HTTPError) {
    var turnLimit = TurnLimit()
    while true {
      try session.pull(into: &outgoing)
      let count = outgoing.count
      guard count > 0, flush() else { return }
      guard turnLimit.allowsMore(after: count) else { return connection.sendInNextTurn() }
    }
  }

  /// Sends the waiting bytes. Returns whether all of them were sent.
  private func flush() -> Bool {
    guard let count = outgoing.withUnsafeBytes({ connection.send($0) }) else {
      outgoing = SendBuffer()  // The server takes no more; bytes that it sent before are still received.
      return false
    }
    outgoing.consume(count)
    return outgoing.isEmpty
  }

  func continueUpload(of transfer: LoopTransfer) { if let stream = stream(of: transfer) { resume(stream.id) } }

  /// Asks a stream's handler again for bytes to send.
  func resume(_ stream: Int32) {
    session.resume(stream)
    connection.noteOutput()
  }

  func resumeReading(for transfer: LoopTransfer) { stream(of: transfer)?.giveBackWindow() }

  private func stream(of transfer: LoopTransfer) -> HTTP2RequestStream? {
    transfer.indices.stream.flatMap { places.streams[$0] }
  }

  func release(_ transfer: LoopTransfer) {
    if let index = places.held.firstIndex(where: { $0 === transfer }) {
      places.held.remove(at: index)
    } else if let stream = stream(of: transfer) {
      places.streams[Int(stream.id)] = nil
      session.reset(stream.id)
    } else {
      return
    }
    connection.noteOutput()
  }
}

// MARK: - Whether the connection is alive

extension HTTP2Driver {
  /// How long nothing has arrived.
  private var silence: UInt64 {
    let (now, last) = (transport.loop.now, session.lastReceived ?? connection.facts.opened)
    return now > last ? now - last : 0
  }

  private var isProbed: Bool { if case .none = probe { false } else { true } }

  /// Tests the connection, unless other requests have just received something over it.
  func checkLiveness(after transfer: LoopTransfer, patience: UInt64) {
    let waited = loop.now - max(transfer.lastActivity, transfer.timing.requestStart ?? 0)
    guard !isProbed, silence >= waited / 2 else { return }
    let pause = transport.options.silenceLimit
    if patience == 0 || clock.suspects(at: loop.now, patience: patience, pause: pause) { sendProbe() }
  }

  /// Sends a PING, unless one is unanswered.
  private func sendProbe() {
    guard !isProbed else { return }
    probe = .holdsRequests
    session.ping()
    transport.loop.set(probeTimer, to: transport.loop.now &+ transport.options.probePatience)
    connection.noteOutput()
  }

  /// Reacts to a missing answer: new requests first get other connections, later this one is closed.
  private func probeIsOverdue() {
    switch probe {
    case .none: return
    case .holdsRequests:
      probe = .isSuspended
      transport.loop.set(probeTimer, to: transport.loop.now &+ transport.options.probeTimeout)
      transport.pool.suspend(connection)
      sendHeldElsewhere()
    case .isSuspended:
      let message = "\(connection.peer): the connection is dead: the server did not even answer a PING"
      connection.fail(HTTPError(.connectionLost, message))
    }
  }

  private func probeSucceeded() {
    let wasSuspended = if case .isSuspended = probe { true } else { false }
    endProbe()
    if wasSuspended { transport.pool.resume(connection) }
    submitHeld()
  }

  private func submitHeld() {
    let transfers = places.held
    places.held = []  // No place is released before they are submitted, unless the connection is closed.
    for transfer in transfers where !transfer.isEnded { submit(transfer) }
  }

  private func endProbe() {
    probe = .none
    transport.loop.set(probeTimer, to: .max)
  }

  /// Moves the held requests, of which nothing was sent, to other connections.
  private func sendHeldElsewhere() {
    let transfers = places.held
    places.held = []
    releasePlaces()  // first: if the connection drains, the pool closes it and has room for another one
    for transfer in transfers { transport.sendElsewhere(transfer) }
  }
}

// MARK: - The connection

extension HTTP2Driver {
  func receive(_ bytes: UnsafeRawBufferPointer) {
    do throws(HTTPError) {
      var rest = bytes
      while !rest.isEmpty {
        try session.receive(UnsafeRawBufferPointer(rebasing: rest.prefix(Self.pieceSize)), now: transport.loop.now)
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(Self.pieceSize))
        // Replies are sent early, so that a peer that reads never gets more than this number at the end of the turn.
        if session.replyCount >= Self.heldReplyLimit {
          try session.pull(into: &outgoing)
          _ = flush()
        }
      }
    } catch {
      return send()  // sends a GOAWAY, and closes the connection
    }
    clock.received(at: loop.now, isAwaited: !places.streams.isEmpty)
    if isProbed { probeSucceeded() }
    connection.noteOutput()
  }

  /// How many bytes the session gets at once. A PING frame has 17 bytes, so a piece causes at most 964 replies.
  private static let pieceSize = 16 << 10
  /// The maximum number of replies to PING and SETTINGS that wait for the end of the turn: more are sent early.
  private static let heldReplyLimit = 256

  func receiveEnd(_ end: InputEnd) {
    var error: HTTPError?
    if case .failed(let code) = end {
      let reason = String(cString: strerror(code))
      error = HTTPError(.connectionLost, "\(connection.peer): the connection failed (\(reason))")
    }
    session.connectionEnded(error)
    connection.close()  // first, so that no request gets it again
    report()
  }

  func fail(_ error: HTTPError) {
    session.connectionEnded(error)
    report()
  }

  /// Reports the changes to the transport.
  private func report() {
    if session.hasNewCapacity {
      session.hasNewCapacity = false
      if session.isDraining {
        transport.pool.drain(connection)
      } else {
        transport.pool.changed(connection, capacity: session.streamLimit)
      }
      if session.hasSettings, !isProbed { submitHeld() }
    }
    releasePlaces()
    if !failed.isEmpty { reportFailures() }
    if connection.isClosed {
      endProbe()
      sendHeldElsewhere()
    }
  }

  /// Returns the free places to the pool, which may give them to other requests at once. No call to the session may be
  /// in progress: the pool may also close the connection.
  private func releasePlaces() { while places.removeFree() { transport.pool.released(connection) } }

  private func reportFailures() {
    let again = failed
    failed = []
    for (transfer, failure) in again { transport.handleFailure(failure, of: transfer, isClosing: session.isDraining) }
  }
}

// MARK: - Called by the streams

extension HTTP2Driver {
  var loop: EventLoop { transport.loop }

  func beganResponse() { clock.beganResponse() }

  func consumed(_ count: Int, of stream: Int32) {
    session.consumed(count, of: stream)
    connection.noteOutput()
  }

  func reset(_ stream: HTTP2RequestStream) { release(stream.transfer) }

  func ended(_ stream: HTTP2RequestStream, _ failure: HTTP2Failure? = nil) {
    places.streams[Int(stream.id)] = nil
    if let failure { failed.append((stream.transfer, failure)) }
    connection.noteOutput()
  }
}

// MARK: - WebSockets

extension HTTP2Driver {
  /// Whether it may open WebSockets, as far as is known before the server's SETTINGS.
  var mayOpenWebSockets: Bool {
    guard !session.isDraining else { return false }
    return !session.hasSettings || session.allowsExtendedConnect && hasRoomForWebSocket
  }

  /// Whether less than half of the streams that the server allows are WebSockets. They last, and other requests need
  /// the rest; further WebSockets get connections of their own.
  private var hasRoomForWebSocket: Bool { places.webSocketCount < session.streamLimit / 2 }

  /// Turns a stream into a tunnel after the server has accepted its extended CONNECT. The request ends with the
  /// response's head.
  func openTunnel(over stream: HTTP2RequestStream, _ head: [UInt8]) {
    let transfer = stream.transfer
    guard let upgrade = transfer.exchange.upgrade, case .expected = upgrade.stage.get(on: loop) else {
      return reset(stream)
    }
    let tunnel = HTTP2Tunnel(stream.id, upgrade, of: self)
    // The tunnel takes over the place of its request.
    places.tunnels[Int(tunnel.id)] = tunnel
    places.streams[Int(stream.id)] = nil
    session.openTunnel(stream.id, handler: tunnel)
    upgrade.stage.set(.open(tunnel), on: loop)
    transfer.receive(head: head, length: 0)
    transfer.receiveEnd(trailers: [])
    resume(tunnel.id)  // which may have been written to
  }

  /// Gives up a request for a WebSocket, which may then be sent over HTTP/1.1.
  func refuse(_ stream: HTTP2RequestStream, _ reason: String) {
    places.streams[Int(stream.id)] = nil
    session.reset(stream.id)
    refuse(stream.transfer, reason)
  }

  private func refuse(_ transfer: LoopTransfer, _ reason: String) {
    failed.append((transfer, .noWebSocket(reason, peer: connection.peer)))
    connection.noteOutput()
  }

  func reset(_ tunnel: HTTP2Tunnel) {
    session.reset(tunnel.id)
    ended(tunnel)
  }

  func ended(_ tunnel: HTTP2Tunnel) {
    places.tunnels[Int(tunnel.id)] = nil
    connection.noteOutput()
  }
}
#endif
