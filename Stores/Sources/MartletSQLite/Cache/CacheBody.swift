@_spi(Stores) import MartletEngine
import MartletSemantics
import Synchronization

/// Reads the body of an entry, one chunk at a time.
final class ChunkSource: BodySource {
  private struct State {
    var rest: Range<Int64>
    /// Protects the chunks until the end of the body.
    var pin: BodyPin?
  }

  private let file: CacheFile
  private let body: Int64
  private let length: Int64
  private let state: Mutex<State>

  init(_ body: Int64, length: Int64, range: Range<Int64>, pin: BodyPin, in file: CacheFile) {
    self.file = file
    self.body = body
    self.length = length
    state = Mutex(State(rest: range, pin: pin))
  }

  func next() async throws -> Data? {
    try Task.checkCancellation()
    let (rest, isHeld) = state.withLock { ($0.rest, $0.pin != nil) }
    guard !rest.isEmpty else { return nil }
    guard isHeld else { throw CancellationError() }

    let size = Int64(CacheStatement.chunkSize)
    let index = rest.lowerBound / size
    let whole = index * size..<min((index + 1) * size, length)
    guard let chunk = try await file.read({ try $0.chunk(index, of: body) }), chunk.count == whole.count else {
      throw HTTPError(.file, "the body was removed from the cache while it was being read: send the request again")
    }
    let part = rest.clamped(to: whole)
    advance(to: part.upperBound)
    return part == whole ? chunk : chunk.dropFirst(Int(part.lowerBound - whole.lowerBound)).prefix(part.count)
  }

  func cancel() { _ = takePin(ifAtEnd: false) }

  private func advance(to offset: Int64) {
    state.withLock { $0.rest = offset..<$0.rest.upperBound }
    _ = takePin(ifAtEnd: true)
  }

  /// Removes the pin, so that it is released outside the lock.
  private func takePin(ifAtEnd: Bool) -> BodyPin? {
    state.withLock { state in
      guard !ifAtEnd || state.rest.isEmpty else { return nil }
      return state.pin.take()
    }
  }
}

/// Writes the body of an entry: full chunks are written at once, and the entry is added at the end. A body that fits
/// into one chunk is written with its entry.
actor SQLiteCacheWriter: CacheWriter {
  private let entry: CacheEntry
  private let file: CacheFile
  /// Protects the chunks from being deleted as abandoned.
  private var pin: BodyPin?
  private var buffer = ChunkBuffer(size: CacheStatement.chunkSize)
  /// The number of the body after its first chunk was written, and the number of its chunks.
  private var body: Int64?
  private var chunks: Int64 = 0
  private var length: Int64 = 0
  private var isOver = false

  init(_ entry: CacheEntry, in file: CacheFile) {
    self.entry = entry
    self.file = file
    pin = BodyPin(entry.id, in: file)
  }

  func append(_ chunk: Data) async throws {
    length += Int64(chunk.count)
    guard !isOver, length <= file.entryLimit else {
      await abort()
      throw CacheEntry.Refusal.bodyTooLarge(limit: file.entryLimit)
    }
    var rest = chunk
    while !isOver, buffer.fill(from: &rest) { try await flush() }
  }

  func commit() async throws {
    guard !isOver else { throw CacheEntry.Refusal.bodyTooLarge(limit: file.entryLimit) }
    if body != nil, !buffer.bytes.isEmpty { try await flush() }
    isOver = true
    let bytes = body.map(CacheTable.Body.Bytes.chunks) ?? .whole(buffer.bytes)
    do {
      let isStored = try await file.write { [entry, length, now = file.now()] table in
        try table.add(entry, length: length, bytes: bytes, now: now)
      }
      guard isStored else { throw HTTPError.bodyRemoved }
      body = nil
    } catch {
      await abort()
      throw error
    }
    buffer.take()
    pin = nil
  }

  func abort() async {
    isOver = true
    buffer.take()
    pin = nil
    guard let body else { return }
    self.body = nil
    // If this fails, the body is deleted when it is due.
    try? await file.write { try $0.abandonBody(body) }
  }

  /// Writes the buffer as a chunk.
  private func flush() async throws {
    let (chunk, index) = (buffer.take(), chunks)
    chunks += 1
    do {
      let number = try await file.write { [entry, file, body, now = file.now()] table -> Int64? in
        let due = now.addingTimeInterval(CacheFile.writerTimeout)
        let number = try body ?? table.beginBody(of: entry.id, due: due)
        guard try table.addChunk(chunk, index, to: number, due: due) else { return nil }
        try file.evict(in: table, now: now)
        return number
      }
      guard let number else { throw HTTPError.bodyRemoved }
      body = number
      // It was aborted in the meantime, before the number was known.
      if isOver { await abort() }
    } catch {
      await abort()
      throw Self.unwrapped(error)
    }
  }

  /// Returns the refusal that was thrown within a transaction, which wraps it; otherwise the same error.
  private static func unwrapped(_ error: any Error) -> any Error {
    guard let refusal = (error as? HTTPError)?.underlying as? CacheEntry.Refusal else { return error }
    return refusal
  }

  deinit {
    guard let body else { return }
    Task { [file] in try? await file.write { try $0.abandonBody(body) } }
  }
}

extension HTTPError {
  static let bodyRemoved = HTTPError(
    .file, "a part of the body was removed from the cache before the rest was stored")

  static let noRoomForBody = HTTPError(
    .file,
    "the cache stores no more, because its disk has less than \(DiskReserve.size >> 20) MiB left, or another program keeps "
      + "its journal from being emptied: free space on the disk, or end the program that reads the file")
}
