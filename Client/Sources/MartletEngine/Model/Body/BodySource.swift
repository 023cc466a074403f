@_spi(Toolkit) public import MartletSemantics
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A source of a body's bytes. One reader pulls chunks from it.
public protocol BodySource: Sendable {
  /// Returns the next chunk, which is never empty; nil at the end, and in all later calls.
  ///
  /// It suspends until there are bytes, and throws when the task is cancelled. It is not called again before it has
  /// returned.
  func next() async throws -> Data?

  /// Discards the rest. Called when a reader stops early, and after ``takeReceived()``. It may be called more than
  /// once, and after the end.
  func cancel()

  /// The trailer fields; complete after ``next()`` has returned nil.
  var trailers: HTTPFields { get }

  /// Returns the whole body if it has arrived and none of it was read; nil otherwise. The body then counts as read to
  /// its end, and its trailers are complete. The default implementation returns nil. Implement it if small bodies often
  /// arrive with the head: it saves their readers a call that may suspend.
  ///
  /// - Throws: the error with which the body ends.
  func takeReceived() throws(HTTPError) -> Data?
}

extension BodySource {
  /// Does nothing.
  public func cancel() {}
  /// Returns no fields.
  public var trailers: HTTPFields { [:] }
  /// Returns nil: the bytes have to be read.
  public func takeReceived() throws(HTTPError) -> Data? { nil }
}

/// A body that may know that its reader has all of it, so that the reader need not ask for the end.
package protocol EndAwareBody: BodySource {
  /// Whether the body is complete and no byte of it is left to read. False if that is not known yet.
  var hasNoRest: Bool { get }
}

extension BodySource {
  /// Whether the body is known to be complete, with no byte left to read.
  var isKnownToHaveNoRest: Bool { (self as? any EndAwareBody)?.hasNoRest ?? false }
}

/// A body whose rest may be worth reading when its reader stops early, so that the whole body can be stored.
protocol FinishableBody: EndAwareBody {
  /// Reads the rest if it is no longer than the limit and arrives within the time.
  func readRest(upTo limit: Int, within time: Duration, on clock: any Clock<Duration>) async
}

/// A source of bytes in memory.
@_spi(Stores) public final class DataSource: BodySource, DeadlineAware {
  private let rest: Mutex<Data?>
  public var endsAtDeadline: Bool { true }

  public init(_ data: Data) { rest = Mutex(data.isEmpty ? nil : data) }

  public func next() async throws -> Data? {
    rest.withLock { rest in
      defer { rest = nil }
      return rest
    }
  }

  public func takeReceived() -> Data? { rest.withLock { $0.take() } ?? Data() }
}

/// A source that reads a file.
final class FileSource: BodySource {
  /// The size of the file when it was opened, which is sent as `Content-Length`; nil for a file that has content, but
  /// the size 0: those of `/proc`, for example, are made when they are read.
  let length: Int64?
  private let path: String
  private let state: Mutex<State>
  private let chunks: ChunkPool

  private struct State: Sendable {
    let descriptor: Int32
    /// The bytes that are not read yet; `.max` if they end where the file does.
    var rest: Int64
    /// The beginning, if it was read when the file was opened.
    var first: Data?
  }

  /// Returns the length of a file, without opening it; nil if there is none. It is a guess: see ``length``.
  static func length(at url: URL) -> Int64? { FileStatus.following(url.path)?.size }

