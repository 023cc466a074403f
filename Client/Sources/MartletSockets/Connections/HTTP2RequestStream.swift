#if os(Linux)
@_spi(Transports) import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// One request over HTTP/2: it passes everything that its stream receives to its transfer.
final class HTTP2RequestStream: HTTP2StreamHandler {
  let transfer: LoopTransfer
  private(set) var id: Int32 = 0
  private unowned let driver: HTTP2Driver
  /// How many received bytes still occupy the window.
  private var unread = 0
  /// The part of the request's body that is being sent.
  private var chunk = UploadChunk()

  init(_ transfer: LoopTransfer, of driver: HTTP2Driver) {
    self.transfer = transfer
    self.driver = driver
  }

  /// Notes the stream of the request.
  func begin(_ id: Int32) {
    self.id = id
    transfer.indices.stream = Int(id)
  }

  func received(informational head: [UInt8], status: Int) {
    noteHead(head.count)
    transfer.receive(informational: head, status: status)
  }

  func received(head: [UInt8], status: Int, contentLength: Int64?) {
    noteHead(head.count)
    if transfer.exchange.upgrade != nil {
      if 200..<300 ~= status { return driver.openTunnel(over: self, head) }
      if Self.refusals.contains(status), transfer.key.versions == .negotiated {
        return driver.refuse(self, "it answered with the status \(status)")
      }
    }
    if status == LoopTransfer.misdirected { transfer.receiveMisdirection() }
    let hasBody = BodyFraming.hasBody(status: status, answering: transfer.exchange.message.request.method)
    transfer.receive(head: head, length: hasBody ? contentLength : 0)
  }

  /// The statuses with which servers refuse the method CONNECT, or the protocol of an extended CONNECT (RFC 9110
  /// §15.5.6, §15.6.2; RFC 9220 §3 recommends 501). Over HTTP/1.1, the same request is a GET.
  private static let refusals = [405, 501]

  private func noteHead(_ count: Int) {
    driver.beganResponse()
    transfer.noteFirstByte()
    transfer.count(headBytes: count)
  }

  func received(body: UnsafeRawBufferPointer) {
    guard transfer.receive(body: body) else { return driver.reset(self) }
    unread += body.count
    if !transfer.pauseIfNeeded() { giveBackWindow() }
  }

  /// Returns the unread bytes to the window, because the reader has made room: the server may send as many again.
  func giveBackWindow() {
    guard unread > 0 else { return }
    driver.consumed(unread, of: id)
    unread = 0
  }

  func ended(trailers: [UInt8]) {
    transfer.count(headBytes: trailers.count)
    transfer.receiveEnd(trailers: trailers)
    driver.ended(self)
  }

  func failed(_ failure: HTTP2Failure) { driver.ended(self, failure) }

  func readBody(into room: UnsafeMutableRawBufferPointer) -> HTTP2BodyPart {
    guard !transfer.holdsBody, transfer.exchange.upgrade == nil else { return .later }
    var count = 0
    while count < room.count {
      let copied = chunk.copy(into: UnsafeMutableRawBufferPointer(rebasing: room[count...]))
      if copied > 0 { transfer.noteSent(copied) }
      count += copied
      guard chunk.isSent else { continue }
      if transfer.hasTakenBody { return .end(count) }
      switch transfer.nextChunk() {
      case .chunk(let data): chunk = UploadChunk(data)
      case .nothingYet: return count > 0 ? .bytes(count) : .later
      case .end(let trailers):
        guard !trailers.isEmpty else { return .end(count) }
        var fields = HTTP2Fields()
        fields.append(trailers)
        guard fields.listSize <= HTTP2RequestHead.listLimit else { return failTrailers() }
        return .endWithTrailers(count, fields)
      }
    }
    return .bytes(count)
  }

  private func failTrailers() -> HTTP2BodyPart {
    transfer.fail(.invalidRequest, "the request's trailers are larger than \(HTTP2RequestHead.listLimit >> 10) KiB")
    driver.ended(self)
    return .failed
  }

  func sentRequest() { transfer.sentRequest() }
}
#endif
