import CSockets
@_spi(Toolkit) import MartletEngine
import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A connection to the server, with the reader of answers: a non-blocking socket that no other program inherits.
/// SAFETY: one thread uses it at a time: first the one that opens it, then that of the loop.
final class RedisLink: @unchecked Sendable {
  let descriptor: Int32
  private let configuration: RedisConfiguration
  /// The deadline of the sign-in.
  private let deadline: Duration
  private var reader = ReplyReader()

  private init(owning descriptor: Int32, _ configuration: RedisConfiguration, until deadline: Duration) {
    (self.descriptor, self.configuration, self.deadline) = (descriptor, configuration, deadline)
  }

  deinit { close(descriptor) }

  /// Sends and removes as many bytes as the socket takes at once.
  func send(_ bytes: inout [UInt8]) throws(RedisError) {
    var offset = 0
    while offset < bytes.count {
      let count = bytes.withUnsafeBytes {
        CSockets.send(descriptor, $0.baseAddress.map { $0 + offset }, $0.count - offset, Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { break }
      guard count >= 0 else { throw lost(errno) }
      offset += count
    }
    guard offset < bytes.count else { return bytes.removeAll(keepingCapacity: bytes.count < 1 << 20) }
    bytes.removeFirst(offset)
  }

  /// Receives the arrived bytes once, and passes on each answer that is then complete. Bytes that no command waits for
  /// are an error: later answers would go to the wrong commands.
  ///
  /// - Parameter nextLimit: returns the maximum number of bytes of the next answer; nil if no command waits for one.
  func receive(
    into room: UnsafeMutableRawBufferPointer, nextLimit: () -> Int?, _ take: (RedisReply) -> Void
  ) throws(RedisError) {
    let count = recv(descriptor, room.baseAddress, room.count, 0)
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    guard count != 0 else { throw RedisError(.unavailable, "\(configuration) has closed the connection") }
    guard count > 0 else { throw lost(errno) }
    var rest = UnsafeRawBufferPointer(rebasing: room[..<count])
    do throws(ReplyFault) {
      while !rest.isEmpty {
        guard let limit = nextLimit() else { throw .unasked }
        if let reply = try reader.read(&rest, upTo: limit) { take(reply) }
      }
    } catch { throw RedisError(error, of: configuration) }
  }

  /// Waits until the socket is ready, within the time of the sign-in.
  func wait(for event: Int32) throws(RedisError) {
    guard Self.wait(for: event, of: descriptor, until: deadline) else {
      throw RedisError(.unavailable, "\(configuration) does not answer: \(Self.text(of: ETIMEDOUT))")
    }
  }

  private func lost(_ code: Int32) -> RedisError {
    RedisError(.unavailable, "the connection to \(configuration) was lost: \(Self.text(of: code))")
  }
}

// MARK: - Connecting

extension RedisLink {
  /// Connects to one of the server's addresses, in the order of the system. Each gets an equal part of the remaining
  /// time; resolving the name does not count.
  static func connect(to configuration: RedisConfiguration) throws(RedisError) -> RedisLink {
    let addresses = try resolve(configuration)
    defer { if let addresses { freeaddrinfo(addresses) } }
    let deadline = RedisLoop.now + max(.milliseconds(1), configuration.connectTimeout)
    let result =
      switch configuration.address {
      case .host: connect(toOneOf: addresses, until: deadline)
      case .socket(let path): try connect(toSocket: path, until: deadline)
      }
    guard result >= 0 else { throw unreachable(configuration, text(of: -result)) }
    return RedisLink(owning: result, configuration, until: deadline)
  }

  /// - Returns: the list of addresses, which the caller frees; nil for a path.
  private static func resolve(_ configuration: RedisConfiguration) throws(RedisError) -> UnsafeMutablePointer<addrinfo>?
  {
    guard case .host(let host, let port) = configuration.address else { return nil }
    var hints = addrinfo()
    hints.ai_socktype = martlet_stream
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, "\(port)", &hints, &list)
    guard code == 0 else { throw unreachable(configuration, String(cString: gai_strerror(code))) }
    return list
  }

  /// - Returns: a descriptor, or the negative number of the last address's error.
  private static func connect(toOneOf list: UnsafeMutablePointer<addrinfo>?, until deadline: Duration) -> Int32 {
    var addresses: [addrinfo] = []
    var next = list
    while let address = next?.pointee {
      addresses.append(address)
      next = address.ai_next
    }
    var result = -EADDRNOTAVAIL
    for (index, address) in addresses.enumerated() {
      let now = RedisLoop.now
      let end = now + (deadline - now) / (addresses.count - index)
      result = connect(address.ai_family, address.ai_addr, address.ai_addrlen, until: end)
      if result >= 0 { break }
    }
    return result
  }

  private static func connect(toSocket path: String, until deadline: Duration) throws(RedisError) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let limit = MemoryLayout.size(ofValue: address.sun_path) - 1
    guard path.utf8.count <= limit, !path.utf8.contains(0) else {
      throw RedisError(
        .unavailable,
        "the path of a Unix domain socket has \(limit) bytes at most and no NUL; this one has \(path.utf8.count) bytes")
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(AF_UNIX, $0, socklen_t(MemoryLayout<sockaddr_un>.size), until: deadline)
      }
    }
  }

  /// - Returns: a descriptor, or a negative error number.
  private static func connect(
    _ family: Int32, _ address: UnsafePointer<sockaddr>, _ size: socklen_t, until deadline: Duration
  ) -> Int32 {
    let descriptor = SpareDescriptors.making { martlet_make_socket(family) }
    guard descriptor >= 0 else { return -errno }
    if family != AF_UNIX { martlet_set_tcp_options(descriptor) }
    var code = CSockets.connect(descriptor, address, size) == 0 ? 0 : errno
    if code == EINPROGRESS || code == EINTR {
      let isDecided = wait(for: POLLOUT, of: descriptor, until: deadline)
      code = isDecided ? martlet_socket_error(descriptor) : ETIMEDOUT
    }
    guard code != 0 else { return descriptor }
    close(descriptor)
    return -code
  }

  /// - Returns: false if the time is up.
  private static func wait(for event: Int32, of descriptor: Int32, until deadline: Duration) -> Bool {
    while true {
      var watched = pollfd(fd: descriptor, events: Int16(event), revents: 0)
      let count = poll(&watched, 1, RedisLoop.milliseconds(until: deadline))
      if count < 0, errno == EINTR { continue }
      return count > 0
    }
  }

  private static func unreachable(_ configuration: RedisConfiguration, _ reason: String) -> RedisError {
    RedisError(.unavailable, "\(configuration) cannot be reached: \(reason)")
  }

  private static func text(of code: Int32) -> String { String(cString: strerror(code)) }
}