  init(opening url: URL, chunks: ChunkPool = .shared) throws(HTTPError) {
    path = url.path
    self.chunks = chunks
    guard url.isFileURL else {
      throw HTTPError(.file, "'\(url.redacted)' is not a file URL: use URL(filePath:)", phase: .preparing)
    }
    let descriptor = SpareDescriptors.making { [path] in open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
    guard descriptor >= 0 else { throw .file(path, "cannot be opened", code: errno, phase: .preparing) }
    guard let status = FileStatus.of(descriptor), status.kind == .regular else {
      close(descriptor)
      throw HTTPError(
        .file, "'\(path)' is not a regular file, so it cannot be sent as a body: read it with RequestBody.singleUse",
        phase: .preparing)
    }
    var (length, rest, first) = (Optional(status.size), status.size, Data?.none)
    if status.size == 0 || !status.hasBlocks {
      // A generated file, as in /proc, reports a size of 0 or of one page. Only reading it shows its content.
      do throws(HTTPError) { first = try Self.fill(descriptor, path, chunks) } catch {
        close(descriptor)
        throw error
      }
      let count = Int64(first?.count ?? 0)
      let isAll = count < ChunkPool.Size.usual.count
      length = isAll ? count : status.size > 0 ? status.size : nil
      rest = isAll ? 0 : length.map { max(0, $0 - count) } ?? .max
    }
    self.length = length
    state = Mutex(State(descriptor: descriptor, rest: rest, first: first))
  }

  func next() async throws -> Data? {
    try Task.checkCancellation()
    return try state.withLock { state in
      if let first = state.first.take() { return first }
      guard state.rest > 0 else { return nil }
      let chunk = try Self.read(state.descriptor, upTo: state.rest, path, chunks, phase: .sending)
      if length == nil { return chunk }
      guard let chunk else {
        throw HTTPError(.file, "'\(path)' became shorter while it was being sent", phase: .sending)
      }
      state.rest -= Int64(chunk.count)
      if state.rest == 0 { try checkEnd(state.descriptor) }
      return chunk
    }
  }

  deinit { state.withLock { _ = close($0.descriptor) } }

  /// Throws if the file has more bytes than were announced, although it did not grow: the size that the system reports
  /// is wrong, and the server would get only a part.
  private func checkEnd(_ descriptor: Int32) throws(HTTPError) {
    guard let length, let size = FileStatus.of(descriptor)?.size, size <= length else { return }
    var byte: UInt8 = 0
    guard pread(descriptor, &byte, 1, off_t(length)) > 0 else { return }
    throw HTTPError(
      .file, "'\(path)' has more bytes than its size of \(length): send it with RequestBody.stream", phase: .sending)
  }

  /// Returns the bytes of one read; nil at the end of the file.
  private static func read(
    _ descriptor: Int32, upTo limit: Int64, _ path: String, _ chunks: ChunkPool, phase: HTTPError.Phase
  ) throws(HTTPError) -> Data? {
    guard let chunk = Chunk(of: chunks) else {
      throw HTTPError(.other, "there is no memory to read '\(path)'", phase: phase)
    }
    let part = UnsafeMutableRawBufferPointer(rebasing: chunk.room.prefix(Int(min(Int64(chunk.room.count), limit))))
    let count = bytes(descriptor, into: part)
    guard count >= 0 else { throw .file(path, "cannot be read", code: errno, phase: phase) }
    return count == 0 ? nil : chunk.data(count)
  }

  /// Returns the beginning of a file: a whole chunk, or less if the file ends before; nil if it is empty.
  private static func fill(_ descriptor: Int32, _ path: String, _ chunks: ChunkPool) throws(HTTPError) -> Data? {
    guard let chunk = Chunk(of: chunks) else {
      throw HTTPError(.other, "there is no memory to read '\(path)'", phase: .preparing)
    }
    var count = 0
    while count < chunk.room.count {
      let step = bytes(descriptor, into: UnsafeMutableRawBufferPointer(rebasing: chunk.room[count...]))
      guard step >= 0 else { throw .file(path, "cannot be read", code: errno, phase: .preparing) }
      if step == 0 { break }
      count += step
    }
    return count == 0 ? nil : chunk.data(count)
  }

  /// Reads once, and again if a signal interrupts that.
  private static func bytes(_ descriptor: Int32, into room: UnsafeMutableRawBufferPointer) -> Int {
    while true {
      var part = iovec(iov_base: room.baseAddress, iov_len: room.count)
      let count = readv(descriptor, &part, 1)
      if count >= 0 || errno != EINTR { return count }
    }
  }
}

extension HTTPError {
  /// Makes an error with the file's path and the system's reason.
  ///
  /// - Parameters:
  ///   - code: the value of `errno` after the call that failed.
  ///   - phase: the phase of the attempt; nil if the file belongs to none.
  static func file(_ path: String, _ what: String, code: Int32, phase: Phase?) -> HTTPError {
    HTTPError(.file, "'\(path)' \(what): \(String(cString: strerror(code)))", phase: phase)
  }

  /// Wraps an error of a source that is read while the request is sent. The error is never ``isUnsent``, even if it
  /// is that of another request, which the source has sent.
  package init(whileSending error: any Error) {
    self.init(wrapping: error)
    if isUnsent { phase = .sending }
  }
}

/// A source that pulls from an asynchronous sequence of `Data`.
final class SequenceSource<Chunks: AsyncSequence & Sendable>: BodySource where Chunks.Element == Data {
  /// An iterator is not Sendable. SAFETY: a `BodySource` has one reader, which awaits `next` before it calls again.
  nonisolated(unsafe) private var iterator: Chunks.AsyncIterator

