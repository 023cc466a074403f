#if os(Linux)
@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The file in which the secrets of TLS sessions are written, in the format of `SSLKEYLOGFILE`
/// (draft-ietf-tls-keylogfile). It stays open while a context has it.
final class KeyLogFile: Sendable {
  private let descriptor: Int32

  /// Opens the file, or makes it, so that only its owner can read it.
  ///
  /// - Throws: ``HTTPError/Kind/tlsFailed`` if it cannot be written, or belongs to another user.
  init(_ url: URL) throws(HTTPError) {
    guard url.isFileURL else { throw Self.failure(url, "is not a file URL: use URL(filePath:)") }
    // Without O_NONBLOCK, a named pipe without a reader would be waited for.
    let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK
    descriptor = SpareDescriptors.making { open(url.path, flags, 0o600) }
    guard descriptor >= 0 else { throw Self.failure(url, "cannot be written: \(String(cString: strerror(errno)))") }
    if let problem = Self.problem(of: descriptor) {
      close(descriptor)
      throw Self.failure(url, problem)
    }
  }

  deinit { close(descriptor) }

  /// Appends a line. One call writes it, so that lines of several threads and processes are not mixed. A failure is
  /// ignored: connections must not depend on the file.
  func append(_ line: UnsafePointer<CChar>) {
    let bytes = Array((String(cString: line) + "\n").utf8)
    var rest = bytes[...]
    while !rest.isEmpty {
      let (count, code) = rest.withUnsafeBytes { PipeSignal.write(descriptor, $0) }
      if count < 0, code == EINTR { continue }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Why the file must not get secrets; nil if it may. The permissions of a file and of a named pipe are corrected.
  private static func problem(of descriptor: Int32) -> String? {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return "cannot be examined" }
    guard [S_IFREG, S_IFIFO].contains(status.st_mode & S_IFMT) else { return nil }
    guard status.st_uid == geteuid() else {
      return "belongs to another user, who could read the secrets: name a file of your own"
    }
    guard status.st_mode & 0o077 != 0, fchmod(descriptor, 0o600) != 0 else { return nil }
    return "can be read by others, and its permissions cannot be changed: name another file"
  }

  private static func failure(_ url: URL, _ problem: String) -> HTTPError {
    HTTPError(.tlsFailed, "tls.keyLog: '\(url.isFileURL ? url.path : url.redacted)' \(problem)", phase: .preparing)
  }
}
#endif
