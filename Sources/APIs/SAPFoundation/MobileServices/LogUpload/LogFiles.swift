/// The files of log lines that were not uploaded yet, in one folder, bounded in size, number and age.
///
/// A file is written by one object only, which holds a lock on it (`flock`). So files of other processes of the app are
/// uploaded when they are complete, and never while they are written. A name begins with the time at which the file was
/// made, so that the order of names is that of the lines.
package final class LogFiles: Sendable {
  package struct Limits: Sendable, Hashable {
    /// The size at which a file is complete, in bytes.
    package var fileSize: Int
    /// The maximum number of files. A new file removes the oldest one.
    package var fileCount: Int
    /// The number of days after which the lines of a file are removed; 0 for never.
    package var days: Int

    package init(fileSize: Int = 5 * 1_048_576, fileCount: Int = 10, days: Int = 0) {
      (self.fileSize, self.fileCount, self.days) = (fileSize, fileCount, days)
    }
  }

  private struct State {
    var limits = Limits()
    var current: FileHandle?
    var size = 0
    var lastNumber = 0
  }

  let folder: URL
  private let now: @Sendable () -> Date
  private let state = Locked(State())

  package init(in folder: URL, now: @escaping @Sendable () -> Date = { Date() }) {
    self.folder = folder
    self.now = now
  }

  package var limits: Limits {
    get { state.withLock { $0.limits } }
    set { state.withLock { $0.limits = newValue } }
  }

  /// Makes the folder, and removes what is too old.
  package func prepare() throws {
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    trim(limits)
  }

  /// Appends a line. If the disk is full, or the folder was removed, the line is lost: a log must not stop the app.
  package func append(_ line: String) {
    let (begins, limits) = state.withLock { state in
      let data = Data(line.utf8)
      if state.size > 0, state.size + data.count > state.limits.fileSize { end(&state) }
      let begins = state.current == nil
      if begins { begin(&state) }
      if (try? state.current?.write(contentsOf: data)) == nil { end(&state) }
      state.size += data.count
      return (begins, state.limits)
    }
    if begins { trim(limits) }
  }

  /// Completes the file that is being written. Later lines go to another one.
  package func complete() { state.withLock { end(&$0) } }

  /// Returns the complete files, the oldest first.
  package func completed() -> [URL] {
    files().filter { file in
      guard let handle = try? FileHandle(forReadingFrom: file) else { return false }
      defer { try? handle.close() }
      return flock(handle.fileDescriptor, LOCK_SH | LOCK_NB) == 0
    }
  }

  /// Removes the files with expired lines, and the oldest files of too many.
  package func removeExpired() { trim(limits) }

  private func begin(_ state: inout State) {
    state.lastNumber += 1
    let time = Self.padded(String(Int(now().timeIntervalSince1970 * 1_000)), 15)
    let number = Self.padded(String(state.lastNumber), 6)
    // another process may begin a file in the same millisecond
    let file = folder.appending(path: "\(time)-\(number)-\(UInt32.random(in: 0 ... .max)).log")
    let unlocked = file.appendingPathExtension("new")
    state.size = 0
    guard
      FileManager.default.createFile(atPath: unlocked.path, contents: nil, attributes: [.posixPermissions: 0o600]),
      let handle = try? FileHandle(forWritingTo: unlocked), flock(handle.fileDescriptor, LOCK_EX | LOCK_NB) == 0,
      (try? FileManager.default.moveItem(at: unlocked, to: file)) != nil  // others see it only with its lock
    else { return }
    state.current = handle
  }

  private func end(_ state: inout State) {
    guard let current = state.current.take() else { return }
    // a child process may have the file for a moment, and the lock with it, so closing alone may not end that
    flock(current.fileDescriptor, LOCK_UN)
    try? current.close()
  }

  private static func padded(_ digits: String, _ count: Int) -> String {
    String(repeating: "0", count: max(0, count - digits.count)) + digits
  }

  private func files() -> [URL] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.filter { $0.hasSuffix(".log") }.sorted().map { folder.appending(path: $0) }
  }

  private func trim(_ limits: Limits) {
    let surplus = files().count - max(1, limits.fileCount)
    for (index, file) in completed().enumerated() where index < surplus || isExpired(file, limits) {
      try? FileManager.default.removeItem(at: file)
    }
  }

  /// A file is as old as its last line.
  private func isExpired(_ file: URL, _ limits: Limits) -> Bool {
    guard limits.days > 0,
      let written = try? FileManager.default.attributesOfItem(atPath: file.path)[.modificationDate] as? Date
    else { return false }
    return now().timeIntervalSince(written) > Double(limits.days) * 86_400
  }
}
