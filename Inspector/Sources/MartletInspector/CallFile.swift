@_spi(Toolkit) import MartletEngine
import MartletObservation
import MartletSemantics
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The file in which an inspector keeps its calls beyond the end of the program.
///
/// Each call that has ended is one record, which is written before its caller continues. A record is a JSON text
/// between the marks of RFC 7464, so that a record that was cut off spoils no other. The secrets are replaced as in an
/// archive. A full file becomes `FILE.1`, in place of the one before; both together are within the limit.
final class CallFile: Sendable {
  /// A call in the file.
  struct Record: Codable {
    var label: String?
    let entries: [HAR.Entry]
  }

  /// Held while the file is written: calls that end at the same moment write one after another.
  private let file: Mutex<OpenFile>

  /// Opens or makes the file, and locks it.
  ///
  /// - Throws: an error of kind `.file` if it cannot be used, belongs to something else, or another process has it
  ///   open.
  init(_ url: URL, limit: Int) throws(HTTPError) { file = Mutex(try OpenFile(url.path, limit: max(64 << 10, limit))) }

  deinit { close() }

  /// Returns the calls in the file, the oldest first, and the size of each.
  func read() -> [(record: Record, size: Int)] {
    file.withLock { $0.bytes }.split(separator: 0x1E).compactMap { part in
      (try? JSONDecoder().decode(Record.self, from: Data(part))).map { ($0, part.count) }
    }
  }

  /// Adds a call. If the file was removed, replaced or cut since the last record, or a record could not be written, all
  /// of them are written again.
  ///
  /// - Parameter all: the calls that belong into the file, with this one.
  /// - Returns: why it is not in the file; nil if it is.
  func append(_ record: Record, all: () -> [Record]) -> String? {
    let bytes = Self.bytes(of: record)
    if file.withLock({ $0.isWhole }) { return file.withLock { $0.append(bytes) } }
    return keepOnly(all())
  }

  /// Removes all calls but these, of which the newest stay that fit.
  func keepOnly(_ records: [Record]) -> String? {
    let records = records.map(Self.bytes)
    return file.withLock { $0.replace(with: records) }
  }

  func close() { file.withLock { $0.close() } }

  private static func bytes(of record: Record) -> Data {
    guard let json = try? JSONEncoder().encode(record) else { return Data() }
    return Data([0x1E]) + json + Data([0x0A])
  }
}

/// The open file, as its owner has written it.
private struct OpenFile: Sendable {
  /// The first record, which tells that the file belongs to an inspector.
  private static let header = Data("\u{1E}{\"martletInspector\":1}\n".utf8)
  private let path: String
  private let limit: Int
  private var descriptor: Int32
  private var size = 0
  /// Whether a record is missing because it could not be written.
  private var isIncomplete = false
  private var isClosed = false

  init(_ path: String, limit: Int) throws(HTTPError) {
    (self.path, self.limit) = (path, limit)
    descriptor = try Self.open(path)
    size = Self.size(of: descriptor)
    let begin = Self.bytes(of: descriptor, from: 0, count: Self.header.count)
    guard size == 0 || begin == Self.header else {
      close()
      throw Self.error(path, "is not a file of an inspector: choose another one")
    }
    if size == 0 { _ = write(Self.header) }
  }

  /// The newest bytes of the file before this one and of this one, within the limit.
  var bytes: Data {
    Self.earlier(than: path, limit: limit)
      + Self.bytes(of: descriptor, from: max(0, size - limit), count: limit)
  }

  /// Whether the file is at its place and has all records.
  var isWhole: Bool { isClosed || !isIncomplete && isAtItsPlace && Self.size(of: descriptor) == size }

  mutating func append(_ record: Data) -> String? {
    if isClosed { return nil }
    if size + record.count > limit / 2, let problem = rotate() { return problem }
    return write(record)
  }

  /// Writes the newest records that fit, into a new file if this one is no longer at its place.
  mutating func replace(with records: [Data]) -> String? {
    if isClosed { return nil }
    var rest = limit / 2 - Self.header.count
    let kept = records.reversed().prefix { record in
      rest -= record.count
      return rest >= 0
    }
    unlink(path + ".1")
    if isAtItsPlace, ftruncate(descriptor, 0) == 0 { size = 0 } else if let problem = begin() { return problem }
    isIncomplete = false
    return write(kept.reversed().reduce(Self.header) { $0 + $1 })
  }

