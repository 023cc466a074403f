@_spi(Toolkit) import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The socket of an accepted connection. One thread uses it; ``LoopbackServer/stop()`` may shut it down from another.
struct ServerSocket: ServerStream, Sendable {
  let descriptor: Int32

  init(accepted descriptor: Int32) {
    self.descriptor = descriptor
    var on: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  func waitForBytes(until deadline: ContinuousClock.Instant) -> Bool {
    while true {
      var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let count = poll(&watched, 1, Self.milliseconds(deadline - .now))
      if count < 0, errno == EINTR { continue }
      return count != 0
    }
  }

  /// The time in the form that `poll` takes, rounded up; 0 if it has passed.
  static func milliseconds(_ time: Duration) -> Int32 {
    let (seconds, attoseconds) = time.bounded.components
    return time > .zero ? Int32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1) : 0
  }

  /// Makes sending fail if the peer does not read for this long, in whole seconds.
  func limitSending(to time: Duration) {
    var limit = timeval()
    limit.tv_sec = time_t(clamping: time.components.seconds)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  /// Refuses a connection for lack of room, and closes it. A client that expects TLS would not understand a reply.
  func refuse(tls: Bool) {
    if tls { return close() }
    try? send(
      Data("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n".utf8))
    close()
  }

  func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    while true {
      let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
      if count < 0, errno == EINTR { continue }
      return max(count, 0)
    }
  }

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

  func wait(for gate: Gate?) throws(WireError) {
    var watched = [pollfd(fd: descriptor, events: SystemCalls.peerGone, revents: 0)]
    if let gate { watched.append(pollfd(fd: gate.descriptor, events: Int16(POLLIN), revents: 0)) }
    while gate?.isOpen != true {
      let count = poll(&watched, nfds_t(watched.count), -1)
      if count < 0, errno == EINTR { continue }
      if watched[0].revents != 0 || count < 0 { throw .peerGone }
    }
  }

  func pause(for duration: Duration) throws(WireError) {
    let end = ContinuousClock.now + duration
    while true {
      let rest = end - ContinuousClock.now
      guard rest > .zero else { return }
      var watched = pollfd(fd: descriptor, events: SystemCalls.peerGone, revents: 0)
      if poll(&watched, 1, Self.milliseconds(rest)) > 0 { throw .peerGone }
    }
  }

  func finish() {}

  /// Closes the sending side and reads until the peer closes too, sends nothing for two seconds, or ten seconds are
  /// over.
  func closeGently() {
    SystemCalls.shutDown(descriptor, writingOnly: true)
    let end = ContinuousClock.now + .seconds(10)
    withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { scratch in
      while waitForBytes(until: min(end, .now + .seconds(2))), receive(into: scratch) > 0 {}
    }
  }

  /// Makes closing send a reset: the peer gets RST instead of FIN.
  func resetOnClose() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }

  func close() { SystemCalls.closeDescriptor(descriptor) }
}

/// The reason why a connection cannot be served any longer.
enum WireError: Error {
  /// The peer closed the connection, or the server was stopped.
  case peerGone
  /// The request is invalid or not supported, with the status of the reply and the reason.
  case refused(HTTPStatus, String)
  /// The client has begun with HTTP/2, without TLS (RFC 9113 §3.3).
  case preface
}

/// The socket that a server listens on. Its port stays reserved after the server was stopped: otherwise another server
/// of the same test run might get it, and answer requests for the stopped one.
struct ListeningSocket {
  let descriptor: Int32
  let port: Int
  private let reservation: Reservation

  /// Reserves a port by a socket that is bound to it and does not listen: connections are refused.
  private final class Reservation: Sendable {
    let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { SystemCalls.closeDescriptor(descriptor) }
  }

  /// Listens on 127.0.0.1; on a port that the system chooses if 0 is given.
  init(port wanted: Int) throws(LoopbackServerError) {
    guard let number = UInt16(exactly: wanted) else {
      throw LoopbackServerError("invalid port \(wanted): use 0 to 65535")
    }
    let (held, port) = try Self.bound(to: number)
    reservation = Reservation(held)
    self.port = Int(port)
    descriptor = try Self.bound(to: port).descriptor
    guard listen(descriptor, 1024) == 0 else {
      let error = Self.failure("listen", wanted)
      SystemCalls.closeDescriptor(descriptor)
      throw error
    }
  }

  private static func bound(to port: UInt16) throws(LoopbackServerError) -> (descriptor: Int32, port: UInt16) {
    let descriptor = SystemCalls.makeSocket()
    guard descriptor >= 0 else { throw failure("open a socket", Int(port)) }
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
      }
    }
    guard isBound else {
      let error = failure("listen", Int(port))
      SystemCalls.closeDescriptor(descriptor)
      throw error
    }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  private static func failure(_ what: String, _ port: Int) -> LoopbackServerError {
    let reason = String(cString: strerror(errno))
    return LoopbackServerError("cannot \(what) on 127.0.0.1:\(port): \(reason); port 0 chooses a free one")
  }
}
