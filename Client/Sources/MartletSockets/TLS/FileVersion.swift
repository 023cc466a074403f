#if os(Linux)
import CSockets

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Distinguishes versions of a file's content without reading it. A missing file has a version, too.
struct FileVersion: Hashable, Sendable {
  private var numbers: [Int] = []

  /// - Parameter path: the file; links are followed.
  init(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return }
    numbers = [
      Int(truncatingIfNeeded: status.st_dev), Int(truncatingIfNeeded: status.st_ino), Int(status.st_size),
      status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
    ]
  }
}
#endif
