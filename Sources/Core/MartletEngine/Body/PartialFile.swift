package import MartletSemantics
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A file that is renamed to its destination when it is complete, and removed unless it is completed or kept.
///
/// Until then it is a hidden file in the destination's folder: `.<label>.<random>.partial`.
package final class PartialFile: Sendable {
  private let destination: String
  private let path: String
  private let descriptor: Int32
  private let state: Mutex<(count: Int64, isKept: Bool)>

  /// The permissions of a file.
  package enum Access: Sendable {
    /// Read and write for everybody, without the bits of the process's `umask`.
    case standard
    case ownerOnly

    var mode: mode_t { self == .standard ? 0o666 : 0o600 }
  }

  /// - Parameters:
  ///   - url: the destination.
  ///   - label: what the name of the partial file begins with; by default the beginning of the destination's name.
  package init(for url: URL, label: String? = nil, access: Access = .standard) throws(HTTPError) {
    guard url.isFileURL else {
      throw HTTPError(.file, "'\(url.redacted)' is not a file URL: use URL(filePath:)", phase: .preparing)
    }
    destination = url.path
    let name = PartialFileName(label: label ?? PartialFileName.label(for: url), id: .random(in: .min ... .max))
    path = url.deletingLastPathComponent().appending(component: name.text).path
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, access.mode)
    guard descriptor >= 0 else { throw .file(destination, "cannot be written") }
    flock(descriptor, LOCK_EX | LOCK_NB)
    state = Mutex((0, false))
  }

  /// Opens the file that an earlier download to this destination kept. Returns nil unless the destination's folder has
  /// exactly that file: with a name as of ``init(for:label:access:)``, the recorded device, inode and size, one link,
  /// and not in use. No other file is touched.
  init?(resuming resumption: DownloadResumption, for url: URL, label: String?) {
    guard url.isFileURL, resumption.byteCount > 0, let name = PartialFileName(resumption.file.lastPathComponent),
      name.label == label ?? PartialFileName.label(for: url)
    else { return nil }
    let path = url.deletingLastPathComponent().appending(component: name.text).path
    let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    // checked again under the lock: the download that held it may have changed, renamed or removed the file
    guard resumption.describes(.of(descriptor)), flock(descriptor, LOCK_EX | LOCK_NB) == 0,
      resumption.describes(.of(descriptor)), resumption.describes(.named(path)),
      lseek(descriptor, 0, SEEK_END) == off_t(resumption.byteCount)
    else {
      close(descriptor)
      return nil
    }
    destination = url.path
    self.path = path
    self.descriptor = descriptor
    state = Mutex((resumption.byteCount, true))
  }

  /// The partial file.
  package var url: URL { URL(filePath: path) }

  /// The device and inode of the file; nil if it cannot be read.
  var identity: FileStatus.Identity? { FileStatus.of(descriptor)?.identity }

  /// The number of bytes so far.
  var count: Int64 { state.withLock { $0.count } }

  /// Appends bytes.
  package func append(_ chunk: Data) throws(HTTPError) {
    var rest = chunk
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .file(destination, "cannot be written") }
      rest = rest.dropFirst(count)
      state.withLock { $0.count += Int64(count) }
    }
  }

  /// Removes all bytes.
  func empty() throws(HTTPError) {
    guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
      throw .file(destination, "cannot be written")
    }
    state.withLock { $0.count = 0 }
  }

  /// Sets whether the file is kept although it is not complete.
  func keep(_ isKept: Bool) { state.withLock { $0.isKept = isKept } }

  /// Renames the file to its destination, replacing a file there.
  package func complete() throws(HTTPError) {
    // a full disk may show only now
    guard fsync(descriptor) == 0 || errno == EINVAL else { throw .file(destination, "cannot be written") }
    guard rename(path, destination) == 0 else { throw .file(destination, "cannot be replaced") }
    keep(true)
  }

  deinit {
    // before the descriptor is closed, which ends the lock: another download must not open a file that is about to be
    // removed
    if !state.withLock({ $0.isKept }) { unlink(path) }
    // not left to `close`: a process that is just being started has a copy of the descriptor, and with it the lock
    _ = flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}

/// The name of a partial file, `.<label>.<id>.partial`.
struct PartialFileName {
  let label: String
  private let id: String

  init(label: String, id: UInt64) {
    (self.label, self.id) = (label, String(id, radix: 36))
  }

  /// Parses a name; nil if it is not of that form, or contains a slash.
  init?(_ name: String) {
    let ending = ".partial"
    guard name.hasPrefix("."), name.hasSuffix(ending), !name.contains("/"), !name.utf8.contains(0) else { return nil }
    let inner = name.dropFirst().dropLast(ending.count)
    guard let dot = inner.lastIndex(of: ".") else { return nil }
    let id = inner[inner.index(after: dot)...]
    guard UInt64(id, radix: 36).map({ String($0, radix: 36) }) == String(id) else { return nil }
    (label, self.id) = (String(inner[..<dot]), String(id))
  }

  var text: String { ".\(label).\(id).partial" }

  /// 40 scalars are 160 bytes at most, of the 255 that a name may have. The dot of a hidden file is left out: the partial file
  /// has its own.
  static func label(for destination: URL) -> String {
    String(String.UnicodeScalarView(destination.lastPathComponent.unicodeScalars.drop { $0 == "." }.prefix(40)))
  }
}

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

  private init(_ status: stat) {
    identity = Identity(device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(status.st_ino))
    size = Int64(status.st_size)
    isOwnAndSingle = status.st_mode & S_IFMT == S_IFREG && status.st_nlink == 1 && status.st_uid == geteuid()
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
}

extension DownloadResumption {
  /// Whether a file is the one that was kept, with the same size.
  func describes(_ status: FileStatus?) -> Bool {
    guard let status, let identity else { return false }
    return status.isOwnAndSingle && status.identity == identity && status.size == byteCount
  }
}
