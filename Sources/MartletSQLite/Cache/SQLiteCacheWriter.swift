import MartletEngine
import MartletSemantics

/// Takes the body of one entry: chunks go to the file as they are full, and the entry appears at the end. A body that fits
/// into one chunk goes there with its entry.
actor SQLiteCacheWriter: CacheWriter {
  private let entry: CacheEntry
  private let file: CacheFile
  /// Keeps the chunks from being taken for something left behind.
  private var pin: BodyPin?
  private var buffer = Data()
  /// The number of the body, once its first chunk has been written, and how many chunks there are.
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
      throw HTTPError.notStored(limit: file.entryLimit)
    }
    var rest = chunk
    // One more byte than a chunk, so that a body of just one chunk stays in a piece.
    while !isOver, buffer.count + rest.count > CacheStatement.chunkSize {
      let part = rest.prefix(CacheStatement.chunkSize - buffer.count)
      rest = rest.dropFirst(part.count)
      buffer.append(part)
      try await flush()
    }
    if !isOver { buffer.append(rest) }
  }

  func commit() async throws {
    guard !isOver else { throw HTTPError.notStored(limit: file.entryLimit) }
    if body != nil, !buffer.isEmpty { try await flush() }
    isOver = true
    let bytes = body.map(CacheTable.Body.Bytes.chunks) ?? .whole(buffer)
    do {
      let isStored = try await file.write { [entry, length, now = file.now()] table in
        try table.add(entry, length: length, bytes: bytes, now: now)
      }
      guard isStored else { throw HTTPError.notStored(limit: file.entryLimit) }
      body = nil
    } catch {
      await abort()
      throw error
    }
    buffer = Data()
    pin = nil
  }

  func abort() async {
    isOver = true
    buffer = Data()
    pin = nil
    guard let body else { return }
    self.body = nil
    // Where this fails, what is left behind is found when its time is over.
    try? await file.write { try $0.giveUpBody(body) }
  }

  /// Writes the buffer as a chunk.
  private func flush() async throws {
    let chunk = buffer
    buffer = Data()
    let index = chunks
    chunks += 1
    do {
      let number = try await file.write { [entry, file, body, now = file.now()] table -> Int64? in
        let due = now.addingTimeInterval(CacheFile.writersTime)
        let number = try body ?? table.beginBody(of: entry.id, due: due)
        guard try table.addChunk(chunk, index, to: number, due: due) else { return nil }
        try file.makeRoom(in: table, now: now)
        return number
      }
      guard let number else { throw HTTPError.notStored(limit: file.entryLimit) }
      body = number
      // Given up meanwhile, when the number was not known.
      if isOver { await abort() }
    } catch {
      await abort()
      throw error
    }
  }

  deinit {
    guard let body else { return }
    Task { [file] in try? await file.write { try $0.giveUpBody(body) } }
  }
}
