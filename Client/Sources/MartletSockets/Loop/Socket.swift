#if os(Linux)
import CSockets
import MartletEngine
@_spi(Toolkit) import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The events of a socket that a loop watches.
struct SocketInterest: OptionSet {
  let rawValue: UInt32
  static let read = SocketInterest(rawValue: martlet_readable)
  static let write = SocketInterest(rawValue: martlet_writable)
}

/// Receives the events of a socket. Called on the loop's thread.
protocol SocketHandler: AnyObject {
  func socketIsReadable(_ socket: Socket)
  func socketIsWritable(_ socket: Socket)
  /// The loop cannot watch the socket.
  func socketFailed(_ socket: Socket, _ code: Int32)
}

/// A non-blocking stream socket of a loop. It is used and closed on the loop's thread.
final class Socket {
  let descriptor: Int32
  private(set) var isOpen = true
  /// The events to watch. The loop applies them at the end of its turn.
  var interest: SocketInterest = [] {
    didSet {
      guard !isChanged, interest != watched, isOpen else { return }
      isChanged = true
      loop.noteChange(of: self)
    }
  }
  /// The events that epoll watches.
  var watched: SocketInterest = []
  /// Whether the loop has noted that the interest changed.
  var isChanged = false
  weak var handler: (any SocketHandler)?
  private(set) var slot = 0
  private let loop: EventLoop

  /// Makes a socket; nil if the system has none left; `errno` then has the reason.
  ///
  /// The last descriptors of the process are left to others: libdispatch stops a program whose threads it cannot look
  /// at, which it does once a second, by opening a file.
  ///
  /// - Parameter family: the family of its addresses: `AF_INET`, `AF_INET6` or `AF_UNIX`.
  convenience init?(family: Int32, on loop: EventLoop) {
    let descriptor = martlet_make_socket(family)
    guard descriptor >= 0 else { return nil }
    guard martlet_leaves_descriptors(descriptor, 4) else {
      CSockets.close(descriptor)
      errno = EMFILE
      return nil
    }
    if family != AF_UNIX { martlet_set_tcp_options(descriptor) }
    self.init(owning: descriptor, on: loop)
  }

  /// Takes over a non-blocking descriptor.
  init(owning descriptor: Int32, on loop: EventLoop) {
    self.descriptor = descriptor
    self.loop = loop
    slot = loop.add(self)
  }

  deinit { if isOpen { CSockets.close(descriptor) } }

  /// Closes it. Nothing is reported afterwards.
  func close() {
    guard isOpen else { return }
    isOpen = false
    loop.remove(self)
    CSockets.close(descriptor)
  }
}

// MARK: - System calls

extension Socket {
  /// The result of sending or receiving.
  enum Transferred: Equatable {
    /// This many bytes, at least one.
    case bytes(Int)
    /// The socket is not ready.
    case notReady
    /// The peer sends no more.
    case end
    /// It failed, with an error number.
    case failed(Int32)

    /// The number of bytes.
    var count: Int { if case .bytes(let count) = self { count } else { 0 } }
  }

  /// Sets the local address; the system chooses a port when it connects. Returns an error number, or nil on success.
  func bind(to address: IPAddress) -> Int32? {
    var one: Int32 = 1
    // Otherwise `bind` would reserve a port of the address for each connection, so that the ports would limit the
    // number of connections, whatever their destinations.
    setsockopt(descriptor, Int32(IPPROTO_IP), IP_BIND_ADDRESS_NO_PORT, &one, socklen_t(MemoryLayout<Int32>.size))
    let code = SocketAddress(address, port: 0).withSockaddr { CSockets.bind(descriptor, $0, $1) }
    return code == 0 ? nil : errno
  }

  /// Sets the class of its packets. Returns an error number, or nil on success.
  func set(_ serviceClass: ServiceClass, family: Int32) -> Int32? {
    let code = martlet_set_codepoint(descriptor, family, Int32(serviceClass.codepoint))
    return code == 0 ? nil : errno
  }

  /// Begins to connect. Returns 0 if it is connected, `EINPROGRESS` if the socket becomes writable once the result is
  /// known, or another error number.
  func connect(to address: UnsafePointer<sockaddr>, _ size: socklen_t) -> Int32 {
    guard CSockets.connect(descriptor, address, size) != 0 else { return 0 }
    return errno == EINTR ? EINPROGRESS : errno  // After a signal, connecting continues (POSIX).
  }

  /// The result of connecting: 0 on success, otherwise an error number.
  var connectionError: Int32 { martlet_socket_error(descriptor) }

  /// Receives into a buffer that must not be empty.
  func receive(into room: UnsafeMutableRawBufferPointer) -> Transferred {
    while true {
      let count = recv(descriptor, room.baseAddress, room.count, 0)
      if count > 0 { return .bytes(count) }
      if count == 0 { return .end }
      if errno == EAGAIN || errno == EWOULDBLOCK { return .notReady }
      if errno != EINTR { return .failed(errno) }
    }
  }

  /// Whether there is nothing to receive, not even the end.
  var isQuiet: Bool {
    var byte: UInt8 = 0
    return recv(descriptor, &byte, 1, Int32(MSG_PEEK)) < 0 && errno == EAGAIN
  }

  /// Waits until something arrives, for at most `time` nanoseconds, unless another descriptor becomes readable. Returns
  /// whether something has arrived, which may be the end.
  func waitForInput(upTo time: UInt64, unless interrupt: Int32) -> Bool {
    martlet_wait_for_input(descriptor, interrupt, Int(time)) != 0
  }

  /// Sends bytes, at least one. If the peer has closed the connection, that is an error, never a signal.
  ///
  /// - Parameter hasMore: whether more bytes follow at once, so that the system may wait for them.
  func send(_ bytes: UnsafeRawBufferPointer, hasMore: Bool = false) -> Transferred {
    let flags = Int32(MSG_NOSIGNAL) | (hasMore ? Int32(MSG_MORE) : 0)
    while true {
      let count = CSockets.send(descriptor, bytes.baseAddress, bytes.count, flags)
      if count >= 0 { return .bytes(count) }
      if errno == EAGAIN || errno == EWOULDBLOCK { return .notReady }
      if errno != EINTR { return .failed(errno) }
    }
  }

  /// Fails the connection when the peer has acknowledged nothing for `time` nanoseconds (RFC 5482 §3.1), neither bytes
  /// nor probes. A peer without room for more bytes must take some in this time. It has no effect on a Unix socket.
  func limitAcknowledgement(to time: UInt64) {
    // The system takes a signed number, and ignores one that is negative.
    martlet_limit_acknowledgement(descriptor, UInt32(Int32(clamping: time / 1_000_000)))
  }

  /// Ends the direction to the peer after all sent bytes.
  func finishSending() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

  var localPort: Int { Int(martlet_local_port(descriptor)) }
}
#endif
