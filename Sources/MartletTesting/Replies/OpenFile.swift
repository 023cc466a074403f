import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A regular file that is open for reading: what is sent is the file whose size and age were told, be it replaced meanwhile.
final class OpenFile: Sendable {
  let size: Int64
  /// Seconds and nanoseconds since 1970 of its last change.
  let modified: (seconds: Int64, nanoseconds: Int64)
  let inode: UInt64
  private let descriptor: Int32

  init(path: String) throws(LoopbackServerError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw LoopbackServerError("'\(path)' cannot be opened: \(String(cString: strerror(errno)))")
    }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw LoopbackServerError("'\(path)' is not a regular file")
    }
    size = Int64(status.st_size)
    modified = SystemCalls.modificationTime(of: status)
    inode = UInt64(status.st_ino)
    self.descriptor = descriptor
  }

  /// The bytes there, some or all; none at the end of the file.
  func read(at offset: Int64, count: Int64) throws(LoopbackServerError) -> Data {
    guard count > 0 else { return Data() }
    var piece = Data(count: Int(count))
    let received = piece.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
    guard received >= 0 else {
      throw LoopbackServerError("a file cannot be read: \(String(cString: strerror(errno)))")
    }
    return received == piece.count ? piece : piece.prefix(received)
  }

  deinit { close(descriptor) }
}
