#if os(Linux)
import CSockets
@_spi(Transports) import MartletEngine
@_spi(Toolkit) import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Speaks HTTP/1.1 over a connection: one request after another (RFC 9112). It belongs to the loop's thread.
final class HTTP1Driver: ConnectionDriver {
  private let connection: Connection  // It releases its driver when it is closed.
  private var transfer: LoopTransfer?
  // SAFETY: as for `TransportCore`.
  @exclusivity(unchecked) private var parser: HTTP1ResponseParser?
  @exclusivity(unchecked) private var state = HTTP1ConnectionState()
  /// Whether parts of the request's body are still to be taken from its source.
  private var hasMoreBody = false
  /// The part of the request's body that is being sent, if it is long.
  private var chunk = UploadChunk()
  /// Bytes to send before the current chunk of the request's body.
  private var outgoing = SendBuffer()
  @exclusivity(unchecked) private var turnLimit = TurnLimit()
  /// How many bytes were sent since ``turnLimit`` was last checked.
  private var sentCount = 0
  /// What the connection does at the end of the turn after a response.
  private var next = Next.nothing

  private enum Next {
    case nothing
    /// It becomes idle, unless another request waits for it.
    case becomeIdle
    /// It takes the next request: the loop has looked for further bytes since the response.
    case takeWaiter
  }

  init(_ connection: Connection) { self.connection = connection }

  private var loop: EventLoop { connection.transport.loop }
}

// MARK: - The request

extension HTTP1Driver {
  func start(_ transfer: LoopTransfer) {
    let exchange = transfer.exchange
    let head: HTTP1RequestHead
    do throws(HTTPError) {
      head = try exchange.message.head.written(for: exchange.message.request, to: exchange.origin)
    } catch {
      transfer.fail(error)
      return connection.becomeIdle()
    }
    // The server may have closed the connection while the caller's check ran.
    let wasOpen = transfer.timing.reusedConnection || connection.facts.secured.map { $0 < loop.now } ?? false
    guard !transfer.timing.reusedConnection || connection.staysUsable() else {
      return connection.transport.sendAgain(transfer, because: .unusable)
    }
    guard state.beginRequest(closesAfterwards: head.closesConnection, wasOpen: wasOpen) else {
      connection.close()
      return connection.transport.sendElsewhere(transfer)
    }
    self.transfer = transfer
    parser = HTTP1ResponseParser(
      answering: exchange.message.request.method, allowsUpgrade: exchange.message.request.fields.contains(.upgrade),
      headLimit: exchange.settings.headerBytes)
    outgoing.append(head.bytes)
    transfer.wrote(head.bytes)
    hasMoreBody = exchange.hasBody
    send()
  }

  func send() {
    if next != .nothing { return finishUse() }
    guard let transfer else { return }
    (turnLimit, sentCount) = (TurnLimit(), 0)
    while true {
      let hasMore = collect(for: transfer)
      guard flush(isFollowed: !chunk.isSent) else { return }
      if !chunk.isSent {
        guard sendChunk(of: transfer) else { return }
      } else if !hasMore {
        break
      }
      // Checked before the turn's limit: a response in the next turn must find that the whole request was sent.
      guard hasMoreBody else { break }
      // A source as fast as the network would keep the other connections waiting.
      guard turnLimit.allowsMore(after: sentCount) else { return connection.sendInNextTurn() }
      sentCount = 0
    }
    if !hasMoreBody {
      state.sentRequest()
      transfer.sentRequest()
    } else if transfer.holdsBody {
      if state.heldBody() == .stopSending { stopUpload() }
    }
  }

  /// The maximum number of bytes of a chunk that is copied in order to be sent together with the preceding bytes.
  private static let copiedChunk = 16 << 10

  /// Collects the next bytes of the request's body until there is enough to send, or the source has no more for now.
  /// Returns whether the source may have more.
  private func collect(for transfer: LoopTransfer) -> Bool {
    while hasMoreBody, chunk.isSent, outgoing.count <= Self.copiedChunk {
      let isChunked = transfer.exchange.message.head.framing == .unknownLength
      if isChunked, !chunk.bytes.isEmpty { outgoing.append(ChunkedWriter.suffix) }
      chunk = UploadChunk()
      switch transfer.nextChunk() {
      case .nothingYet: return false
      case .end(let trailers):
        if isChunked { outgoing.append(ChunkedWriter.end(trailers: trailers)) }
        hasMoreBody = false
      case .chunk(let data):
        if data.count > Self.copiedChunk {
          if isChunked { outgoing.append(ChunkedWriter.prefix(of: data.count)) }
          chunk = UploadChunk(data)
        } else {
          data.withUnsafeBytes { isChunked ? ChunkedWriter.append($0, to: &outgoing) : outgoing.append($0) }
          transfer.noteSent(data.count)
        }
        if !isChunked, transfer.hasTakenBody { hasMoreBody = false }
      }
    }
    return hasMoreBody
  }

