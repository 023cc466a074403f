public import MartletSemantics
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A file that takes the place of its destination when it is complete, and is removed unless it is completed or kept.
/// Only a regular file is replaced: see ``FileReplacement``.
///
/// Until then it is a hidden file in the destination's folder: `.<label>.<random>.partial`.
@_spi(Toolkit) public final class PartialFile: Sendable {
  private let replacement: FileReplacement
  private let path: String
  private let descriptor: Int32
  private let state: Mutex<(count: Int64, isKept: Bool)>

  /// The permissions of a file.
  public enum Access: Sendable {
    /// The permissions of the replaced file, with its owner, group and extended attributes, as far as this process may
    /// set them. If no file is replaced, read and write for everybody, minus the process's `umask`. A symbolic link
    /// stands for the file that it leads to, and so does each name of a file that has several.
    case standard
    /// Read and write for the owner. A link is replaced, not followed, so that a secret is not written where it leads.
    case ownerOnly
  }

  /// - Parameters:
  ///   - url: the destination.
  ///   - label: the beginning of the partial file's name; by default the beginning of the destination's name.
  ///   - phase: the phase of the attempt, for an error; nil if the file belongs to none. Later errors are of the phase
  ///     `.receiving`.
  public init(
    for url: URL, label: String? = nil, access: Access = .standard, phase: HTTPError.Phase?
  ) throws(HTTPError) {
    replacement = try FileReplacement(of: url, access, phase: phase)
    let place = replacement.url
    let name = PartialFileName(label: label ?? PartialFileName.label(for: place), id: .random(in: .min ... .max))
    path = place.deletingLastPathComponent().appending(component: name.text).path
    let mode = replacement.initialMode
    descriptor = SpareDescriptors.making { [path] in open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode) }
    guard descriptor >= 0 else { throw .file(place.path, "cannot be written", code: errno, phase: phase) }
    flock(descriptor, LOCK_EX | LOCK_NB)
    state = Mutex((0, false))
  }

  /// Opens the file that an earlier download to this destination kept. Returns nil unless the destination's folder has
  /// exactly that file: with a name as made by ``init(for:label:access:phase:)``, the recorded device, inode and size,
  /// one link, and not in use. No other file is touched.
  init?(resuming resumption: DownloadResumption, for url: URL, label: String?, access: Access) {
    guard resumption.byteCount > 0, let replacement = try? FileReplacement(of: url, access, phase: nil),
      let name = PartialFileName(resumption.file.lastPathComponent),
      name.label == label ?? PartialFileName.label(for: replacement.url)
    else { return nil }
    let path = replacement.url.deletingLastPathComponent().appending(component: name.text).path
    let descriptor = SpareDescriptors.making { open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) }
    guard descriptor >= 0 else { return nil }
    // Checked again under the lock: the download that held it may have changed, renamed or removed the file.
    guard resumption.describes(.of(descriptor)), flock(descriptor, LOCK_EX | LOCK_NB) == 0,
      resumption.describes(.of(descriptor)), resumption.describes(.named(path)),
      lseek(descriptor, 0, SEEK_END) == off_t(resumption.byteCount)
    else {
      close(descriptor)
      return nil
    }
    self.replacement = replacement
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
  public func append(_ chunk: Data) throws(HTTPError) {
    var rest = chunk
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure("cannot be written", errno) }
      rest = rest.dropFirst(count)
      state.withLock { $0.count += Int64(count) }
    }
  }

  /// Reads all bytes, in pieces.
  func read(_ piece: (UnsafeRawBufferPointer) -> Void) throws(HTTPError) {
    var (buffer, offset) = ([UInt8](repeating: 0, count: 256 << 10), Int64(0))
    while true {
      let count = pread(descriptor, &buffer, buffer.count, off_t(offset))
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure("cannot be read again", errno) }
      guard count > 0 else { return }
      buffer.withUnsafeBytes { piece(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
      offset += Int64(count)
    }
  }

  /// Removes all bytes.
  func empty() throws(HTTPError) {
    guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
      throw failure("cannot be written", errno)
    }
    state.withLock { $0.count = 0 }
  }

  /// Sets whether an incomplete file is kept.
  func keep(_ isKept: Bool) { state.withLock { $0.isKept = isKept } }

  /// Puts the file in the place of its destination.
  ///
  /// - Throws: an error of kind `.file` also if there is something else than a regular file in the meantime.
  public func complete() throws(HTTPError) {
    // A full disk may show only now.
    guard fsync(descriptor) == 0 || errno == EINVAL else { throw failure("cannot be written", errno) }
    try replacement.take(path, descriptor)
    keep(true)
  }

  /// Returns the error of a call that failed after the file was opened.
  private func failure(_ what: String, _ code: Int32) -> HTTPError {
    .file(replacement.url.path, what, code: code, phase: .receiving)
  }

  deinit {
    // Before the descriptor is closed, which ends the lock: another download must not open a file that is about to be
    // removed.
    if !state.withLock({ $0.isKept }) { unlink(path) }
    // Closing alone is not enough: a process that is just being started has a copy of the descriptor, and thus the
    // lock.
    _ = flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}
