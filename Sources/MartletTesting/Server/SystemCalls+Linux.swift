#if os(Linux)
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The system calls that are not the same everywhere.
enum SystemCalls {
  /// What `poll` reports when the other side has closed its end, or when we shut the socket down ourselves.
  static let peerGone = Int16(0x2000 | POLLHUP | POLLERR)  // 0x2000 is POLLRDHUP
  /// A write to a closed connection is an error, not a signal that ends the process.
  static let sendFlags = Int32(MSG_NOSIGNAL)

  static func makePipe() -> (read: Int32, write: Int32)? {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    return (keepFromChildren(ends[0]), keepFromChildren(ends[1]))
  }

  static func makeSocket() -> Int32 {
    keepFromChildren(socket(AF_INET, 1, 0))  // 1 is SOCK_STREAM, an enum in Glibc and a number in Musl
  }

  /// The next connection, -1 and `errno` if there is none.
  static func acceptConnection(on listener: Int32) -> Int32 {
    keepFromChildren(accept(listener, nil, nil))
  }

  /// A child process must not inherit a connection: it would keep it open after we closed it.
  private static func keepFromChildren(_ descriptor: Int32) -> Int32 {
    if descriptor >= 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    return descriptor
  }

  /// Stops listening: further connections are refused, and a thread in `acceptConnection` returns.
  static func stopListening(_ listener: Int32) {
    shutdown(listener, Int32(SHUT_RDWR))
  }

  static func shutDown(_ socket: Int32, writingOnly: Bool = false) {
    shutdown(socket, Int32(writingOnly ? SHUT_WR : SHUT_RDWR))
  }

  static func closeDescriptor(_ descriptor: Int32) { close(descriptor) }

  static func modificationTime(of status: stat) -> (seconds: Int64, nanoseconds: Int64) {
    (Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec))
  }

  /// Runs the work on a thread of its own; false if the system has none to give.
  static func startThread(_ work: @escaping @Sendable () -> Void) -> Bool {
    var thread = pthread_t()
    let box = Unmanaged.passRetained(ThreadWork(work))
    let started = pthread_create(&thread, nil, runThread, box.toOpaque()) == 0
    if started { pthread_detach(thread) } else { box.release() }
    return started
  }
}

private func runThread(_ box: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  if let box { Unmanaged<ThreadWork>.fromOpaque(box).takeRetainedValue().work() }
  return nil
}

private final class ThreadWork: Sendable {
  let work: @Sendable () -> Void
  init(_ work: @escaping @Sendable () -> Void) { self.work = work }
}
#endif
