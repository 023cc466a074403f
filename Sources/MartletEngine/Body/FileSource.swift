import MartletSemantics
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Reads a file a chunk at a time.
final class FileSource: BodySource {
  /// The size of the file when it was opened: what is promised to the server.
  let length: Int64
  private let path: String
  private let state: Mutex<(descriptor: Int32, rest: Int64)>
  private static let chunkSize = 256 << 10

  init(opening url: URL) throws(HTTPError) {
    path = url.path
    guard url.isFileURL else {
      throw HTTPError(.file, "'\(url.redacted)' is no file URL: use URL(filePath:)", phase: .preparing)
    }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .file(path, "cannot be opened") }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw HTTPError(.file, "'\(path)' is not a regular file, so it cannot be sent as a body", phase: .preparing)
    }
    length = Int64(status.st_size)
    state = Mutex((descriptor, length))
  }

  func next() async throws -> Data? {
    try Task.checkCancellation()
    return try state.withLock { state in
      guard state.rest > 0 else { return nil }
      var chunk = Data(count: Int(min(Int64(Self.chunkSize), state.rest)))
      let (count, reason) = chunk.withUnsafeMutableBytes { buffer in
        var count = read(state.descriptor, buffer.baseAddress, buffer.count)
        while count < 0, errno == EINTR { count = read(state.descriptor, buffer.baseAddress, buffer.count) }
        return (count, errno)
      }
      guard count > 0 else {
        errno = reason
        throw count < 0
          ? HTTPError.file(path, "cannot be read")
          : HTTPError(.file, "'\(path)' became shorter while it was sent", phase: .sending)
      }
      state.rest -= Int64(count)
      return count == chunk.count ? chunk : chunk.prefix(count)
    }
  }

  deinit { state.withLock { _ = close($0.descriptor) } }
}

extension HTTPError {
  /// An error that names the file and the system's reason, taken from `errno`.
  static func file(_ path: String, _ what: String) -> HTTPError {
    HTTPError(.file, "'\(path)' \(what): \(String(cString: strerror(errno)))", phase: .preparing)
  }
}
