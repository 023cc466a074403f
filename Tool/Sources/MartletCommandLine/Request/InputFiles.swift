import Dispatch
@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Reads the files that the command line names, and standard input.
struct InputFiles: Sendable {
  /// The folder for relative paths.
  let folder: URL
  /// The descriptor of standard input.
  let input: Int32
  /// The maximum number of bytes of a file that becomes a message, or part of a body or a field.
  static let textLimit: Int64 = 64 << 20

  func url(_ path: String) -> URL { URL(filePath: path, relativeTo: folder).absoluteURL }

  func text(_ source: RequestItem.Source) throws(UsageError) -> String {
    switch source {
    case .text(let text): return text
    case .file(let path):
      guard FileManager.default.fileExists(atPath: url(path).path) else {
        throw UsageError("there is no file '\(path)': with a backslash, 'name=\\@\(path)', it is the text '@\(path)'")
      }
      return try contents(of: path)
    }
  }

  /// The text in a file, or in standard input for `-`.
  func contents(of path: String) throws(UsageError) -> String {
    if path != "-" { try check(path) }
    let bytes = try bytes(of: path, remedy: "send it with name@\(path) and --form, or as the body with @")
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw UsageError("'\(path)' is not text in UTF-8: send it with name@\(path) and --form, or as the body with @")
    }
    return text
  }

  /// Reads a file of at most ``textLimit`` bytes. A device may have no end.
  ///
  /// - Parameter remedy: what to do with a larger file.
  func bytes(of path: String, remedy: String) throws(UsageError) -> Data {
    try reader(path).all(limit: Int(Self.textLimit), tooLong: "'\(path)' has more than 64 MiB: \(remedy)")
  }

  /// Checks that a file can be read, so that a misspelled name is not reported as a failed request.
  func check(_ path: String) throws(UsageError) {
    let name = url(path).path
    var status = stat()
    guard stat(name, &status) == 0 else { throw UsageError("there is no file '\(path)'") }
    guard status.st_mode & S_IFMT != S_IFDIR else { throw UsageError("'\(path)' is a folder: name a file") }
    guard access(name, R_OK) == 0 else { throw UsageError("'\(path)' cannot be read: check its permissions") }
  }

  /// Whether standard input is a file or a pipe. A terminal, a device such as /dev/null, and a socket, which is the
  /// standard input of services, are not a body.
  var hasStandardInput: Bool {
    var status = stat()
    guard fstat(input, &status) == 0 else { return false }
    let type = status.st_mode & S_IFMT
    return type == S_IFREG || type == S_IFIFO
  }

  /// Whether standard input is a file or a pipe that has bytes at this moment. It reads none of them.
  var hasUnreadInput: Bool {
    guard hasStandardInput else { return false }
    var status = stat()
    if fstat(input, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
      return lseek(input, 0, SEEK_CUR) < status.st_size
    }
    var watched = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
    return poll(&watched, 1, 0) == 1 && watched.revents & Int16(POLLIN) != 0
  }

  /// Standard input as a body, read as it is sent.
  func standardInput() throws(UsageError) -> RequestBody {
    var status = stat()
    guard fstat(input, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return .singleUse(standardInputChunks) }
    let rest = Int64(status.st_size) - Int64(max(0, lseek(input, 0, SEEK_CUR)))
    if rest > 0 { return .singleUse(length: rest, standardInputChunks) }
    // The size of a file of the system may be 0 although it has content.
    switch standardInputChunks.reader.read() {
    case .success(let first):
      return first.isEmpty ? .singleUse(length: 0, standardInputChunks) : .singleUse(standardInputChunks.after(first))
    case .failure(let error): throw UsageError(error.message)
    }
  }

  /// A file as a body, which was checked. A pipe, such as the one of `@<(command)`, or a device can be read once.
  func body(_ path: String) throws(UsageError) -> RequestBody {
    let url = url(path)
    var status = stat()
    guard stat(url.path, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { return .file(url) }
    return .singleUse(DescriptorChunks(try reader(path)))
  }

  private func reader(_ path: String) throws(UsageError) -> Reader {
    let file = path == "-" ? "/dev/fd/\(input)" : url(path).path
    let descriptor = SpareDescriptors.making { open(file, O_RDONLY | O_CLOEXEC) }
    guard descriptor >= 0 else { throw UsageError("'\(path)' cannot be read: \(String(cString: strerror(errno)))") }
    return Reader(descriptor: descriptor, name: "'\(path)'", isOwned: true)
  }
}

extension InputFiles {
  /// The content of a file with a key, and whether other users may read it.
  struct Key {
    let bytes: Data
    let isOpenToOthers: Bool
  }

