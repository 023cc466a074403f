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
      }
    if ending == .reset { socket.resetOnClose() }
    state.update { $0.remove(number) }
    socket.close()
    state.update { state in
      let byServer = ending != nil || state.isStopped
      state.record(byServer ? .server : .client, of: number)
    }
  }

  /// Answers one request after another; returns how the server should end the connection, nil if the client ended it.
  private func serve() -> Reply.Ending? {
    let buffer = WireBuffer(socket)
    if let time = settings.limits.sendTime { socket.limitSending(to: time) }
    do throws(WireError) {
      while let head = try head(from: buffer) {
        let ending = try answer(head, from: buffer)
        guard ending == .keepAlive else { return ending }
      }
      return nil
    } catch {
      return refuse(error)
    }
  }

  private func head(from buffer: WireBuffer) throws(WireError) -> ReceivedRequest? {
    buffer.setLimit(settings.limits.headTime)
    waits?.begin()
    let head = try RequestHeadReader.read(from: buffer, connection: number)
    try waits?.end()
    return head
  }

  /// nil without a limit of connections: then none has to give way.
  private var waits: ConnectionWaits? {
    settings.limits.connections < .max ? ConnectionWaits(connection: number, state: state) : nil
  }

  private func answer(_ head: ReceivedRequest, from buffer: WireBuffer) throws(WireError) -> Reply.Ending {
    var received = head
    let body = try BodyReader(for: head, from: buffer, socket: socket)
    buffer.setLimit(settings.limits.bodyTime)
    buffer.waits = waits
    defer { buffer.waits = nil }
    var heldBytes = 0
    defer { settings.held.remove(heldBytes) }
    if case .collected(let limit) = settings.bodies {
      try collect(body, upTo: limit, into: &received, holding: &heldBytes)
    }
    let recorded = received
    state.update { $0.record(recorded) }

    let reply = try reply(to: LoopbackRequest(received, body: body, socket: socket))
    if let serve = reply.upgrade { return try upgrade(reply.opening(recorded), to: recorded, from: buffer, serve) }
    let ending = try ReplyWriter(socket: socket).write(reply, to: received, awaitsContinue: body.awaitsContinue)
    if ending == .reset { return ending }
    guard ending == .keepAlive else {
      if !body.isAtEnd { socket.closeGently() }
      return ending
    }
    // The next request begins where this body ends.
    while try body.next() != nil {}
    return ending
  }

  /// Opens a WebSocket, and serves it until the closure returns.
  private func upgrade(
    _ reply: Reply, to request: ReceivedRequest, from buffer: WireBuffer,
    _ serve: (LoopbackWebSocket) throws -> Void
  ) throws(WireError) -> Reply.Ending {
    _ = try ReplyWriter(socket: socket).write(reply, to: request)
    buffer.setLimit(nil)
    buffer.waits = nil
    let webSocket = LoopbackWebSocket(buffer, socket)
    try? serve(webSocket)  // An error ends the connection.
    if webSocket.ending != .reset { socket.closeGently() }
    return webSocket.ending
  }

  private func collect(
    _ body: BodyReader, upTo limit: Int, into request: inout ReceivedRequest, holding heldBytes: inout Int
  ) throws(WireError) {
    while let chunk = try body.next() {
      guard request.body.count + chunk.count <= limit else {
        throw .refused(.contentTooLarge, "the server collects bodies of up to \(limit) bytes: see `bodies`")
      }
      guard settings.held.add(chunk.count, upTo: settings.limits.heldBytes) else {
        throw .refused(.serviceUnavailable, "the server holds too many bodies: send this one later")
      }
      heldBytes += chunk.count
      request.body.append(chunk)
    }
    request.trailers = body.trailers
  }

  private func reply(to request: LoopbackRequest) throws(WireError) -> Reply {
    do {
      return try settings.respond(request)
    } catch let error as WireError {
      throw error
    } catch {
      return .text("the responder threw: \(error)\n", status: .internalServerError)
    }
  }

  private func refuse(_ error: WireError) -> Reply.Ending? {
    guard case .refused(let status, let reason) = error else { return nil }
    // A client that ignores the status would otherwise hide its mistake.
    SystemCalls.report("LoopbackServer answered \(status.code): \(reason)")
    let request = ReceivedRequest(method: .get, target: "*", version: .http1_1, fields: [:], connection: number)
    _ = try? ReplyWriter(socket: socket).write(.text(reason + "\n", status: status).closing(), to: request)
    socket.closeGently()
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
    guard state.update({ $0.openCount < limit || $0.makeRoom() }) else { return socket.refuse() }
    guard let number = state.update({ $0.add(socket) }) else { return socket.close() }
    let connection = ServerConnection(number: number, socket: socket, settings: settings, state: state)
    if SystemCalls.startThread({ connection.run() }) { return }
    state.update { $0.remove(number) }
    socket.close()
    state.update { $0.record(.server, of: number) }
  }
}
