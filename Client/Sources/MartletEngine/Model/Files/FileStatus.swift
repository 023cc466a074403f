import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The status of a file.
struct FileStatus {
  /// Identifies a file independently of its name.
  struct Identity: Sendable, Hashable, Codable {
    let device: UInt64
    let inode: UInt64
  }

  let identity: Identity
  /// The kinds of files that writers and readers distinguish.
  enum Kind {
    case regular, folder, link, pipe, socket, device
  }

  let kind: Kind
  let size: Int64
  let owner: uid_t
  let group: gid_t
  /// The number of its names.
  let links: UInt64
  /// Whether it has space on a disk. A file that is made when it is read has none.
  let hasBlocks: Bool
  private let mode: mode_t

  /// Whether it is a regular file of this process's user with one link.
  var isOwnAndSingle: Bool { kind == .regular && links == 1 && owner == geteuid() }
  /// The permissions of a regular file; nil for anything else.
  var permissions: mode_t? { kind == .regular ? mode & 0o777 : nil }

  private init(_ status: stat) {
    identity = Identity(device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(status.st_ino))
    size = Int64(status.st_size)
    mode = status.st_mode
    hasBlocks = status.st_blocks > 0
    (owner, group, links) = (status.st_uid, status.st_gid, UInt64(status.st_nlink))
    kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .regular
      case S_IFDIR: .folder
      case S_IFLNK: .link
      case S_IFIFO: .pipe
      case S_IFSOCK: .socket
      default: .device
      }
  }

  static func of(_ descriptor: Int32) -> FileStatus? {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? FileStatus(status) : nil
  }

  /// The status of a path; a symbolic link is not followed.
  static func named(_ path: String) -> FileStatus? {
    var status = stat()
    return lstat(path, &status) == 0 ? FileStatus(status) : nil
  }

  /// The status of the file that a path leads to; nil if there is none, or a link is not followed.
  static func following(_ path: String) -> FileStatus? {
    var status = stat()
    return stat(path, &status) == 0 ? FileStatus(status) : nil
  }

  /// The error of a symbolic link that the system does not follow.
  struct UnfollowedLink: Error {
    /// The system's error code.
    let code: Int32
  }

  /// Returns the file that symbolic links lead to, which may be missing.
  ///
  /// - Throws: ``UnfollowedLink`` if the system does not follow them (`protected_symlinks`) or there are too many.
  static func followingLinks(_ url: URL) throws(UnfollowedLink) -> URL {
    var status = stat()
    guard lstat(url.path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return url }
    guard stat(url.path, &status) == 0 || errno == ENOENT else { throw UnfollowedLink(code: errno) }
    var path = url.path
    while let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) {
      // Joined as text, and `..` is left to the system: the folder may itself be a link, and then `..` is the folder
      // above the one that it leads to.
      let folder = path[..<(path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex)]
      path = target.utf8.first == UInt8(ascii: "/") ? target : "\(folder)/\(target)"
    }
    return URL(filePath: path)
  }
}