  /// Reads a file with a key: at most 64 KiB, as the keys themselves.
  func key(_ path: String) throws(UsageError) -> Key {
    try check(path)
    let file = url(path).path
    let descriptor = SpareDescriptors.making { open(file, O_RDONLY | O_CLOEXEC) }
    guard descriptor >= 0 else { throw UsageError("'\(path)' cannot be read: \(String(cString: strerror(errno)))") }
    let reader = Reader(descriptor: descriptor, name: "'\(path)'", isOwned: true)
    var status = stat()
    // Of the open file, which a link may name. The permissions of a pipe or a device say nothing about its readers.
    let isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    let bytes = try reader.all(limit: 64 << 10, tooLong: "'\(path)' has more than 64 KiB: name a file with one key")
    return Key(bytes: bytes, isOpenToOthers: isFile && status.st_mode & 0o077 != 0)
  }

  /// Whether standard input is a terminal.
  var isTerminal: Bool { isatty(input) == 1 }

  /// The lines of standard input, without their ends. They arrive as they are written; a read may wait forever.
  var lines: InputLines { InputLines(chunks: standardInputChunks) }

  private var standardInputChunks: DescriptorChunks {
    DescriptorChunks(Reader(descriptor: input, name: "standard input", isOwned: false))
  }
}

/// The lines of a descriptor, as bytes.
struct InputLines: AsyncSequence, AsyncIteratorProtocol {
  private var chunks: DescriptorChunks
  private var splitter = LineSplitter(limit: Int(InputFiles.textLimit))

  fileprivate init(chunks: DescriptorChunks) { self.chunks = chunks }

  func makeAsyncIterator() -> Self { self }

  mutating func next() async throws -> Data? {
    do {
      while true {
        if let line = try splitter.next() { return Data(line) }
        guard let chunk = try await chunks.next() else { return try splitter.last().map { Data($0) } }
        splitter.append(chunk)
      }
    } catch let error as LineSplitter.LineTooLong {
      throw UsageError("line \(error.number) of standard input has more than 64 MiB: send shorter lines")
    }
  }
}

/// The bytes of a descriptor.
private struct DescriptorChunks: AsyncSequence, AsyncIteratorProtocol, Sendable {
  let reader: Reader
  /// Bytes that were read before.
  private var first: Data?

  init(_ reader: Reader) { self.reader = reader }

  func after(_ first: Data) -> DescriptorChunks {
    var copy = self
    copy.first = first
    return copy
  }

  func makeAsyncIterator() -> Self { self }

  /// Returns the bytes of one ``Reader/read()``, which may wait forever and so has its own thread; nil at the end.
  mutating func next() async throws -> Data? {
    if let first = first.take() { return first }
    let result: Result<Data, HTTPError> = await withCheckedContinuation { [reader] continuation in
      DispatchQueue.global().async { continuation.resume(returning: reader.read()) }
    }
    let data = try result.get()
    return data.isEmpty ? nil : data
  }
}

/// A descriptor that is read to its end.
private final class Reader: Sendable {
  private let descriptor: Int32
  /// What errors call it.
  private let name: String
  private let isOwned: Bool

  /// - Parameter isOwned: whether the descriptor is closed when the last reference is released.
  init(descriptor: Int32, name: String, isOwned: Bool) {
    (self.descriptor, self.name, self.isOwned) = (descriptor, name, isOwned)
  }

  deinit { if isOwned { close(descriptor) } }

  /// Blocks until the end, and returns all bytes.
  ///
  /// - Parameter problem: the error for more than `limit` bytes.
  func all(limit: Int, tooLong problem: @autoclosure () -> String) throws(UsageError) -> Data {
    var result = Data()
    while true {
      switch read() {
      case .success(let chunk) where chunk.isEmpty: return result
      case .success(let chunk): result.append(chunk)
      case .failure(let error): throw UsageError(error.message)
      }
      guard result.count <= limit else { throw UsageError(problem()) }
    }
  }

  /// Blocks until there are bytes, and returns them; none at the end.
  func read() -> Result<Data, HTTPError> {
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = readBytes(descriptor, &bytes)
      if count >= 0 { return .success(Data(bytes.prefix(count))) }
      switch errno {
      case EINTR: continue
      case EAGAIN:  // another process has made the descriptor non-blocking
        var waited = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&waited, 1, -1)
      default:
        let reason = String(cString: strerror(errno))
        return .failure(HTTPError(.file, "\(name) cannot be read: \(reason)", phase: .sending))
      }
    }
  }
}

/// The C function `read`, whose name a method has.
private func readBytes(_ descriptor: Int32, _ buffer: inout [UInt8]) -> Int { read(descriptor, &buffer, buffer.count) }
