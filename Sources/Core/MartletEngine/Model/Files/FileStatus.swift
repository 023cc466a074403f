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
  let size: Int64
  /// Whether it is a regular file of this process's user with one link.
  let isOwnAndSingle: Bool
  /// The permissions of a regular file; nil for anything else.
  let permissions: mode_t?

  private init(_ status: stat) {
    identity = Identity(device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(status.st_ino))
    size = Int64(status.st_size)
    let isRegular = status.st_mode & S_IFMT == S_IFREG
    isOwnAndSingle = isRegular && status.st_nlink == 1 && status.st_uid == geteuid()
    permissions = isRegular ? status.st_mode & 0o777 : nil
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