  /// Sends the waiting bytes. Returns whether all of them were sent.
  private func flush(isFollowed: Bool) -> Bool {
    guard !outgoing.isEmpty else { return true }
    guard let count = outgoing.withUnsafeBytes({ connection.send($0, hasMore: isFollowed) }) else {
      sendingFailed()
      return false
    }
    if count > 0 { state.sentBytes() }
    sentCount += count
    outgoing.consume(count)
    return outgoing.isEmpty
  }

  /// Sends a long chunk without copying it. Returns whether all of it was sent.
  private func sendChunk(of transfer: LoopTransfer) -> Bool {
    let sent = chunk.withUnsentBytes { connection.send($0) }
    guard let sent else {
      sendingFailed()
      return false
    }
    chunk.markSent(sent)
    sentCount += sent
    transfer.noteSent(sent)
    return chunk.isSent
  }

  /// Handles a server that takes no more of the request. It may have sent a response before, which is still received.
  private func sendingFailed() {
    let loss = state.loss
    switch state.sendingFailed() {
    case .close: lose(loss, with: nil)
    case .stopSending: stopUpload()
    default: break
    }
  }

  private func stopUpload() {
    hasMoreBody = false
    chunk = UploadChunk()
    if !outgoing.isEmpty { outgoing = SendBuffer() }
    transfer?.stopUpload()
  }
}

// MARK: - The response

extension HTTP1Driver {
  func receive(_ bytes: UnsafeRawBufferPointer) {
    let loss = state.loss
    if state.receivedBytes() == .close { return lose(loss, with: nil) }
    guard let transfer else { return }
    transfer.noteFirstByte()
    var position = 0
    do throws(HTTP1Failure) {
      while let event = try parser?.next(in: bytes.bytes, from: &position) {
        guard take(event, of: bytes, for: transfer) else { return release(transfer) }
        if case .end = event { return end(followedBy: UnsafeRawBufferPointer(rebasing: bytes[position...])) }
      }
    } catch {
      return connection.fail(error.error(of: transfer.exchange.peer))
    }
    if transfer.pauseIfNeeded() { connection.isReading = false }
  }

  var bodyMemory: UnsafeMutableRawBufferPointer? {
    guard let transfer, let missing = parser?.missingBody else { return nil }
    return transfer.bodyMemory(forMissing: missing)
  }

  func receive(inBodyMemory bytes: UnsafeRawBufferPointer) {
    let count = Int(min(Int64(bytes.count), parser?.missingBody ?? 0))
    transfer?.receive(inBodyMemory: count)
    guard count > 0 else { return }
    parser?.skipBody(count)
    // Called even without further bytes, because the body may be complete. Surplus bytes are noticed here, before the
    // next request is sent, so they are not mistaken for its response.
    receive(UnsafeRawBufferPointer(rebasing: bytes[count...]))
  }

  /// Returns whether the transfer continues.
  private func take(
    _ event: HTTP1ResponseParser.Event, of bytes: UnsafeRawBufferPointer, for transfer: LoopTransfer
  ) -> Bool {
    switch event {
    case .informational(let lines, let status):
      transfer.count(headBytes: lines.count)
      transfer.receive(informational: lines, status: status)
    case .head(let lines, let status, let framing):
      transfer.count(headBytes: lines.count)
      if parser?.hasUpgraded == true, !state.hasSentRequest { return refuseUpgrade() }
      receiveHead(lines, status: status, framing, for: transfer)
    case .body(let range): return transfer.receive(body: UnsafeRawBufferPointer(rebasing: bytes[range]))
    case .end(let trailers):
      transfer.count(headBytes: trailers.count)
      transfer.receiveEnd(trailers: trailers)
    }
    return true
  }

  /// Fails a response that changes the protocol before the whole request was sent. Returns false.
  private func refuseUpgrade() -> Bool {
    let failure = HTTP1Failure(
      .protocolViolation, "the server changed the protocol before it had the whole request", phase: .waiting)
    connection.fail(failure.error(of: connection.peer))
    return false
  }

