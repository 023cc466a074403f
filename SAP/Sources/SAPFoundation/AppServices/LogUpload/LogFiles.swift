@_spi(Toolkit) import MartletSemantics

/// The files of log lines that were not uploaded yet, in one folder, bounded in size, number and age.
///
/// A file is written by one object only, which holds a lock on it (`flock`). So files of other processes of the app are
/// uploaded when they are complete, and never while they are written. A name begins with the time of the file's
/// creation, so that the order of names is that of the lines.
@_spi(Stores) public final class LogFiles: Sendable {
  public struct Limits: Sendable, Hashable {
    /// The size at which a file is complete, in bytes.
    var fileSize: Int
    /// The maximum number of files, not counting the files of an upload. A new file removes the oldest one.
    var fileCount: Int
    /// The number of days after which the lines of a file are removed; 0 for never.
    var days: Int

    public init(fileSize: Int = 5 * 1_048_576, fileCount: Int = 10, days: Int = 0) {
      (self.fileSize, self.fileCount, self.days) = (fileSize, fileCount, days)
    }
  }

  private struct State {
    var limits = Limits()
    /// The files of the upload that is running.
    var uploading: Set<URL> = []
  }

  private let folder: URL
  private let now: @Sendable () -> Date
  private let writer: Synchronized<LogFileWriter>
  private let state = Locked(State())

  /// - Parameter folder: nil if there can be none: ``prepare()`` then throws.
  public init(in folder: URL?, now: @escaping @Sendable () -> Date = { Date() }) {
    let folder = folder ?? URL(filePath: "/dev/null/Logs")  // where no folder can be made
    self.folder = folder
    self.now = now
    writer = Synchronized(LogFileWriter(folder))
  }

  public var limits: Limits {
    get { state.withLock { $0.limits } }
    set { state.withLock { $0.limits = newValue } }
  }

  /// Makes the folder, and removes what is too old.
  public func prepare() throws {
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    removeExpired()
  }

  /// Appends a line. If the disk is full, the line is lost: a log must not stop the app. The lines that were written
  /// before stay. If the file or its folder was removed, the line is in a new one.
  public func append(_ line: String) {
    let (data, limit, date) = (Data(line.utf8), limits.fileSize, now())
    let hasGrown = writer.call { $0.append(data, limit: limit, at: date) }
    if hasGrown { removeExpired() }
  }

  /// Completes the file that is being written. Later lines go to another one.
  public func complete() { writer.call { $0.complete() } }

  /// Returns the complete files, the oldest first.
  func completed() -> [URL] { files().filter { isComplete($0) } }

  /// Returns the complete files, the oldest first, for an upload. No limit removes them until ``endUpload()``.
  func beginUpload() -> [URL] {
    // Holds the lock of `removeExpired()`: a line that another thread logs could otherwise remove one of the files.
    writer.call { _ in
      removeExpired()
      let files = completed()
      state.withLock { $0.uploading = Set(files) }
      return files
    }
  }

  /// Applies the limits again to the files that the upload left.
  func endUpload() {
    state.withLock { $0.uploading = [] }
    removeExpired()
  }

  /// Removes the files with expired lines, and the oldest files of too many. The files of an upload stay.
  func removeExpired() {
    writer.call { _ in
      let (limits, uploading) = state.withLock { ($0.limits, $0.uploading) }
      // A program that has met a full disk leaves files without lines. They must not replace files with lines.
      let others = files().filter { !uploading.contains($0) && !isEmpty($0) }
      let surplus = others.count - max(1, limits.fileCount)
      let complete = others.filter { isComplete($0) }
      for (index, file) in complete.enumerated() where index < surplus || isExpired(file, limits) {
        try? FileManager.default.removeItem(at: file)
      }
    }
  }

  private func files() -> [URL] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.filter { $0.hasSuffix(".log") }.sorted().map { folder.appending(path: $0) }
  }

  private func isComplete(_ file: URL) -> Bool {
    guard let handle = try? FileHandle(forReadingFrom: file) else { return false }
    defer { try? handle.close() }
    return flock(handle.fileDescriptor, LOCK_SH | LOCK_NB) == 0
  }

  private func isEmpty(_ file: URL) -> Bool {
    (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int) == 0
  }

  /// A file is as old as its last line.
  private func isExpired(_ file: URL, _ limits: Limits) -> Bool {
    guard limits.days > 0,
      let written = try? FileManager.default.attributesOfItem(atPath: file.path)[.modificationDate] as? Date
    else { return false }
    return now().timeIntervalSince(written) > Double(limits.days) * 86_400
  }
}

/// Writes lines to the current file, which it holds locked.
private final class LogFileWriter {
  private let folder: URL
  private var current: (handle: FileHandle, url: URL)?
  /// The number of bytes in the current file.
  private var size = 0
  private var lastNumber = 0

  init(_ folder: URL) { self.folder = folder }

  /// Returns whether there is a further file with lines. A file that was begun without a line is none: a full disk
  /// would otherwise remove an earlier file for each line that it refuses.
  func append(_ data: Data, limit: Int, at date: Date) -> Bool {
    if let file = current, !isWhole(file.handle, at: file.url) { complete() }
    if size > 0, size + data.count > limit { complete() }
    if current == nil { begin(at: date) }
    guard let file = current else { return false }
    do { try file.handle.write(contentsOf: data) } catch {
      // A part of the line may have been written.
      do { try file.handle.truncate(atOffset: UInt64(size)) } catch { complete() }
      return false
    }
    defer { size += data.count }
    return size == 0
  }

  /// Whether the file still has its name and all its lines.
  private func isWhole(_ file: FileHandle, at url: URL) -> Bool {
    var (open, named) = (stat(), stat())
    return fstat(file.fileDescriptor, &open) == 0 && stat(url.path, &named) == 0 && open.st_ino == named.st_ino
      && open.st_dev == named.st_dev && open.st_size == off_t(size)
  }

  func complete() {
    guard let ended = current.take() else { return }
    if size == 0 { try? FileManager.default.removeItem(at: ended.url) }
    size = 0
    // A child process may have the file for a moment, and the lock with it, so closing alone may not end that.
    flock(ended.handle.fileDescriptor, LOCK_UN)
    try? ended.handle.close()
  }

  private func begin(at date: Date) {
    lastNumber += 1
    let time = Int(date.timeIntervalSince1970 * 1_000).digits(15)
    // Another process may begin a file in the same millisecond.
    let name = "\(time)-\(lastNumber.digits(6))-\(UInt32.random(in: 0 ... .max)).log"
    let file = folder.appending(path: name)
    let unlocked = file.appendingPathExtension("new")
    try? FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    guard
      FileManager.default.createFile(atPath: unlocked.path, contents: nil, attributes: [.posixPermissions: 0o600]),
      let handle = try? FileHandle(forWritingTo: unlocked), flock(handle.fileDescriptor, LOCK_EX | LOCK_NB) == 0,
      (try? FileManager.default.moveItem(at: unlocked, to: file)) != nil  // Others see it only with its lock.
    else {
      try? FileManager.default.removeItem(at: unlocked)
      return
    }
    current = (handle, file)
  }
}
