import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The room on the disk of a file.
struct DiskSpace {
  /// The bytes that this user can still write.
  let free: Int64
  /// The bytes of the whole disk.
  let size: Int64

  /// - Returns: nil if the operating system does not tell, for example because the folder does not exist.
  init?(of path: String) {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { return nil }
    let block = Int64(clamping: status.f_frsize)
    free = Int64(clamping: status.f_bavail).multipliedReportingOverflow(by: block).partialValue
    size = Int64(clamping: status.f_blocks).multipliedReportingOverflow(by: block).partialValue
  }

  /// Returns the folder at which the disk of a file or folder is mounted.
  static func mountPoint(of path: String) -> String {
    var url = URL(filePath: path)
    while url.path != "/", device(of: url.path) == nil { url = url.deletingLastPathComponent() }
    let device = device(of: url.path)
    while url.path != "/", Self.device(of: url.deletingLastPathComponent().path) == device {
      url = url.deletingLastPathComponent()
    }
    return url.path
  }

  private static func device(of path: String) -> UInt64? {
    var status = stat()
    return stat(path, &status) == 0 ? UInt64(truncatingIfNeeded: status.st_dev) : nil
  }
}

/// The room that a cache leaves to other files, and to its own deletions, which are written to the journal first.
enum DiskReserve {
  /// 4 MiB: more than the journal, and than what the file grows by when that is written into it.
  static let size: Int64 = 4 << 20
  /// The size at which the journal of a cache may not grow any more, 8 MiB. It is emptied at 2 MiB, unless a program
  /// reads an earlier state for a long time.
  static let journalLimit: Int64 = 8 << 20

  /// Returns how many bytes a cache may store.
  ///
  /// - Parameters:
  ///   - capacity: What it may store on an empty disk.
  ///   - stored: What it stores now.
  ///   - unused: The bytes of its file that hold nothing any more.
  ///   - free: The bytes that the disk has left.
  static func limit(capacity: Int64, stored: Int64, unused: Int64, free: Int64) -> Int64 {
    let shortage = size - free - unused
    return shortage <= 0 ? capacity : min(capacity, max(0, stored - shortage))
  }
}
