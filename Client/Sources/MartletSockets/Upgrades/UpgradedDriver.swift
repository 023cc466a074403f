#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Carries the bytes of a connection that is not used for HTTP any more. It belongs to the loop's thread.
final class UpgradedDriver: ConnectionDriver, UpgradeCarrier {
  private let connection: Connection  // which releases its driver when it is closed
  private let upgrade: Upgrade
  /// The data that is being sent.
  private var chunk = UploadChunk()
  private var hasInputEnded = false
  /// Whether the peer was notified that nothing follows the sent data.
  private var isFinishing = false
  private var hasOutputEnded = false
  /// When bytes were sent last.
  private var lastSending: UInt64 = 0
  private(set) var hasAnswer = true
  /// Whether the last answer began fast.
  private var isAnswering = false

  init(_ connection: Connection, _ upgrade: Upgrade) {
    self.connection = connection
    self.upgrade = upgrade
  }

  func receive(_ bytes: UnsafeRawBufferPointer) {
    guard !bytes.isEmpty, !hasInputEnded else { return }
    if !hasAnswer {
      isAnswering = connection.loop.now &- lastSending < connection.transport.options.fastAnswer
    }
    hasAnswer = true
    upgrade.input.push(.bytes(Data(bytes)))
    if upgrade.input.pauseIfFull(adding: 0) { connection.isReading = false }
  }

  var answeringSocket: LayeredSocket? { isAnswering && connection.isReading ? connection.socket : nil }

  func noteSilence() { isAnswering = false }

  func resumeReading() { if !hasInputEnded { connection.isReading = true } }

  var outlivesInput: Bool { !hasOutputEnded }

  func receiveEnd(_ end: InputEnd) {
    guard !hasInputEnded else {
      return connection.fail(
        lost("the connection failed while bytes were sent, after the peer had ended its direction"))
    }
    hasInputEnded = true
    connection.isReading = false
    switch end {
    case .clean: return upgrade.input.push(.end)
    case .cutOff: lose("the connection ended without TLS's close_notify")
    case .failed(let code): lose("the connection failed (\(String(cString: strerror(code))))")
    }
  }

  func send() {
    if isFinishing { return finishOutput() }
    var turnLimit = TurnLimit()
    var sentCount = 0
    while !hasOutputEnded {
      guard turnLimit.allowsMore(after: sentCount) else { return connection.sendInNextTurn() }
      sentCount = 0
      if chunk.isSent, !takeChunk() { return }
      guard let sent = chunk.withUnsentBytes({ connection.send($0) }) else {
        upgrade.failWriting(lost("the peer takes no more bytes"))
        return endOutput()
      }
      chunk.markSent(sent)
      sentCount += sent
      (lastSending, hasAnswer) = (connection.loop.now, false)
      guard chunk.isSent else { return }
    }
  }

  /// Takes the data to send next. Returns false if there is none now.
  private func takeChunk() -> Bool {
    chunk = UploadChunk()
    switch upgrade.output.next() {
    case .chunk(let data): chunk = UploadChunk(data)
    case .nothingYet: return false
    case .end:
      isFinishing = true
      connection.finishSending()
      finishOutput()
      return false
    }
    return true
  }

  /// Ends the output if the network has taken all of it. Otherwise there will be room.
  private func finishOutput() { if !connection.hasUnsentBytes { endOutput() } }

  private func endOutput() {
    hasOutputEnded = true
    chunk = UploadChunk()
    if hasInputEnded { connection.close() }
  }

  private func lose(_ reason: String) { fail(lost(reason)) }

  private func lost(_ reason: String) -> HTTPError {
    HTTPError(.connectionLost, "\(connection.peer): \(reason)", phase: .receiving)
  }

  func fail(_ error: HTTPError) {
    hasOutputEnded = true
    upgrade.failWriting(error)  // first: a reader that has the error may write at once
    upgrade.input.push(.failed(error))
    upgrade.stage.set(.over, on: connection.loop)
  }

  func close(sendingRest: Bool) { connection.close() }

  // It belongs to one user: no request gets it.
  func start(_ transfer: LoopTransfer) { connection.transport.sendElsewhere(transfer) }
  func continueUpload(of transfer: LoopTransfer) {}
  func resumeReading(for transfer: LoopTransfer) {}
  func release(_ transfer: LoopTransfer) {}
}
#endif
