@_spi(Toolkit) import MartletEngine

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The system calls that differ between platforms or are used in several files.
@_spi(Toolkit) public enum SystemCalls {
  public static func makePipe() -> (read: Int32, write: Int32)? {
    var ends: [Int32] = [-1, -1]
    guard SpareDescriptors.making({ pipe(&ends) }) == 0 else { return nil }
    return (closedInChildren(ends[0]), closedInChildren(ends[1]))
  }

  static func writeByte(to descriptor: Int32) {
    var byte: UInt8 = 1
    _ = write(descriptor, &byte, 1)
  }

  static func readByte(from descriptor: Int32) {
    var byte: UInt8 = 0
    _ = read(descriptor, &byte, 1)
  }

  /// Blocks until one of the descriptors is readable, or the time is over; -1 for no limit.
  static func waitForInput(_ descriptors: [Int32], milliseconds: Int32) {
    var watched = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    poll(&watched, nfds_t(watched.count), milliseconds)
  }

  /// The nanoseconds of a clock that is not set.
  public static var uptimeNanoseconds: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// Writes a line to standard error, as a whole.
  public static func report(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    _ = write(STDERR_FILENO, bytes, bytes.count)
  }

  static func closeDescriptor(_ descriptor: Int32) { close(descriptor) }

  static func shutDown(_ socket: Int32, writingOnly: Bool = false) {
    shutdown(socket, Int32(writingOnly ? SHUT_WR : SHUT_RDWR))
  }

  /// Stops listening: further connections are refused, and `acceptConnection` returns.
  static func stopListening(_ listener: Int32) { shutDown(listener) }

  /// Whether the last call failed because the process has no file descriptors left.
  static var hasNoDescriptorsLeft: Bool { errno == EMFILE || errno == ENFILE }

  static func blockThread(milliseconds: Int32) { poll(nil, 0, milliseconds) }

  /// The path with all symbolic links resolved; nil if the file does not exist.
  static func resolvedPath(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// Sets `FD_CLOEXEC`: a child process that inherits a connection would keep it open after it is closed here.
  private static func closedInChildren(_ descriptor: Int32) -> Int32 {
    if descriptor >= 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    return descriptor
  }
}

#if canImport(Darwin)
extension SystemCalls {
  /// The events by which `poll` reports that the peer has closed its end, or that the socket was shut down here.
  static let peerGone = Int16(POLLHUP | POLLERR)
  /// No flags: `SO_NOSIGPIPE` makes a write to a closed connection an error instead of a signal.
  static let sendFlags: Int32 = 0

  static func makeSocket() -> Int32 { closedInChildren(SpareDescriptors.making { socket(AF_INET, SOCK_STREAM, 0) }) }

  /// The next connection; -1 and `errno` if there is none.
  static func acceptConnection(on listener: Int32) -> Int32 {
    var watched = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
    // `shutdown` does not wake a thread in `accept` here, so the caller can check every 50 ms whether it was stopped.
    guard poll(&watched, 1, 50) > 0 else { return -1 }
    let descriptor = closedInChildren(SpareDescriptors.making { accept(listener, nil, nil) })
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
    return descriptor
  }

  static func modificationTime(of status: stat) -> (seconds: Int64, nanoseconds: Int64) {
    (Int64(status.st_mtimespec.tv_sec), Int64(status.st_mtimespec.tv_nsec))
  }

  /// Runs the work on a separate thread; false if the system cannot start one.
  public static func startThread(_ work: @escaping @Sendable () -> Void) -> Bool {
    var thread: pthread_t?
    let box = Unmanaged.passRetained(ThreadWork(work))
    guard pthread_create(&thread, nil, runThread, box.toOpaque()) == 0, let thread else {
      box.release()
      return false
    }
    pthread_detach(thread)
    return true
  }
}

private func runThread(_ box: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
  Unmanaged<ThreadWork>.fromOpaque(box).takeRetainedValue().work()
  return nil
}
#else
extension SystemCalls {
  /// The events by which `poll` reports that the peer has closed its end, or that the socket was shut down here.
  static let peerGone = Int16(0x2000 | POLLHUP | POLLERR)  // 0x2000 is POLLRDHUP
  /// A write to a closed connection is an error instead of a signal that ends the process.
  static let sendFlags = Int32(MSG_NOSIGNAL)

  static func makeSocket() -> Int32 {
    // 1 is SOCK_STREAM, an enum in Glibc and a number in Musl.
    closedInChildren(SpareDescriptors.making { socket(AF_INET, 1, 0) })
  }

  /// The next connection; -1 and `errno` if there is none.
  static func acceptConnection(on listener: Int32) -> Int32 {
    closedInChildren(SpareDescriptors.making { accept(listener, nil, nil) })
  }

  static func modificationTime(of status: stat) -> (seconds: Int64, nanoseconds: Int64) {
    (Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec))
  }

  /// Runs the work on a separate thread; false if the system cannot start one.
  public static func startThread(_ work: @escaping @Sendable () -> Void) -> Bool {
    var thread = pthread_t()
    let box = Unmanaged.passRetained(ThreadWork(work))
    let hasStarted = pthread_create(&thread, nil, runThread, box.toOpaque()) == 0
    if hasStarted { pthread_detach(thread) } else { box.release() }
    return hasStarted
  }
}

private func runThread(_ box: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  if let box { Unmanaged<ThreadWork>.fromOpaque(box).takeRetainedValue().work() }
  return nil
}
#endif

private final class ThreadWork: Sendable {
  let work: @Sendable () -> Void
  init(_ work: @escaping @Sendable () -> Void) { self.work = work }
}
