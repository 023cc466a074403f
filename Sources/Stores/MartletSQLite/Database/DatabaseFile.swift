import MartletEngine
import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The file of a database, with SQLite's two companion files.
///
/// This code never opens an existing file: closing a descriptor would release SQLite's locks in this process.
struct DatabaseFile: Sendable {
  /// The path of the file itself: SQLite's files are beside it, not beside a symbolic link to it.
  let path: String

  private static let companions = ["", "-wal", "-shm"]

  init(_ url: URL) throws(HTTPError) {
    guard url.isFileURL else {
      throw HTTPError(.file, "'\(url.redacted)' is not a file URL: use URL(filePath:)", phase: .preparing)
    }
    path = Self.target(of: url.absoluteURL.path)
  }

  /// Returns the path to which a symbolic link leads; the path itself if it is no link to an existing file.
  private static func target(of path: String) -> String {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK, let target = realpath(path, nil) else {
      return path
    }
    defer { free(target) }
    return String(cString: target)
  }

  /// The file to which the name currently refers.
  var identity: FileIdentity {
    var status = stat()
    guard stat(path, &status) == 0 else { return .none }
    return FileIdentity(device: UInt64(truncatingIfNeeded: status.st_dev), number: UInt64(status.st_ino))
  }

  /// Makes an empty file and its folder if they do not exist. Only the owner can read them; SQLite creates its two
  /// files with the same permissions.
  ///
  /// - Throws: ``SQLiteFailure`` if the disk is full; otherwise ``Martlet/HTTPError``.
  func create() throws {
    try Self.makeFolder(folder)
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if descriptor >= 0 {
      close(descriptor)
    } else if errno != EEXIST {
      throw Self.failure(path, "cannot be created")
    } else {
      for companion in Self.companions { Self.restrictPermissions(path + companion, isLinkFollowed: companion.isEmpty) }
    }
  }

  /// Removes other users' permissions from a regular file. The caller's name may be a symbolic link; the names of
  /// SQLite's files may not.
  private static func restrictPermissions(_ path: String, isLinkFollowed: Bool) {
    var status = stat()
    guard (isLinkFollowed ? stat(path, &status) : lstat(path, &status)) == 0, status.st_mode & S_IFMT == S_IFREG,
      status.st_mode & 0o077 != 0
    else { return }
    chmod(path, 0o600)
  }

  /// Renames the file and its companions to the first unused `<name>.<reason>-<n>`, with n starting at 1.
  func setAside(because reason: SetAsideFile.Reason) throws -> SetAsideFile {
    var number = 1
    var target = name(number, reason)
    while Self.companions.contains(where: { Self.exists(target + $0) }) {
      number += 1
      target = name(number, reason)
    }
    for companion in Self.companions where rename(path + companion, target + companion) != 0 && companion.isEmpty {
      throw Self.failure(path, "cannot be set aside")
    }
    return SetAsideFile(file: URL(filePath: path), movedTo: URL(filePath: target), reason: reason)
  }

  /// Deletes the file. Its companions follow: if the process ends in between, SQLite deletes the journal of an empty
  /// file.
  func remove() { for companion in Self.companions { unlink(path + companion) } }

  /// Deletes the files of a store that were set aside as damaged or of a later version. Files of other programs, and
  /// those that lost their application ID through damage, are kept.
  func removeSetAside(of application: Int32) {
    let name = URL(filePath: path).lastPathComponent
    let beginnings = [SetAsideFile.Reason.damaged, .newer].map { "\(name).\($0.rawValue)-" }
    for found in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      guard beginnings.contains(where: { found.hasPrefix($0) && Int(found.dropFirst($0.count)) != nil }) else {
        continue
      }
      let target = folder + "/" + found
      guard Self.application(of: target) == application else { continue }
      for companion in Self.companions { unlink(target + companion) }
    }
  }

  /// Reads the application ID in the header of a database; nil if there is none.
  private static func application(of path: String) -> Int32? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var number: Int32 = 0
    guard pread(descriptor, &number, 4, 68) == 4 else { return nil }
    return Int32(bigEndian: number)
  }

  /// The size of the journal in bytes.
  var journalSize: Int64 {
    var status = stat()
    return stat(path + "-wal", &status) == 0 ? Int64(status.st_size) : 0
  }

  /// Whether the name is in use, even by a broken symbolic link.
  private static func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  private func name(_ number: Int, _ reason: SetAsideFile.Reason) -> String { "\(path).\(reason.rawValue)-\(number)" }

  var folder: String {
    let folder = URL(filePath: path).deletingLastPathComponent().path
    return folder.isEmpty ? "." : folder
  }

  private static func makeFolder(_ folder: String) throws {
    if mkdir(folder, 0o700) == 0 || errno == EEXIST { return }
    let parent = URL(filePath: folder).deletingLastPathComponent().path
    guard errno == ENOENT, parent != folder, !parent.isEmpty else { throw failure(folder, "cannot be created") }
    try makeFolder(parent)
    guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw failure(folder, "cannot be created") }
  }

  private static func failure(_ path: String, _ what: String) -> any Error {
    SQLiteFailure(creatingWith: errno)
      ?? HTTPError(.file, "'\(path)' \(what): \(String(cString: strerror(errno)))", phase: .preparing)
  }
}

/// The identity of a file, independent of its name.
struct FileIdentity: Sendable, Hashable {
  let device: UInt64
  let number: UInt64

  /// No file.
  static let none = FileIdentity(device: 0, number: 0)
}

/// Prevents stores in this and other processes from opening files of a folder at the same time. So an incomplete file
/// is never opened, and a damaged one is set aside only once.
///
/// The operating system releases the lock when the process ends. If the file system has no such locks, or the lock is
/// held for more than ten seconds, the work runs without it.
enum FolderLock {
  static func holding<R>(_ folder: String, _ work: () throws -> R) rethrows -> R {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer {
      // A process that is just being started has a copy of the descriptor and would keep the lock.
      _ = flock(descriptor, LOCK_UN)
      if descriptor >= 0 { close(descriptor) }
    }
    for _ in 0..<1_000 where descriptor >= 0 {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR) { break }
      usleep(10_000)
    }
    return try work()
  }
}