  private func receiveHead(_ lines: [UInt8], status: Int, _ framing: BodyFraming, for transfer: LoopTransfer) {
    if state.receivedHead(status: status) == .stopSending { stopUpload() }
    if status == LoopTransfer.misdirected { transfer.receiveMisdirection() }
    let length: Int64? =
      switch framing {
      case .none: 0
      case .length(let length): length
      case .chunked, .untilClose: nil
      }
    transfer.receive(head: lines, length: length)
  }

  /// Makes the connection ready for the next request after a response, or closes it. A request that waits for the
  /// connection is sent at the end of the next turn: bytes that arrive until then were sent before it and cannot be its
  /// response. Before that and before any later request, the connection checks once more for such bytes. Bytes that are
  /// still in transit then cannot be distinguished from a response.
  private func end(followedBy rest: UnsafeRawBufferPointer) {
    let keepsConnection = parser?.keepsConnection ?? false
    let action = state.receivedEnd(
      keepsConnection: keepsConnection, hasUpgraded: parser?.hasUpgraded ?? false, hasExcess: !rest.isEmpty)
    stopUpload()
    let upgrade = transfer?.exchange.upgrade
    if action == .reuse, let seconds = parser?.idleSeconds {
      connection.transport.pool.limitIdling(of: connection, to: seconds)
    }
    transfer = nil
    parser = nil
    switch action {
    case .reuse:
      next = .becomeIdle
      connection.noteOutput()
    case .handOver: connection.handOver(to: upgrade, rest)
    default: connection.close()
    }
  }

  /// Gives up the connection after a response. If another request waits for it, that takes one more turn of the loop. A
  /// request elsewhere does not count: the caller's next request would find the connection in use, and open another.
  private func finishUse() {
    if next == .becomeIdle, connection.transport.pool.hasWaiters(for: connection) {
      next = .takeWaiter
      return connection.sendInNextTurn()
    }
    next = .nothing
    connection.becomeIdle()
  }

  func receiveEnd(_ end: InputEnd) {
    let loss = state.loss
    guard let transfer, var parser else { return }
    do throws(HTTP1Failure) {
      if case .failed = end { throw parser.cutOff }
      transfer.receiveEnd(trailers: try parser.endOfInput(isClean: end == .clean))
      self.transfer = nil
    } catch {
      lose(loss, with: Self.describe(error, end))
    }
  }

  /// Closes the connection; the current request, if any, gets no response.
  private func lose(_ loss: HTTP1ConnectionState.Loss, with failure: HTTP1Failure?) {
    let transfer = transfer
    self.transfer = nil
    connection.close()
    guard let transfer else { return }
    switch loss {
    case .unsent: connection.transport.sendElsewhere(transfer)
    case .stale: connection.transport.handleStaleConnection(of: transfer)
    case .unknown:
      let failure = failure ?? HTTP1Failure(.connectionLost, "the connection was lost", phase: transfer.phase)
      transfer.fail(failure.error(of: transfer.exchange.peer))
    }
  }

  /// Adds the system's description of the error.
  private static func describe(_ error: HTTP1Failure, _ end: InputEnd) -> HTTP1Failure {
    guard case .failed(let code) = end else { return error }
    return HTTP1Failure(error.kind, "\(error.message) (\(String(cString: strerror(code))))", phase: error.phase)
  }

  func continueUpload(of transfer: LoopTransfer) {
    guard transfer === self.transfer else { return }
    if !transfer.holdsBody { state.continueBody() }
    send()
  }

  func resumeReading(for transfer: LoopTransfer) {
    if transfer === self.transfer { connection.isReading = true }
  }

  /// Closes idle connections if a reused connection has received nothing for its request. Connections that were already
  /// idle when the request began are probably dead too.
  func checkLiveness(after transfer: LoopTransfer, patience: UInt64) {
    guard transfer === self.transfer, transfer.timing.reusedConnection, transfer.timing.firstByte == nil,
      let start = transfer.timing.requestStart, loop.now >= start &+ patience
    else { return }
    connection.transport.pool.closeIdle(for: connection.key, idleBefore: start)
  }

  func release(_ transfer: LoopTransfer) {
    guard transfer === self.transfer else { return }
    self.transfer = nil
    connection.close()
  }

  func fail(_ error: HTTPError) {
    let transfer = transfer
    self.transfer = nil
    transfer?.fail(error)
  }
}
#endif
