#if os(Linux)
import CSockets
import Glibc
import MartletSemantics

/// What a loop watches of a socket.
struct SocketInterest: OptionSet {
  let rawValue: UInt32
  static let read = SocketInterest(rawValue: EPOLLIN.rawValue)
  static let write = SocketInterest(rawValue: EPOLLOUT.rawValue)
}

/// Is told what happens on a socket. Called on the loop's thread.
protocol SocketHandler: AnyObject {
  func socketIsReadable(_ socket: Socket)
  func socketIsWritable(_ socket: Socket)
  /// The loop cannot watch the socket.
  func socketFailed(_ socket: Socket, _ code: Int32)
}

/// A stream socket of a loop that never blocks. It is used and closed on the loop's thread.
final class Socket {
  let descriptor: Int32
  private(set) var isOpen = true
  /// What is to be watched. The loop applies it at the end of its turn.
  var interest: SocketInterest = [] {
    didSet {
      guard !isChanged, interest != watched, isOpen else { return }
      isChanged = true
      loop.noteChange(of: self)
    }
  }
  /// What epoll watches.
  var watched: SocketInterest = []
  /// Whether the loop has noted that the interest changed.
  var isChanged = false
  weak var handler: (any SocketHandler)?
  private(set) var slot = 0
  private let loop: EventLoop

  /// Makes a socket; nil if the system has none left, with the reason in `errno`.
  ///
  /// - Parameter family: the family of its addresses: `AF_INET`, `AF_INET6` or `AF_UNIX`.
  convenience init?(family: Int32, on loop: EventLoop) {
    let descriptor = martlet_make_socket(family)
    guard descriptor >= 0 else { return nil }
    if family != AF_UNIX { martlet_set_tcp_options(descriptor) }
    self.init(owning: descriptor, on: loop)
  }

  /// Takes over a descriptor that does not block.
  init(owning descriptor: Int32, on loop: EventLoop) {
    self.descriptor = descriptor
    self.loop = loop
    slot = loop.add(self)
  }

  deinit { if isOpen { Glibc.close(descriptor) } }

  /// Closes it. Nothing is reported afterwards.
  func close() {
    guard isOpen else { return }
    isOpen = false
    loop.remove(self)
    Glibc.close(descriptor)
  }
}

// MARK: - System calls

extension Socket {
  /// The result of sending or receiving.
  enum Transferred: Equatable {
    /// So many bytes, at least one.
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

  /// Sets the local address, with a port that the system chooses when it connects. Returns an error number; nil if it is
  /// set.
  func bind(to address: IPAddress) -> Int32? {
    var one: Int32 = 1
    // otherwise a port is taken for the address alone, and there are no more connections than ports
    setsockopt(descriptor, Int32(IPPROTO_IP), IP_BIND_ADDRESS_NO_PORT, &one, socklen_t(MemoryLayout<Int32>.size))
    let code = SocketAddress(address, port: 0).withSockaddr { Glibc.bind(descriptor, $0, $1) }
    return code == 0 ? nil : errno
  }

  /// Begins to connect. Returns 0 if it is connected, `EINPROGRESS` if it will be writable when that is decided, or
  /// another error number.
  func connect(to address: UnsafePointer<sockaddr>, _ size: socklen_t) -> Int32 {
    guard Glibc.connect(descriptor, address, size) != 0 else { return 0 }
    return errno == EINTR ? EINPROGRESS : errno  // after a signal it goes on (POSIX)
  }

  /// Whether a connection that was begun has been made: 0 or an error number.
  var connectionError: Int32 { martlet_socket_error(descriptor) }

  /// Receives into memory that is not empty.
  func receive(into room: UnsafeMutableRawBufferPointer) -> Transferred {
    while true {
      let count = recv(descriptor, room.baseAddress, room.count, 0)
      if count > 0 { return .bytes(count) }
      if count == 0 { return .end }
      if errno == EAGAIN || errno == EWOULDBLOCK { return .notReady }
      if errno != EINTR { return .failed(errno) }
    }
  }

  /// Whether nothing has arrived that was not received yet, not even the end.
  var isQuiet: Bool {
    var byte: UInt8 = 0
    return recv(descriptor, &byte, 1, Int32(MSG_PEEK)) < 0 && errno == EAGAIN
  }

  /// Waits until something arrives, for at most so many nanoseconds, unless another descriptor becomes readable. Returns
  /// whether something has arrived, which may be the end.
  func waitForInput(upTo time: UInt64, unless interrupt: Int32) -> Bool {
    martlet_wait_for_input(descriptor, interrupt, Int(time)) != 0
  }

  /// Sends bytes, of which there is at least one. A connection that the peer has closed is an error, never a signal.
  ///
  /// - Parameter hasMore: whether more bytes follow at once, so that the system may wait for them.
  func send(_ bytes: UnsafeRawBufferPointer, hasMore: Bool = false) -> Transferred {
    let flags = Int32(MSG_NOSIGNAL) | (hasMore ? Int32(MSG_MORE) : 0)
    while true {
      let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, flags)
      if count >= 0 { return .bytes(count) }
      if errno == EAGAIN || errno == EWOULDBLOCK { return .notReady }
      if errno != EINTR { return .failed(errno) }
    }
  }

  /// Fails the connection when the peer has acknowledged nothing for so many nanoseconds (RFC 5482 §3.1), neither bytes nor
  /// probes; a peer that has no room for more bytes must take some in this time. It has no effect on a unix socket.
  func limitAcknowledgement(to time: UInt64) {
    martlet_limit_acknowledgement(descriptor, UInt32(clamping: time / 1_000_000))
  }

  /// Ends the direction to the peer, after what was sent.
  func finishSending() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

  var localPort: Int { Int(martlet_local_port(descriptor)) }
}
#endif
