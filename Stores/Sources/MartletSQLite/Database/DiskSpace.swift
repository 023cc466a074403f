import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The space on the disk of a file.
struct DiskSpace {
  /// The bytes that this user can still write.
  let free: Int64
  /// The bytes of the whole disk.
  let size: Int64

  /// - Returns: nil if the operating system does not report it, for example because the folder does not exist.
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

/// The space that a cache leaves for other files, and for its own deletions, which are first written to the journal.
enum DiskReserve {
  /// 4 MiB: more than the journal, and more than the file grows when the journal is written into it.
  static let size: Int64 = 4 << 20
  /// The size at which the journal of a cache must stop growing, 8 MiB. It is emptied at 2 MiB, unless a program reads
  /// an earlier state for a long time.
  static let journalLimit: Int64 = 8 << 20

  /// Returns how many bytes a cache may store.
  ///
  /// - Parameters:
  ///   - capacity: how much it may store on an empty disk.
  ///   - stored: how much it stores now.
  ///   - unused: the unused bytes of its file.
  ///   - free: the free bytes of the disk.
  static func limit(capacity: Int64, stored: Int64, unused: Int64, free: Int64) -> Int64 {
    let shortage = size - free - unused
    return shortage <= 0 ? capacity : min(capacity, max(0, stored - shortage))
  }
}
