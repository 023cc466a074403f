#if os(Linux)
import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The bytes of a connection of HTTP/2, over TCP or TLS. Its thread waits only in ``wait(for:until:sendTime:)``, so
/// that reading and writing do not wait for each other.
final class HTTP2Channel {
  /// Whether the client has ended the connection.
  private(set) var hasEnded = false
  private let socket: ServerSocket
  private let tls: ServerTLS?
  /// The bytes to send, of which the first were sent.
  private var output = Data()
  private var sent = 0
  private var lastSent = ContinuousClock.now

  private static let roomLimit = 256 << 10

  init(_ socket: ServerSocket, _ tls: ServerTLS?) { (self.socket, self.tls) = (socket, tls) }

  /// Whether everything was sent.
  var isEmpty: Bool { sent == output.count }

  var hasRoom: Bool { output.count - sent < Self.roomLimit }

  func append(_ bytes: UnsafeRawBufferPointer) throws(WireError) {
    if isEmpty { lastSent = .now }
    if sent > Self.roomLimit {
      output.removeFirst(sent)
      sent = 0
    }
    guard let tls else { return output.append(contentsOf: bytes) }
    guard tls.write(bytes) else { throw .peerGone }
    output += tls.takeOutgoing()
  }

  func append(_ data: Data) throws(WireError) {
    let failure: WireError? = data.withUnsafeBytes { bytes in
      do throws(WireError) { try append(bytes) } catch { return error }
      return nil
    }
    if let failure { throw failure }
  }

  /// Sends what the socket takes.
  func flush() throws(WireError) {
    while !isEmpty, !hasEnded {
      let count = output.withUnsafeBytes { bytes in
        send(
          socket.descriptor, bytes.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL | MSG_DONTWAIT)
        )
      }
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { return }
      guard count > 0 else {
        hasEnded = true
        return
      }
      sent += count
      lastSent = .now
    }
    (output, sent) = (Data(), 0)
  }

  /// Sends everything, and calls the closure with the bytes that arrive in the meantime.
  func drain(_ take: (UnsafeRawBufferPointer) -> Void) throws(WireError) {
    while !isEmpty, !hasEnded {
      try flush()
      var watched = pollfd(fd: socket.descriptor, events: Int16(POLLIN | POLLOUT), revents: 0)
      guard !isEmpty, poll(&watched, 1, -1) >= 0 else { continue }
      if watched.revents & Int16(POLLIN | POLLHUP | POLLERR) != 0 { receive(take) }
    }
  }

  /// Blocks until bytes arrive, the socket takes more of them, or the descriptor is readable.
  ///
  /// - Returns: false if the deadline has passed, or the client has taken nothing for this time.
  func wait(
    for descriptor: Int32, until deadline: ContinuousClock.Instant?, sendTime: Duration?
  ) throws(WireError) -> Bool {
    let sending = isEmpty ? nil : sendTime.map { lastSent + $0 }
    let limit = [deadline, sending].compactMap(\.self).min()
    var watched = [
      pollfd(fd: socket.descriptor, events: Int16(isEmpty ? POLLIN : POLLIN | POLLOUT), revents: 0),
      pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
    ]
    while true {
      let time = limit.map { ServerSocket.milliseconds($0 - .now) } ?? -1
      let count = poll(&watched, 2, time)
      if count < 0, errno == EINTR { continue }
      return count != 0
    }
  }

  /// Calls the closure with the bytes that have arrived.
  func receive(_ take: (UnsafeRawBufferPointer) -> Void) {
    withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { scratch in
      let count = recv(socket.descriptor, scratch.baseAddress, scratch.count, Int32(MSG_DONTWAIT))
      if count < 0, errno == EAGAIN || errno == EINTR { return }
      guard count > 0 else { return hasEnded = true }
      let bytes = UnsafeRawBufferPointer(rebasing: scratch[..<count])
      guard let tls else { return take(bytes) }
      tls.receive(bytes)
      decrypt(tls, take)
    }
  }

  /// Ends the sending side, and waits for the client to do the same.
  func closeGently() {
    if let tls {
      tls.close()
      output += tls.takeOutgoing()
      try? flush()
    }
    socket.closeGently()
  }

  /// Calls the closure with bytes that arrived with the end of the handshake.
  func receivePending(_ take: (UnsafeRawBufferPointer) -> Void) { if let tls { decrypt(tls, take) } }

  private func decrypt(_ tls: ServerTLS, _ take: (UnsafeRawBufferPointer) -> Void) {
    withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { scratch in
      while true {
        switch tls.read(into: scratch) {
        case .bytes(let count): take(UnsafeRawBufferPointer(rebasing: scratch[..<count]))
        case .needsMore: return output += tls.takeOutgoing()
        case .end: return hasEnded = true
        }
      }
    }
  }
}
#endif
