#if canImport(Darwin)
import Darwin

/// The system calls that are not the same everywhere.
enum SystemCalls {
  /// What `poll` reports when the other side has closed its end, or when we shut the socket down ourselves.
  static let peerGone = Int16(POLLHUP | POLLERR)
  /// Nothing: the socket itself is told to make a broken connection an error instead of a signal.
  static let sendFlags: Int32 = 0

  static func makePipe() -> (read: Int32, write: Int32)? {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    return (keepFromChildren(ends[0]), keepFromChildren(ends[1]))
  }

  static func makeSocket() -> Int32 { keepFromChildren(socket(AF_INET, SOCK_STREAM, 0)) }

  /// The next connection, -1 and `errno` if there is none.
  static func acceptConnection(on listener: Int32) -> Int32 {
    var watched = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
    // `shutdown` does not wake a thread in `accept` here, so it looks up now and then whether it was stopped.
    guard poll(&watched, 1, 50) > 0 else { return -1 }
    let descriptor = keepFromChildren(accept(listener, nil, nil))
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
    return descriptor
  }

  /// Lets the acceptor find out that the server was stopped; it closes the listener then.
  static func stopListening(_ listener: Int32) { shutdown(listener, SHUT_RDWR) }

  static func shutDown(_ socket: Int32, writingOnly: Bool = false) {
    shutdown(socket, writingOnly ? SHUT_WR : SHUT_RDWR)
  }

  static func closeDescriptor(_ descriptor: Int32) { close(descriptor) }

  static func modificationTime(of status: stat) -> (seconds: Int64, nanoseconds: Int64) {
    (Int64(status.st_mtimespec.tv_sec), Int64(status.st_mtimespec.tv_nsec))
  }

  /// Runs the work on a thread of its own; false if the system has none to give.
  static func startThread(_ work: @escaping @Sendable () -> Void) -> Bool {
    var thread: pthread_t?
    let box = Unmanaged.passRetained(ThreadWork(work))
    guard pthread_create(&thread, nil, runThread, box.toOpaque()) == 0, let thread else {
      box.release()
      return false
    }
    pthread_detach(thread)
    return true
  }

  /// A child process must not inherit a connection: it would keep it open after we closed it.
  private static func keepFromChildren(_ descriptor: Int32) -> Int32 {
    if descriptor >= 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    return descriptor
  }
}

private func runThread(_ box: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
  Unmanaged<ThreadWork>.fromOpaque(box).takeRetainedValue().work()
  return nil
}

private final class ThreadWork: Sendable {
  let work: @Sendable () -> Void
  init(_ work: @escaping @Sendable () -> Void) { self.work = work }
}
#endif
