import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// One accepted connection, used by one thread; ``LoopbackServer/stop()`` alone reaches in, to shut it down.
struct Socket: Sendable {
  let descriptor: Int32

  init(accepted descriptor: Int32) {
    self.descriptor = descriptor
    var on: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Receives what is there, waiting for the first byte; 0 at the end. A reset counts as an end.
  func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    while true {
      let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
      if count < 0, errno == EINTR { continue }
      return max(count, 0)
    }
  }

  /// Sends everything, waiting for as long as the peer does not read.
  func send(_ bytes: UnsafeRawBufferPointer) throws(WireError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let slice = UnsafeRawBufferPointer(rebasing: rest)
      let count = sendto(descriptor, slice.baseAddress, slice.count, SystemCalls.sendFlags, nil, 0)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw .peerGone }
      rest = rest.dropFirst(count)
    }
  }

  func send(_ data: Data) throws(WireError) {
    // `withUnsafeBytes` does not carry typed throws through.
    let failure: WireError? = data.withUnsafeBytes { bytes in
      do throws(WireError) { try send(bytes) } catch { return error }
      return nil
    }
    if let failure { throw failure }
  }

  /// Sleeps until the gate opens; for ever without one.
  ///
  /// - Throws: ``WireError/peerGone`` when the peer closes or the server stops meanwhile.
  func wait(for gate: Gate?) throws(WireError) {
    var watched = [pollfd(fd: descriptor, events: SystemCalls.peerGone, revents: 0)]
    if let gate { watched.append(pollfd(fd: gate.descriptor, events: Int16(POLLIN), revents: 0)) }
    while gate?.isOpen != true {
      let count = poll(&watched, nfds_t(watched.count), -1)
      if count < 0, errno == EINTR { continue }
      if watched[0].revents != 0 || count < 0 { throw .peerGone }
    }
  }

  /// Sleeps for that long, or until the peer closes or the server stops.
  func pause(for duration: Duration) throws(WireError) {
    let end = ContinuousClock.now + duration
    while true {
      let rest = end - ContinuousClock.now
      guard rest > .zero else { return }
      let milliseconds = Int32(
        clamping: rest.components.seconds * 1000 + rest.components.attoseconds / 1_000_000_000_000_000)
      var watched = pollfd(fd: descriptor, events: SystemCalls.peerGone, revents: 0)
      if poll(&watched, 1, max(1, milliseconds)) > 0 { throw .peerGone }
    }
  }

  /// Says goodbye and reads what still comes, so that the peer gets our last bytes instead of a reset: until it closes
  /// too, or sends nothing for two seconds.
  func closeGently() {
    SystemCalls.shutDown(descriptor, writingOnly: true)
    withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { scratch in
      while true {
        var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&watched, 1, 2000) > 0, receive(into: scratch) > 0 else { break }
      }
    }
  }

  /// Makes the coming close a reset: the peer gets RST instead of FIN.
  func resetOnClose() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }

  func close() { SystemCalls.closeDescriptor(descriptor) }
}

/// Why a connection cannot go on.
enum WireError: Error {
  /// The peer closed, or the server was stopped.
  case peerGone
  /// What came is no request: the status to answer with, and the reason.
  case refused(HTTPStatus, String)
}
