import MartletSemantics

/// One connection, from accept to close, on a thread of its own.
struct ServerConnection {
  let number: Int
  let socket: Socket
  let settings: LoopbackServer.Settings
  let ledger: Watched<ServerLedger>

  func run() {
    let ending: Reply.Ending? =
      switch settings.accept(number) {
      case .serve: serve()
      case .close: .closeSilently
      case .reset: .reset
      }
    if ending == .reset { socket.resetOnClose() }
    ledger.update { $0.strikeOut(number) }
    socket.close()
    ledger.update { ledger in
      let byServer = ending != nil || ledger.isStopped
      ledger.ends[number] = byServer ? .server : .client
    }
  }

  /// Answers one request after another; returns how the server wants the connection ended, nil if the client ended it.
  private func serve() -> Reply.Ending? {
    let buffer = WireBuffer(socket)
    do throws(WireError) {
      while let head = try RequestHeadReader.read(from: buffer, connection: number) {
        let ending = try answer(head, from: buffer)
        guard ending == .keepAlive else { return ending }
      }
      return nil
    } catch {
      return refuse(error)
    }
  }

  private func answer(_ head: ReceivedRequest, from buffer: WireBuffer) throws(WireError) -> Reply.Ending {
    var received = head
    let body = try BodyReader(for: head, from: buffer, socket: socket)
    if case .collected(let limit) = settings.bodies { try collect(body, upTo: limit, into: &received) }
    let recorded = received
    if settings.recording == .everything { ledger.update { $0.requests.append(recorded) } }

    let reply = try reply(to: LoopbackRequest(received, body: body, socket: socket))
    let ending = try ReplyWriter(socket: socket).write(reply, to: received, isBodyUnasked: body.isUnasked)
    if ending == .reset { return ending }
    guard ending == .keepAlive else {
      if !body.isAtEnd { socket.closeGently() }
      return ending
    }
    // The next request begins where this body ends.
    while try body.next() != nil {}
    return ending
  }

  private func collect(_ body: BodyReader, upTo limit: Int, into request: inout ReceivedRequest) throws(WireError) {
    while let chunk = try body.next() {
      guard request.body.count + chunk.count <= limit else {
        throw .refused(.contentTooLarge, "the server collects bodies of up to \(limit) bytes: see `bodies`")
      }
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
    let request = ReceivedRequest(method: .get, target: "*", version: .http1_1, fields: [:], connection: number)
    _ = try? ReplyWriter(socket: socket).write(.text(reason + "\n", status: status).closing(), to: request)
    socket.closeGently()
    return .closeSilently
  }
}
