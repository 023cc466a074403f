@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Excludes other runs of the program while one reads, changes and writes a file.
///
/// The lock is on a hidden file beside it, because the file itself is replaced when it is written. The holder removes
/// the lock's file before it releases the lock: a run that got the lock of a removed file tries again.
struct FileLock {
  /// How long a run waits for another one.
  static let limit = Duration.seconds(10)

  private let path: String
  private let descriptor: Int32

  /// Runs the work while no other run does so for this file.
  ///
  /// - Throws: `HTTPError` of kind `.file` if the lock is held for too long or cannot be made, or the work's error.
  static func holding(
    _ file: URL, clock: any Clock<Duration>, _ work: () async throws -> Void
  ) async throws {
    let lock = try await acquire(for: file, clock)
    defer { lock.release() }
    try await work()
  }

  private static func acquire(for file: URL, _ clock: any Clock<Duration>) async throws(HTTPError) -> FileLock {
    let path = place(for: file)
    let stopwatch = Stopwatch(clock)
    while true {
      if let lock = try attempt(for: file) { return lock }
      guard stopwatch.elapsed < limit else {
        throw HTTPError(
          .file, "'\(file.path)' is not written: another run has held '\(path)' for \(Quantity.text(limit))",
          phase: .receiving)
      }
      // Even in a cancelled task: received data is to be kept.
      await Task { try? await clock.sleep(for: .milliseconds(10)) }.value
    }
  }

  /// The path of the lock's file.
  private static func place(for file: URL) -> String {
    file.deletingLastPathComponent().appending(component: ".\(file.lastPathComponent).lock").path
  }

  /// Returns nil if another run has the lock.
  private static func attempt(for file: URL) throws(HTTPError) -> FileLock? {
    let path = place(for: file)
    let descriptor = SpareDescriptors.making { open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600) }
    guard descriptor >= 0 else {
      throw HTTPError(
        .file, "'\(file.path)' cannot be written: \(String(cString: strerror(errno)))", phase: .receiving)
    }
    let lock = FileLock(path: path, descriptor: descriptor)
    if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
      if lock.isAtItsPlace { return lock }
      lock.close()
      return nil
    }
    let error = errno
    lock.close()
    guard error == EWOULDBLOCK || error == EINTR else {
      throw HTTPError(
        .file, "'\(file.path)' cannot be locked: \(String(cString: strerror(error)))", phase: .receiving)
    }
    return nil
  }

  /// Whether its file was not removed in the meantime.
  private var isAtItsPlace: Bool {
    var (own, named) = (stat(), stat())
    guard fstat(descriptor, &own) == 0, lstat(path, &named) == 0 else { return false }
    return own.st_ino == named.st_ino && own.st_dev == named.st_dev
  }

  private func release() {
    unlink(path)
    close()
  }

  /// Ends the lock explicitly: a process that is just being started has a copy of the descriptor.
  private func close() {
    _ = flock(descriptor, LOCK_UN)
    closeFile(descriptor)
  }
}

/// The C function `close`, whose name a method has.
private func closeFile(_ descriptor: Int32) { _ = close(descriptor) }
