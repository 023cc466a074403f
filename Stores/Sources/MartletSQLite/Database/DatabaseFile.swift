@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics

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
  /// The symbolic link that led to the file; nil if none did.
  private let link: String?
  /// The application ID of the store's databases.
  private let application: Int32

  private static let companions = ["", "-wal", "-shm"]

  init(_ url: URL, of application: Int32) throws(HTTPError) {
    guard url.isFileURL else {
      throw HTTPError(.file, "'\(url.redacted)' is not a file URL: use URL(filePath:)", phase: .preparing)
    }
    let named = url.absoluteURL.path
    path = Self.target(of: named)
    link = path == named ? nil : named
    self.application = application
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
  var identity: FileIdentity { FileIdentity(Self.status(of: path)) }

  /// What a look at the files shows without reading them.
  var stamp: FileStamp {
    let (file, journal) = (Self.status(of: path), Self.status(of: path + "-wal"))
    return FileStamp(
      identity: FileIdentity(file), journal: FileIdentity(journal),
      sharedMemory: FileIdentity(Self.status(of: path + "-shm")), size: Int64(file?.st_size ?? 0),
      modified: file?.modified ?? 0, journalSize: Int64(journal?.st_size ?? 0))
  }

  private static func status(of path: String) -> stat? {
    var status = stat()
    return stat(path, &status) == 0 ? status : nil
  }

  /// Makes an empty file and its folder if they do not exist. Only the owner can read them; SQLite creates its two
  /// files with the same permissions. An existing file is not changed: it may be another program's.
  ///
  /// - Throws: ``SQLiteFailure`` if the disk is full; otherwise ``Martlet/HTTPError``, also if the path leads to
  ///   something else than a regular file.
  func create() throws {
    try Self.makeFolder(folder)
    let descriptor = SpareDescriptors.making { open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600) }
    if descriptor >= 0 {
      close(descriptor)
    } else if errno != EEXIST {
      throw Self.failure(path, "cannot be created")
    } else {
      var status = stat()
      guard stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { return }
      throw HTTPError(.file, "\(shown) is not a regular file: name another file for the store", phase: .preparing)
    }
  }

  /// Removes other users' permissions from the files of a store, which are known to be its own.
  func restrictPermissions() {
    for companion in Self.companions {
      var status = stat()
      guard lstat(path + companion, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0
      else { continue }
      chmod(path + companion, 0o600)
    }
  }

  /// Whether a file begins as every SQLite database does, or has the store's application ID in its header: it may have
  /// been damaged.
  func isDatabase(_ header: [UInt8]) -> Bool {
    header.starts(with: "SQLite format 3\0".utf8)
      || withUnsafeBytes(of: application.bigEndian) { header.dropFirst(68).prefix(4).elementsEqual($0) }
  }

  /// The error of a file that no database begins with. It is another program's, or a text of the user, and stays.
  var notADatabase: HTTPError {
    HTTPError(
      .file, "\(shown) is not a SQLite database, and is left as it is: name another file for the store, or remove it",
      phase: .preparing)
  }

  /// The file in a message, with the link that led to it.
  private var shown: String { link.map { "'\($0)', a link to '\(path)'," } ?? "'\(path)'" }

  /// Renames the file and its companions to the first unused `<name>.<reason>-<n>`, with n starting at 1.
  ///
  /// - Throws: ``Martlet/HTTPError`` also for a file that a symbolic link led to: the link may not have been
  ///   made for this store.
  func setAside(because reason: SetAsideFile.Reason) throws -> SetAsideFile {
    if link != nil {
      throw HTTPError(
        .file,
        "\(shown) \(reason.words), and is left as it is because a link leads to it: name another file for the store, "
          + "or remove it", phase: .preparing)
    }
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
  /// files that lost their application ID through damage, are kept.
  func removeSetAside() {
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
    let descriptor = SpareDescriptors.making { open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) }
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var number: Int32 = 0
    guard pread(descriptor, &number, 4, 68) == 4 else { return nil }
    return Int32(bigEndian: number)
  }

  /// The size of the file in bytes. SQLite itself takes a file of one byte for an empty one.
  var size: Int64 { Int64(Self.status(of: path)?.st_size ?? 0) }

  /// The size of the journal in bytes.
  var journalSize: Int64 { Int64(Self.status(of: path + "-wal")?.st_size ?? 0) }

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

extension FileIdentity {
  fileprivate init(_ status: stat?) {
    self = status.map { Self(device: UInt64(truncatingIfNeeded: $0.st_dev), number: UInt64($0.st_ino)) } ?? .none
  }
}

/// The files of a database at one time, as far as a look at them shows.
struct FileStamp: Sendable {
  let identity: FileIdentity
  fileprivate let journal: FileIdentity
  fileprivate let sharedMemory: FileIdentity
  fileprivate let size: Int64
  fileprivate let modified: Int64
  fileprivate let journalSize: Int64

  /// Whether the pages that a connection remembers from the time of this stamp may differ from those in the files.
  ///
  /// SQLite tells connections about what other connections commit, but not about damage, or about files that were
  /// deleted. So the file must not have changed, not even by another connection that wrote the journal into it, and the
  /// journal must not have become shorter. What others commit only makes it longer.
  func isOutdated(by now: FileStamp) -> Bool {
    (identity, journal, sharedMemory) != (now.identity, now.journal, now.sharedMemory)
      || (size, modified) != (now.size, now.modified) || now.journalSize < journalSize
  }
}

extension stat {
  /// When the content last changed, in nanoseconds.
  fileprivate var modified: Int64 {
    #if canImport(Darwin)
    let time = st_mtimespec
    #else
    let time = st_mtim
    #endif
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}

/// Prevents stores in this and other processes from opening files of a folder at the same time. So an incomplete file
/// is never opened, and a damaged one is set aside only once.
///
/// The operating system releases the lock when the process ends. If the file system has no such locks, or the lock is
/// held for more than ten seconds, the work runs without it.
enum FolderLock {
  static func holding<R>(_ folder: String, _ work: () throws -> R) rethrows -> R {
    let descriptor = SpareDescriptors.making { open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
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
