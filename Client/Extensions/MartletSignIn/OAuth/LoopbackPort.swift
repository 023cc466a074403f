@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Serves the requests to a port of this machine, each on its own connection, on the thread of ``serve()``.
///
/// Any program on the machine can connect, and browsers open connections ahead that may stay silent. No connection
/// holds up the others, because the thread waits for the next event on any of them.
///
/// It is not `MartletServer`'s `LoopbackServer`, because that takes a thread for each connection and links WebSockets,
/// neither of which a login needs.
struct LoopbackPort: Sendable {
  /// A connection whose request is not complete.
  private struct Connection: Sendable {
    let descriptor: Int32
    let since = ContinuousClock.now
    var head: [UInt8] = []
  }

  private let listeners: [Int32]
  /// One end of a pipe; the port is closed when the other end is.
  private let running: Int32
  /// Returns the response to a GET of a target.
  private let response: @Sendable (_ target: String) -> [UInt8]
  /// The oldest first.
  private var connections: [Connection] = []

  /// The maximum number of connections: a new one beyond it closes the oldest.
  private static let connectionLimit = 64
  /// The maximum number of bytes of a request's head, and how long a browser may take to send it.
  private static let headLimit = 16 << 10
  private static let patience = Duration.seconds(10)
  private static let endOfHead = Array("\r\n\r\n".utf8)

  /// - Parameters:
  ///   - listeners: non-blocking listening sockets. They are closed at the end, and so is `running`.
  init(listeners: [Int32], running: Int32, response: @escaping @Sendable (_ target: String) -> [UInt8]) {
    self.listeners = listeners
    self.running = running
    self.response = response
  }

  /// Answers requests until the pipe is closed.
  mutating func serve() {
    while let ready = nextEvents() {
      // Arrived bytes are read first, because a new connection may close the oldest.
      let ended = ready.connections.filter { !continues(at: $0) }
      for index in ended.reversed() { close(connections.remove(at: index).descriptor) }
      for listener in ready.listeners { admit(from: listener) }
      endSlow()
    }
    for descriptor in connections.map(\.descriptor) + listeners + [running] { close(descriptor) }
  }

  /// Waits for events. Returns the listeners and the indices of the connections that have some; nil if the port has to
  /// be closed.
  private func nextEvents() -> (listeners: [Int32], connections: [Int])? {
    var events = ([running] + listeners + connections.map(\.descriptor)).map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    var wait: Int32 = -1
    if let oldest = connections.first {
      let left = Self.patience - (ContinuousClock.now - oldest.since)
      wait = Int32(max(0, left.inMilliseconds)) + 1
    }
    guard poll(&events, nfds_t(events.count), wait) > 0 else { return ([], []) }
    guard events[0].revents == 0 else { return nil }
    let first = 1 + listeners.count
    return (
      events[1..<first].filter { $0.revents != 0 }.map(\.fd),
      connections.indices.filter { events[first + $0].revents != 0 }
    )
  }

  /// Accepts a limited number of connections, and at once reads the bytes that they have sent.
  private mutating func admit(from listener: Int32) {
    for _ in 0..<Self.connectionLimit {
      let descriptor = SpareDescriptors.making { accept(listener, nil, nil) }
      guard descriptor >= 0 else {
        // Without a free descriptor the connection stays in the queue.
        if errno == EMFILE || errno == ENFILE { usleep(100_000) }
        return
      }
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
      #if canImport(Darwin)
      var on: Int32 = 1
      setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
      #endif
      if connections.count == Self.connectionLimit { close(connections.removeFirst().descriptor) }
      connections.append(Connection(descriptor: descriptor))
      if !continues(at: connections.count - 1) { close(connections.removeLast().descriptor) }
    }
  }

  private mutating func endSlow() {
    while let oldest = connections.first, ContinuousClock.now - oldest.since > Self.patience {
      close(connections.removeFirst().descriptor)
    }
  }

  /// Reads the arrived bytes and answers a complete request. Returns whether more bytes are needed.
  private mutating func continues(at index: Int) -> Bool {
    let descriptor = connections[index].descriptor
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    if count < 0, errno == EAGAIN || errno == EINTR { return true }
    guard count > 0, connections[index].head.count + count <= Self.headLimit else { return false }
    connections[index].head += buffer[..<count]
    guard connections[index].head.suffix(count + 3).contains(Self.endOfHead) else { return true }
    guard let target = Self.target(of: connections[index].head) else { return false }
    // A page is short: the system has room for it.
    let page = response(target)
    _ = page.withUnsafeBytes { sendto(descriptor, $0.baseAddress, $0.count, sendFlags, nil, 0) }
    shutdown(descriptor, Int32(SHUT_WR))
    return false
  }

  /// Returns the target of a GET; nil for any other request.
  private static func target(of head: [UInt8]) -> String? {
    let line = String(decoding: head.prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self).split(separator: " ")
    guard line.count == 3, line[0] == "GET", line[1].hasPrefix("/"), !line[1].hasPrefix("//") else { return nil }
    return String(line[1])
  }
}

#if canImport(Darwin)
private let sendFlags: Int32 = 0
#else
private let sendFlags = Int32(MSG_NOSIGNAL)
#endif
