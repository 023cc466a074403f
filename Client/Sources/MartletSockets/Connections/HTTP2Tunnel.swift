#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics
import Synchronization

/// Carries the bytes of a WebSocket over a stream of HTTP/2 (RFC 8441 §5). END_STREAM ends a direction, and RST_STREAM
/// both. It belongs to the loop's thread.
///
/// A slow reader holds back the stream's window but never the connection's, so that other requests continue. Bytes for
/// a slow reader are collected in one piece, because a server may divide a window into very many frames.
final class HTTP2Tunnel: HTTP2StreamHandler, UpgradeCarrier {
  let id: Int32
  private let upgrade: Upgrade
  private unowned let driver: HTTP2Driver
  /// The data that is being sent.
  private var chunk = UploadChunk()
  /// How many received bytes still occupy the window.
  private var unread = 0
  /// Whether the reader is behind, and the bytes that have arrived since.
  private var isPaused = false
  private var waiting = Data()
  private var hasInputEnded = false
  /// When its user left; nil before.
  private var released: UInt64?
  /// Resets the stream if the server neither ends it after the client has, nor makes room for the client's last bytes.
  private lazy var timer = HeapTimer { [weak self] in self?.endTookTooLong() }

  init(_ id: Int32, _ upgrade: Upgrade, of driver: HTTP2Driver) {
    (self.id, self.upgrade, self.driver) = (id, upgrade, driver)
    upgrade.isShared.store(true, ordering: .relaxed)
  }

  // MARK: - Received

  func received(body bytes: UnsafeRawBufferPointer) {
    guard released == nil else { return }
    unread += bytes.count
    if isPaused { return waiting.append(contentsOf: bytes) }
    upgrade.input.push(.bytes(Data(bytes)))
    pauseOrGiveBack()
  }

  func resumeReading() {
    isPaused = false
    pushWaiting()
    pauseOrGiveBack()
  }

  private func pauseOrGiveBack() {
    isPaused = upgrade.input.pauseIfFull(adding: 0)
    guard !isPaused, unread > 0 else { return }
    driver.consumed(unread, of: id)
    unread = 0
  }

  private func pushWaiting() {
    guard !waiting.isEmpty else { return }
    upgrade.input.push(.bytes(waiting))
    waiting = Data()
  }

  func receivedEnd() {
    guard !hasInputEnded else { return }
    hasInputEnded = true
    pushWaiting()
    upgrade.input.push(.end)
    if released != nil { driver.resume(id) }
  }

  func ended(trailers: [UInt8]) {
    receivedEnd()
    over(HTTPError(.connectionLost, "the stream has ended", phase: .sending))
  }

  func failed(_ failure: HTTP2Failure) {
    upgrade.failWriting(failure.error)  // first: a reader that has the error may write at once
    if !hasInputEnded {
      pushWaiting()
      upgrade.input.push(.failed(failure.error))
    }
    over(failure.error)
  }

  private func over(_ error: HTTPError) {
    driver.loop.set(timer, to: .max)
    upgrade.failWriting(error)
    upgrade.stage.set(.over, on: driver.loop)
    driver.ended(self)
  }

  // The head opened the tunnel.
  func received(informational head: [UInt8], status: Int) {}
  func received(head: [UInt8], status: Int, contentLength: Int64?) {}

  // MARK: - Sent

  func send() { driver.resume(id) }

  func readBody(into room: UnsafeMutableRawBufferPointer) -> HTTP2BodyPart {
    linger()  // The server has made room.
    var count = 0
    while count < room.count {
      count += chunk.copy(into: UnsafeMutableRawBufferPointer(rebasing: room[count...]))
      guard chunk.isSent else { continue }
      switch upgrade.output.next() {
      case .chunk(let data): chunk = UploadChunk(data)
      case .nothingYet:
        chunk = UploadChunk()
        if mayReset { driver.loop.set(timer, to: driver.loop.now) }
        return count > 0 ? .bytes(count) : .later
      case .end: return .end(count)
      }
    }
    return .bytes(count)
  }

  func sentRequest() {}

  // MARK: - The end

  /// If the user has ended its direction or has left, bytes that were written before are still sent, and the server
  /// gets time to end its own direction.
  func close(sendingRest: Bool) {
    released = driver.loop.now
    waiting = Data()
    guard sendingRest else { return driver.reset(self) }
    linger()
    driver.resume(id)
  }

  /// Gives the server time once the user has left. The time is bounded even if the server makes a little room again and
  /// again.
  private func linger() {
    guard let released else { return }
    let time = driver.transport.options.lingeringTime
    driver.loop.set(timer, to: min(driver.loop.now &+ time, released &+ Self.lingeringLimit &* time))
  }

  /// The maximum duration of an abandoned stream, as a multiple of the lingering time.
  private static let lingeringLimit: UInt64 = 30

  /// Whether only the end of this direction is missing once all written bytes are on their way: the user has left
  /// without ending it, and the server has ended its own direction.
  private var mayReset: Bool { released != nil && hasInputEnded && upgrade.isLeaving.load(ordering: .relaxed) }

  private func endTookTooLong() {
    upgrade.failWriting(CancellationError())
    driver.reset(self)
  }
}
#endif
