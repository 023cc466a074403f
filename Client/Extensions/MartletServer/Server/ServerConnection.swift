import MartletSemantics

/// Serves one connection, from accept to close, on a separate thread.
struct ServerConnection {
  let number: Int
  let socket: ServerSocket
  let settings: LoopbackServer.Settings
  let state: Awaitable<ServerState>

  func run() {
    let ending: Reply.Ending? =
      switch settings.accept(number) {
      case .serve: serve()
      case .close: .closeSilently
      case .reset: .reset
      case .stall: stall()
      case .refuseHandshake: refuseHandshake()
      }
    if ending == .reset { socket.resetOnClose() }
    state.update { $0.remove(number) }
    socket.close()
    state.update { state in
      let byServer = ending != nil || state.isStopped
      state.record(byServer ? .server : .client, of: number)
    }
  }

  /// Reads nothing until the client gives up.
  private func stall() -> Reply.Ending? {
    try? socket.wait(for: nil)
    return nil
  }

  /// Answers the beginning of a handshake with the alert `handshake_failure` (RFC 8446 §6.2).
  private func refuseHandshake() -> Reply.Ending? {
    guard socket.waitForBytes(until: .now + .seconds(60)) else { return .closeSilently }
    try? socket.send(Data([21, 3, 3, 0, 2, 2, 40]))
    socket.closeGently()
    return .closeSilently
  }

  /// Serves the protocol of the connection; returns how the server should end it, nil if the client ended it.
  private func serve() -> Reply.Ending? {
    if let time = settings.limits.sendTime { socket.limitSending(to: time) }
    var stream: any ServerStream = socket
    var handshake: LoopbackTLS.Handshake?
    #if os(Linux)
    if let context = settings.tls {
      guard let tls = ServerTLS(context) else { return .closeSilently }
      let secured = TLSStream(tls, over: socket)
      guard (try? secured.handshake(until: settings.limits.headTime.map { .now + $0 })) != nil else {
        return .closeSilently
      }
      handshake = tls.facts
      if tls.isHTTP2 { return serveHTTP2(HTTP2Channel(socket, tls), answering(after: handshake), after: Data()) }
      stream = secured
    }
    #endif
    let ending = ConnectionAnswers(stream: stream, answering: answering(after: handshake)).run()
    #if os(Linux)
    if case .http2(let bytes) = ending {
      return serveHTTP2(HTTP2Channel(socket, nil), answering(after: nil), after: bytes)
    }
    #endif
    guard case .ended(let ending) = ending else { return .closeSilently }
    if let ending, ending != .reset { stream.finish() }
    return ending
  }

  private func answering(after handshake: LoopbackTLS.Handshake?) -> Answering {
    Answering(number: number, handshake: handshake, settings: settings, state: state)
  }

  #if os(Linux)
  private func serveHTTP2(_ channel: HTTP2Channel, _ answering: Answering, after bytes: Data) -> Reply.Ending? {
    guard let connection = HTTP2Connection(channel, answering) else { return .closeSilently }
    guard let ending = try? connection.run(after: bytes) else { return nil }
    if ending != .reset { channel.closeGently() }
    return ending
  }
  #endif
}

/// Answers the requests of a connection of HTTP/1.1, one after another.
struct ConnectionAnswers {
  let stream: any ServerStream
  let answering: Answering

  enum Outcome {
    /// How the server should end the connection; nil if the client ended it.
    case ended(Reply.Ending?)
    /// The client has begun with HTTP/2, with these bytes.
    case http2(Data)
  }

  func run() -> Outcome {
    let buffer = WireBuffer(stream)
    do throws(WireError) {
      while let head = try head(from: buffer) {
        let ending = try answer(head, from: buffer)
        guard ending == .keepAlive else { return .ended(ending) }
      }
      return .ended(nil)
    } catch {
      if case .preface = error {
        return .http2(Data("\(RequestHeadReader.prefaceLine)\r\n".utf8) + buffer.takeRest())
      }
      return .ended(refuse(error))
    }
  }

