import MartletEngine
import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The file of a database, with the two that SQLite keeps beside it.
///
/// It is never opened here once it exists: closing a descriptor of it would let go of SQLite's locks in this process.
struct DatabaseFile: Sendable {
  let path: String

  private static let companions = ["", "-wal", "-shm"]

  init(_ url: URL) throws(HTTPError) {
    guard url.isFileURL else {
      throw HTTPError(.file, "'\(url.redacted)' is no file URL: use URL(filePath:)", phase: .preparing)
    }
    path = url.absoluteURL.path
  }

  /// Which file the name means at the moment.
  var identity: FileIdentity {
    var status = stat()
    guard stat(path, &status) == 0 else { return .none }
    return FileIdentity(device: UInt64(truncatingIfNeeded: status.st_dev), number: UInt64(status.st_ino))
  }

  /// Makes an empty file where there is none, and its folder. Nobody but the owner can read any of it; SQLite gives its
  /// own two files the same permissions.
  func make() throws(HTTPError) {
    try Self.makeFolder(folder)
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if descriptor >= 0 {
      close(descriptor)
    } else if errno != EEXIST {
      throw Self.failure(path, "cannot be made")
    } else {
      for companion in Self.companions { Self.closeToOthers(path + companion, isLinkFollowed: companion.isEmpty) }
    }
  }

  /// Takes others' permissions away from a file, where they have any; nothing else than a file is touched. The caller's own name
  /// may be a symbolic link, SQLite's names are none.
  private static func closeToOthers(_ path: String, isLinkFollowed: Bool) {
    var status = stat()
    guard (isLinkFollowed ? stat(path, &status) : lstat(path, &status)) == 0, status.st_mode & S_IFMT == S_IFREG,
      status.st_mode & 0o077 != 0
    else { return }
    chmod(path, 0o600)
  }

  /// Renames the file and its companions to the first free `<name>.<n>.<reason>`, with the n counted from 1.
  func setAside(because reason: SetAsideFile.Reason) throws(HTTPError) -> SetAsideFile {
    var number = 1
    var target = name(number, reason)
    while Self.companions.contains(where: { Self.isTaken(target + $0) }) {
      number += 1
      target = name(number, reason)
    }
    for companion in Self.companions where rename(path + companion, target + companion) != 0 && companion.isEmpty {
      throw Self.failure(path, "cannot be set aside")
    }
    return SetAsideFile(file: URL(filePath: path), movedTo: URL(filePath: target), reason: reason)
  }

  /// Whether anything has that name, also a link that leads nowhere.
  private static func isTaken(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  private func name(_ number: Int, _ reason: SetAsideFile.Reason) -> String { "\(path).\(reason.rawValue)-\(number)" }

  var folder: String {
    let folder = URL(filePath: path).deletingLastPathComponent().path
    return folder.isEmpty ? "." : folder
  }

  private static func makeFolder(_ folder: String) throws(HTTPError) {
    if mkdir(folder, 0o700) == 0 || errno == EEXIST { return }
    let parent = URL(filePath: folder).deletingLastPathComponent().path
    guard errno == ENOENT, parent != folder, !parent.isEmpty else { throw failure(folder, "cannot be made") }
    try makeFolder(parent)
    guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw failure(folder, "cannot be made") }
  }

  private static func failure(_ path: String, _ what: String) -> HTTPError {
    HTTPError(.file, "'\(path)' \(what): \(String(cString: strerror(errno)))", phase: .preparing)
  }
}

/// Which file something is, whatever its name.
struct FileIdentity: Sendable, Hashable {
  let device: UInt64
  let number: UInt64

  /// No file.
  static let none = FileIdentity(device: 0, number: 0)
}
