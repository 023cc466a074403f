import MartletSemantics
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A device or a named pipe that bytes are written to. It is closed when the last reference is released.
@_spi(Toolkit) public final class SpecialFile: Sendable {
  private let path: String
  private let state: Mutex<(descriptor: Int32, count: Int64)>

  /// Returns nil if the path does not lead to a device or a pipe.
  ///
  /// - Throws: ``HTTPError`` of kind `.file` if it cannot be written.
  init?(_ path: String, phase: HTTPError.Phase?) throws(HTTPError) {
    guard let kind = FileStatus.following(path)?.kind, kind == .pipe || kind == .device else { return nil }
    self.path = path
    let (descriptor, code) = Self.opened(path)
    // A pipe without a reader is opened later.
    guard descriptor >= 0 || (kind == .pipe && code == ENXIO) else {
      throw .file(path, "cannot be written", code: code, phase: phase)
    }
    state = Mutex((descriptor, 0))
  }

  var count: Int64 { state.withLock { $0.count } }

  func append(_ chunk: Data) async throws {
    let descriptor = try await descriptor()
    var (rest, pause) = (chunk, Pause())
    while !rest.isEmpty {
      let (count, code) = rest.withUnsafeBytes { PipeSignal.write(descriptor, $0) }
      if count >= 0 {
        pause = Pause()
        rest = rest.dropFirst(count)
        state.withLock { $0.count += Int64(count) }
      } else if code == EAGAIN || code == EINTR {
        try await pause.wait()
      } else {
        throw failure(code)
      }
    }
  }

  func checkEmpty() throws(HTTPError) {
    guard count > 0 else { return }
    throw HTTPError(
      .file, "'\(path)' has got \(count) bytes of a download that starts again: download to a regular file",
      phase: .receiving)
  }

  /// Waits for a reader, which then sees the end: the end of a pipe when the last reference is released.
  func complete() async throws { _ = try await descriptor() }

  /// Returns the descriptor as soon as the pipe has a reader.
  private func descriptor() async throws -> Int32 {
    var pause = Pause()
    while true {
      let (descriptor, code) = state.withLock { state in
        if state.descriptor >= 0 { return (state.descriptor, Int32(0)) }
        let opened = Self.opened(path)
        state.descriptor = opened.descriptor
        return opened
      }
      if descriptor >= 0 { return descriptor }
      guard code == ENXIO || code == EINTR else { throw failure(code) }
      try await pause.wait()
    }
  }

  private static func opened(_ path: String) -> (descriptor: Int32, code: Int32) {
    let descriptor = SpareDescriptors.making { open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) }
    return (descriptor, descriptor >= 0 ? 0 : errno)
  }

  private func failure(_ code: Int32) -> HTTPError { .file(path, "cannot be written", code: code, phase: .receiving) }

  deinit {
    let descriptor = state.withLock { $0.descriptor }
    if descriptor >= 0 { close(descriptor) }
  }

  /// The pause before a slow reader is looked at again: from one to 32 milliseconds. A thread that waited in the system
  /// would be one of the few that run Swift's tasks, and no cancellation would end its wait.
  private struct Pause {
    private var length = Duration.milliseconds(1)

    mutating func wait() async throws {
      try await Task.sleep(for: length)
      length = min(length * 2, .milliseconds(32))
    }
  }
}

#if canImport(Darwin)
/// Writes to a pipe without the signal that ends the program if it has no reader.
package enum PipeSignal {
  package static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> (count: Int, code: Int32) {
    _ = fcntl(descriptor, F_SETNOSIGPIPE, 1)
    let count = Darwin.write(descriptor, bytes.baseAddress, bytes.count)
    return (count, errno)
  }
}
#else
/// Writes to a pipe without the signal that ends the program if it has no reader.
package enum PipeSignal {
  package static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> (count: Int, code: Int32) {
    var (signals, before, pending) = (sigset_t(), sigset_t(), sigset_t())
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    sigpending(&pending)
    pthread_sigmask(SIG_BLOCK, &signals, &before)
    let count = Self.send(descriptor, bytes)
    let code = errno
    // It is pending for this thread alone, and must not remain: the program may handle the signal otherwise.
    if count < 0, code == EPIPE, sigismember(&pending, SIGPIPE) == 0 {
      var none = timespec()
      sigtimedwait(&signals, nil, &none)
    }
    pthread_sigmask(SIG_SETMASK, &before, nil)
    return (count, code)
  }

  private static func send(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    var part = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
    return writev(descriptor, &part, 1)
  }
}
#endif
