#if os(Linux)
import CCurl
import Glibc

/// The functions that libcurl calls, on the loop thread. Each only forwards to the object that its pointer refers to.
/// The loop keeps these objects alive as long as libcurl can call them.
enum Callbacks {
  static let header: martlet_transfer_callback = { bytes, size, count, user in
    Callbacks.transfer(user) { $0.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: size * count)) }
  }

  static let write: martlet_transfer_callback = { bytes, size, count, user in
    Callbacks.transfer(user) { $0.receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) }
  }

  static let read: martlet_transfer_callback = { buffer, size, count, user in
    Callbacks.transfer(user) { $0.sendBody(into: UnsafeMutableRawBufferPointer(start: buffer, count: size * count)) }
  }

  static let seek: martlet_seek_callback = { user, offset, origin in
    let isDone = origin == SEEK_SET && Callbacks.transfer(user) { $0.rewindBody(to: Int64(offset)) ? 1 : 0 } == 1
    return isDone ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_CANTSEEK
  }

  static let request: martlet_request_callback = { user, peer, _, peerPort, port in
    let ends = ConnectionTable.Ends(port: port, peer: peer.map { String(cString: $0) } ?? "", peerPort: peerPort)
    return Callbacks.transfer(user) { $0.mayBegin(between: ends) ? 1 : 0 } == 1
      ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
  }

  static let debug: martlet_debug_callback = { _, kind, bytes, count, user in
    guard kind == CURLINFO_TEXT else { return 0 }
    _ = Callbacks.transfer(user) {
      $0.learn(from: UnsafeRawBufferPointer(start: bytes, count: count))
      return 0
    }
    return 0
  }

  static let socket: martlet_socket_callback = { _, descriptor, interest, user, _ in
    Callbacks.loop(user) { $0.sockets.want(interest, of: descriptor) }
    return 0
  }

  static let timer: martlet_timer_callback = { _, milliseconds, user in
    Callbacks.loop(user) { $0.setTimer(milliseconds: milliseconds) }
    return 0
  }

  /// Child processes must not inherit a connection, because it would stay open after it was closed here.
  static let openedSocket: martlet_opened_callback = { user, descriptor, _ in
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    Callbacks.loop(user) {
      $0.sockets.opened(descriptor)
      $0.connections.opened(descriptor)
    }
    return CURL_SOCKOPT_OK
  }

  static let closeSocket: martlet_close_callback = { user, descriptor in
    Callbacks.loop(user) {
      $0.sockets.closed(descriptor)
      $0.connections.closed(descriptor)
    }
    return close(descriptor)
  }

  private static func transfer(_ user: UnsafeMutableRawPointer?, _ body: (Transfer) -> Int) -> Int {
    guard let user else { return 0 }
    return Unmanaged<Transfer>.fromOpaque(user)._withUnsafeGuaranteedRef(body)
  }

  private static func loop(_ user: UnsafeMutableRawPointer?, _ body: (MultiLoop) -> Void) {
    guard let user else { return }
    Unmanaged<MultiLoop>.fromOpaque(user)._withUnsafeGuaranteedRef(body)
  }
}
#endif