  private func head(from buffer: WireBuffer) throws(WireError) -> ReceivedRequest? {
    buffer.setLimit(answering.settings.limits.headTime)
    answering.waits?.begin()
    let head = try RequestHeadReader.read(from: buffer, for: answering)
    try answering.waits?.end()
    return head
  }

  private func answer(_ head: ReceivedRequest, from buffer: WireBuffer) throws(WireError) -> Reply.Ending {
    let body = try BodyReader(for: head, from: buffer, stream: stream)
    buffer.setLimit(answering.settings.limits.bodyTime)
    buffer.waits = answering.waits
    defer { buffer.waits = nil }
    return try answering.withReply(to: head, body: body, over: stream) { reply, request throws(WireError) in
      if let serve = reply.upgrade { return try upgrade(reply.opening(request), to: request, from: buffer, serve) }
      let ending = try ReplyWriter(stream: stream).write(reply, to: request, awaitsContinue: body.awaitsContinue)
      if ending == .reset { return ending }
      guard ending == .keepAlive else {
        if !body.isAtEnd { stream.closeGently() }
        return ending
      }
      // The next request begins where this body ends.
      while try body.next() != nil {}
      return ending
    }
  }

  /// Opens a WebSocket, and serves it until the closure returns.
  private func upgrade(
    _ reply: Reply, to request: ReceivedRequest, from buffer: WireBuffer,
    _ serve: (LoopbackWebSocket) throws -> Void
  ) throws(WireError) -> Reply.Ending {
    _ = try ReplyWriter(stream: stream).write(reply, to: request)
    buffer.setLimit(nil)
    buffer.waits = nil
    let webSocket = LoopbackWebSocket(buffer, stream)
    try? serve(webSocket)  // An error ends the connection.
    if webSocket.ending != .reset { stream.closeGently() }
    return webSocket.ending
  }

  private func refuse(_ error: WireError) -> Reply.Ending? {
    guard case .refused(let status, let reason) = error else { return nil }
    // A client that ignores the status would otherwise hide its mistake.
    SystemCalls.report("LoopbackServer answered \(status.code): \(reason)")
    let request = ReceivedRequest(
      method: .get, target: "*", version: .http1_1, fields: [:], connection: answering.number,
      handshake: answering.handshake)
    _ = try? ReplyWriter(stream: stream).write(.text(reason + "\n", status: status).closing(), to: request)
    stream.closeGently()
    return .closeSilently
  }
}

/// Records when a connection waits for bytes of its client, and may have to give way to another one.
struct ConnectionWaits: Sendable {
  let connection: Int
  let state: Awaitable<ServerState>

  func begin() { state.update { $0.beginWaiting(connection) } }

  /// - Throws: an error if the connection had to give way.
  func end() throws(WireError) {
    guard state.update({ $0.endWaiting(connection) }) else { throw .peerGone }
  }
}

/// Accepts connections on a separate thread, and starts a thread for each.
struct Acceptor: Sendable {
  let listener: Int32
  let settings: LoopbackServer.Settings
  let state: Awaitable<ServerState>

  func run() {
    while true {
      let descriptor = SystemCalls.acceptConnection(on: listener)
      if descriptor >= 0 {
        start(ServerSocket(accepted: descriptor))
      } else if state.value.isStopped {
        break
      } else if SystemCalls.hasNoDescriptorsLeft {
        // Connections stay in the system's queue until a descriptor is closed.
        SystemCalls.blockThread(milliseconds: 10)
      }
    }
    SystemCalls.closeDescriptor(listener)
  }

  private func start(_ socket: ServerSocket) {
    let limit = settings.limits.connections
    guard state.update({ $0.openCount < limit || $0.makeRoom() }) else {
      return socket.refuse(tls: settings.tls != nil)
    }
    guard let number = state.update({ $0.add(socket) }) else { return socket.close() }
    let connection = ServerConnection(number: number, socket: socket, settings: settings, state: state)
    if SystemCalls.startThread({ connection.run() }) { return }
    state.update { $0.remove(number) }
    socket.close()
    state.update { $0.record(.server, of: number) }
  }
}