  init(_ chunks: Chunks) { iterator = chunks.makeAsyncIterator() }

  func next() async throws -> Data? {
    while let chunk = try await iterator.next() {
      if !chunk.isEmpty { return chunk }
    }
    return nil
  }
}

/// A stream that can be read once. It counts as used when its first bytes are read.
final class SingleUse: Sendable {
  private let source: any BodySource
  private let wasTaken = Atomic(false)

  init(_ source: any BodySource) { self.source = source }

  var isTaken: Bool { wasTaken.load(ordering: .relaxed) }

  func take() throws(HTTPError) -> any BodySource {
    guard !wasTaken.exchange(true, ordering: .relaxed) else { throw .bodyNotReplayable }
    return source
  }

  /// Marks an empty stream as unused again: it was read to its end, but nothing of it is missing in the next attempt.
  func giveBack() { wasTaken.store(false, ordering: .relaxed) }
}

/// A reader of a single-use stream. It takes the stream when the first bytes are read: if an attempt fails before its
/// body is sent, the next attempt can still use the stream.
final class SingleUseReader: BodySource {
  private let once: SingleUse
  private let taken = Mutex<(any BodySource)?>(nil)
  private let isEmpty: Bool

  /// - Parameter isEmpty: whether the stream has no bytes; it then still counts as unused after it was read to its end.
  init(of once: SingleUse, isEmpty: Bool) {
    self.once = once
    self.isEmpty = isEmpty
  }

  func next() async throws -> Data? {
    let source = try taken.withLock { taken in
      let source = try taken ?? once.take()
      taken = source
      return source
    }
    let chunk = try await source.next()
    if isEmpty, chunk == nil {
      taken.withLock { $0 = nil }
      once.giveBack()
    }
    return chunk
  }

  func cancel() { taken.withLock { $0 }?.cancel() }
}

extension HTTPError {
  static var bodyNotReplayable: HTTPError {
    HTTPError(
      .bodyNotReplayable,
      "the request has to be sent again, but its body is a single-use stream that has been read: use RequestBody.stream",
      phase: .preparing)
  }
}

/// A source that fails if the number of bytes differs from the announced length.
final class ExactLengthSource: BodyLayer {
  let base: any BodySource
  private let length: Int64
  private let mismatch: @Sendable (_ found: String) -> HTTPError
  private let count = Mutex<Int64>(0)

  /// - Parameter mismatch: the error of a body with another length; gets "only 3 bytes", for example.
  init(_ base: any BodySource, length: Int64, mismatch: @escaping @Sendable (_ found: String) -> HTTPError) {
    self.base = base
    self.length = length
    self.mismatch = mismatch
  }

  func next() async throws -> Data? {
    let chunk = try await base.next()
    let sum = count.withLock { sum in
      sum += Int64(chunk?.count ?? 0)
      return sum
    }
    guard sum == length || sum < length && chunk != nil else {
      throw mismatch("\(chunk == nil ? "only" : "at least") \(sum) bytes")
    }
    return chunk
  }

  var hasNoRest: Bool { count.withLock { $0 } == length && base.isKnownToHaveNoRest }
}

extension BodySource {
  /// Returns a request's stream with a check of the length that its caller gave, if any.
  func checked(_ length: Int64?) -> any BodySource {
    guard let length else { return self }
    return ExactLengthSource(self, length: length) { found in
      HTTPError(
        .invalidRequest, "the request's body has \(found), but its length was given as \(length)", phase: .sending)
    }
  }
}

/// A source that is followed by trailer fields, which are made after its end.
final class TrailedSource: BodySource {
  private let base: any BodySource
  private let make: @Sendable () async throws -> HTTPFields
  private let made = Mutex<HTTPFields?>(nil)

  init(_ base: any BodySource, _ make: @escaping @Sendable () async throws -> HTTPFields) {
    self.base = base
    self.make = make
  }

  func next() async throws -> Data? {
    if let chunk = try await base.next() { return chunk }
    if made.withLock({ $0 != nil }) { return nil }
    let fields = try await make()
    if let refusal = fields.refusal { throw HTTPError(whileSending: refusal) }
    if let name = fields.firstForbiddenTrailer {
      throw HTTPError(
        .invalidRequest, "the field '\(name)' cannot be a trailer (RFC 9110 §6.5.1): set it in the head",
        phase: .sending)
    }
    made.withLock { $0 = fields }
    return nil
  }

  func cancel() { base.cancel() }

  var trailers: HTTPFields { made.withLock { $0 } ?? [:] }
}
