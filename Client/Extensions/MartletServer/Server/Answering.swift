import MartletSemantics

/// Answers the requests of a connection, whatever its protocol is: collects bodies, records requests, asks the
/// responder.
struct Answering: Sendable {
  /// The number of the connection.
  let number: Int
  /// The TLS handshake of the connection; nil without TLS.
  let handshake: LoopbackTLS.Handshake?
  let settings: LoopbackServer.Settings
  let state: Awaitable<ServerState>

  /// Records waits for the client; nil without a limit of connections, because none has to give way then.
  var waits: ConnectionWaits? {
    settings.limits.connections < .max ? ConnectionWaits(connection: number, state: state) : nil
  }

  /// Calls the closure with the responder's reply to a request. Collected bytes are held until it returns.
  func withReply<Result>(
    to head: ReceivedRequest, body: any ReceivedBody, over stream: any ServerStream,
    _ write: (Reply, ReceivedRequest) throws(WireError) -> Result
  ) throws(WireError) -> Result {
    var received = head
    var heldBytes = 0
    defer { settings.held.remove(heldBytes) }
    if case .collected(let limit) = settings.bodies {
      try collect(body, upTo: limit, into: &received, holding: &heldBytes)
    }
    let recorded = received
    state.update { $0.record(recorded) }
    return try write(try reply(to: LoopbackRequest(received, body: body, stream: stream)), received)
  }

  private func collect(
    _ body: any ReceivedBody, upTo limit: Int, into request: inout ReceivedRequest, holding heldBytes: inout Int
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
    let outcome = ResponderThread<Result<Reply, any Error>>().run(for: request.stream) { [respond = settings.respond] in
      do { return .success(try await respond(request)) } catch { return .failure(error) }
    }
    switch outcome {
    case .success(let reply): return reply
    case .failure(let error as WireError): throw error
    case .failure(let error): return .text("the responder threw: \(error)\n", status: .internalServerError)
    }
  }
}