  /// Ends the lock explicitly: a process that is just being started has a copy of the descriptor.
  mutating func close() {
    guard !isClosed else { return }
    isClosed = true
    _ = flock(descriptor, LOCK_UN)
    _ = systemClose(descriptor)
  }

  /// Whether the file was neither removed nor replaced.
  private var isAtItsPlace: Bool {
    var (own, named) = (stat(), stat())
    return fstat(descriptor, &own) == 0 && lstat(path, &named) == 0 && own.st_ino == named.st_ino
      && own.st_dev == named.st_dev
  }

  /// Makes the full file the earlier one, and begins another.
  private mutating func rotate() -> String? {
    guard rename(path, path + ".1") == 0 else { return failure("cannot be renamed") }
    return begin() ?? write(Self.header)
  }

  /// Begins another file at the place.
  private mutating func begin() -> String? {
    do {
      let next = try Self.open(path)
      _ = flock(descriptor, LOCK_UN)
      _ = systemClose(descriptor)
      (descriptor, size) = (next, 0)
      return ftruncate(next, 0) == 0 ? nil : failure("cannot be emptied")
    } catch {
      isIncomplete = true
      return error.message
    }
  }

  /// Writes all of the bytes or none.
  private mutating func write(_ bytes: Data) -> String? {
    var rest = bytes
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { systemWrite(descriptor, $0) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        let problem = failure("cannot be written")
        _ = ftruncate(descriptor, off_t(size))
        return problem
      }
      rest = rest.dropFirst(count)
    }
    size += bytes.count
    return nil
  }

  private mutating func failure(_ what: String) -> String {
    isIncomplete = true
    return Self.error(path, "\(what): \(String(cString: strerror(errno)))").message
  }

  // MARK: - Files

  private static func error(_ path: String, _ what: String) -> HTTPError {
    HTTPError(.file, "the inspector's file '\(path)' \(what)")
  }

  /// Opens a regular file of this user that no other process has open, readable by its owner only.
  private static func open(_ path: String) throws(HTTPError) -> Int32 {
    let flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
    let descriptor = SpareDescriptors.making { systemOpen(path, flags, 0o600) }
    guard descriptor >= 0 else {
      throw error(path, "cannot be opened: \(String(cString: strerror(errno)))")
    }
    var status = stat()
    var problem: String?
    if fstat(descriptor, &status) != 0 || status.st_mode & S_IFMT != S_IFREG || status.st_uid != geteuid()
      || status.st_nlink != 1
    {
      problem = "is not a regular file of this user with one name: choose another one"
    } else if flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      problem = "is in use by another program: give each program a file of its own"
    } else if status.st_mode & 0o077 != 0, fchmod(descriptor, 0o600) != 0 {
      problem = "can be read by others: \(String(cString: strerror(errno)))"
    }
    guard let problem else { return descriptor }
    _ = systemClose(descriptor)
    throw error(path, problem)
  }

  private static func size(of descriptor: Int32) -> Int {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
  }

  /// The bytes of the file before this one; none if there is no such file of this user.
  private static func earlier(than path: String, limit: Int) -> Data {
    let descriptor = systemOpen(path + ".1", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0)
    guard descriptor >= 0 else { return Data() }
    defer { _ = systemClose(descriptor) }
    let read = bytes(of: descriptor, from: max(0, size(of: descriptor) - limit), count: limit)
    return read.starts(with: header) ? read : Data()
  }

  private static func bytes(of descriptor: Int32, from start: Int, count: Int) -> Data {
    var result = Data()
    var buffer = [UInt8](repeating: 0, count: min(count, 256 << 10))
    while result.count < count {
      let read = pread(descriptor, &buffer, min(buffer.count, count - result.count), off_t(start + result.count))
      if read < 0, errno == EINTR { continue }
      guard read > 0 else { break }
      result += buffer[..<read]
    }
    return result
  }
}

// The names of the system's functions, which the methods above hide.
private func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { open(path, flags, mode) }
private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  write(descriptor, bytes.baseAddress, bytes.count)
}
