import MartletSemantics
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A file that takes its name only when it is complete, and goes when nobody completes or keeps it.
final class PartialFile: Sendable {
  private let destination: String
  private let path: String
  private let descriptor: Int32
  private let state: Mutex<(count: Int64, isKept: Bool)>

  /// - Parameter permissions: who may read and write it, before the process's `umask`; everybody by default.
  init(for url: URL, permissions: mode_t = 0o666) throws(HTTPError) {
    guard url.isFileURL else {
      throw HTTPError(.file, "'\(url.redacted)' is no file URL: use URL(filePath:)", phase: .preparing)
    }
    destination = url.path
    // 40 scalars are 160 bytes at most, of the 255 that a name may have
    let beginning = String(url.lastPathComponent.unicodeScalars.prefix(40))
    let name = "." + beginning + "." + String(UInt64.random(in: .min ... .max), radix: 36) + ".partial"
    path = url.deletingLastPathComponent().appending(component: name).path
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions)
    guard descriptor >= 0 else { throw .file(destination, "cannot be written") }
    flock(descriptor, LOCK_EX | LOCK_NB)
    state = Mutex((0, false))
  }

  /// Goes on with what an earlier download kept, and at the beginning where that is shorter than it was. nil where it is not
  /// there any more, belongs to a download that runs, or lies on another volume than the destination, where it could not
  /// get its name.
  init?(resuming resumption: DownloadResumption, for url: URL) {
    guard url.isFileURL, resumption.file.isFileURL, resumption.byteCount > 0 else { return nil }
    let path = resumption.file.path
    let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    let folder = url.deletingLastPathComponent().path
    guard let count = Self.usable(descriptor, at: path, upTo: resumption.byteCount, beside: folder) else {
      close(descriptor)
      return nil
    }
    destination = url.path
    self.path = path
    self.descriptor = descriptor
    state = Mutex((count, count > 0))
  }

  /// Locks the file, and cuts off what came after the download had said how far it was. Returns how much is left.
  private static func usable(
    _ descriptor: Int32, at path: String, upTo count: Int64, beside folder: String
  ) -> Int64? {
    var (file, place, named) = (stat(), stat(), stat())
    // the name last: whoever had the lock until now may have given the file another one, or removed it
    guard fstat(descriptor, &file) == 0, file.st_mode & S_IFMT == S_IFREG, stat(folder, &place) == 0,
      place.st_dev == file.st_dev, flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &file) == 0,
      lstat(path, &named) == 0, named.st_dev == file.st_dev, named.st_ino == file.st_ino
    else { return nil }
    let usable = Int64(file.st_size) >= count ? count : 0
    guard ftruncate(descriptor, off_t(usable)) == 0, lseek(descriptor, off_t(usable), SEEK_SET) == off_t(usable) else {
      return nil
    }
    return usable
  }

  /// Where the bytes are until the file is complete.
  var url: URL { URL(filePath: path) }

  /// The bytes so far.
  var count: Int64 { state.withLock { $0.count } }

  func append(_ chunk: Data) throws(HTTPError) {
    var rest = chunk
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .file(destination, "cannot be written") }
      rest = rest.dropFirst(count)
      state.withLock { $0.count += Int64(count) }
    }
  }

  /// Forgets all bytes.
  func empty() throws(HTTPError) {
    guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
      throw .file(destination, "cannot be written")
    }
    state.withLock { $0.count = 0 }
  }

  /// Whether the file stays where it is although it is not complete.
  func keep(_ isKept: Bool) { state.withLock { $0.isKept = isKept } }

  /// Gives the file its name, in place of what was there.
  func complete() throws(HTTPError) {
    // a full disk may show only now
    guard fsync(descriptor) == 0 || errno == EINVAL else { throw .file(destination, "cannot be written") }
    guard rename(path, destination) == 0 else { throw .file(destination, "cannot be replaced") }
    keep(true)
  }

  deinit {
    // before the lock goes with the descriptor: who waits for it must not get what is about to vanish
    if !state.withLock({ $0.isKept }) { unlink(path) }
    close(descriptor)
  }
}
