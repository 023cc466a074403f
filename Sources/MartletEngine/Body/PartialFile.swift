import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A file that takes its name only when it is complete.
final class PartialFile: Sendable {
  private let destination: String
  private let path: String
  private let descriptor: Int32

  /// - Parameter permissions: who may read and write it, before the process's `umask`; everybody by default.
  init(for url: URL, permissions: mode_t = 0o666) throws(HTTPError) {
    guard url.isFileURL else {
      throw HTTPError(.file, "'\(url.redacted)' is no file URL: use URL(filePath:)", phase: .preparing)
    }
    destination = url.path
    let name =
      "." + url.lastPathComponent.prefix(40) + "." + String(UInt64.random(in: .min ... .max), radix: 36) + ".partial"
    path = url.deletingLastPathComponent().appending(component: name).path
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions)
    guard descriptor >= 0 else { throw .file(destination, "cannot be written") }
  }

  func append(_ chunk: Data) throws(HTTPError) {
    var rest = chunk
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .file(destination, "cannot be written") }
      rest = rest.dropFirst(count)
    }
  }

  /// Gives the file its name, in place of what was there.
  func complete() throws(HTTPError) {
    // a full disk may show only now
    guard fsync(descriptor) == 0 || errno == EINVAL else { throw .file(destination, "cannot be written") }
    guard rename(path, destination) == 0 else { throw .file(destination, "cannot be replaced") }
  }

  deinit {
    close(descriptor)
    unlink(path)  // fails where the file has its name, which is the point
  }
}
