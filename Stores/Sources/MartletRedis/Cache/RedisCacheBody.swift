@_spi(Stores) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Synchronization

/// Writes the body of an entry: full chunks at once, and the entry at the end. A small body is written with its entry.
///
/// Chunks expire by themselves if the entry is never committed.
actor RedisCacheWriter: CacheWriter {
  private let entry: CacheEntry
  private let store: RedisCacheStore
  private var buffer = ChunkBuffer(size: RedisCacheStore.chunkSize)
  private var chunks = 0
  private var length: Int64 = 0
  private var isOver = false

  init(_ entry: CacheEntry, in store: RedisCacheStore) { (self.entry, self.store) = (entry, store) }

  func append(_ chunk: Data) async throws {
    length += Int64(chunk.count)
    guard !isOver, length <= store.options.entryLimit else {
      end()
      throw refusal
    }
    var rest = chunk
    while !isOver, buffer.fill(from: &rest) { try await flush() }
  }

  func commit() async throws {
    guard !isOver else { throw refusal }
    if chunks > 0 || buffer.bytes.count > RedisCacheStore.inlineLimit { try await flush() }
    guard !isOver else { throw refusal }
    var entry = entry
    entry.length = length
    let body = buffer.bytes
    end()
    try await store.commit(CacheRecord(entry: entry, chunks: chunks), body: body)
  }

  func abort() async { end() }

  private func end() {
    isOver = true
    buffer.take()
  }

  /// Writes the buffer as a chunk.
  private func flush() async throws {
    let (chunk, index) = (buffer.take(), chunks)
    chunks += 1
    do { try await store.writeChunk(chunk, index, of: entry) } catch {
      end()
      throw error
    }
  }

  private var refusal: CacheEntry.Refusal { .bodyTooLarge(limit: store.options.entryLimit) }
}

/// Reads the body of an entry, one chunk at a time.
final class RedisChunkSource: BodySource {
  private let id: CacheEntry.ID
  private let key: CacheKey
  private let length: Int64
  private let store: RedisCacheStore
  /// nil after a cancellation.
  private let rest: Mutex<Range<Int64>?>

  init(_ id: CacheEntry.ID, length: Int64, range: Range<Int64>, in store: RedisCacheStore, key: CacheKey) {
    (self.id, self.length, self.store, self.key) = (id, length, store, key)
    rest = Mutex(range)
  }

  func next() async throws -> Data? {
    guard let rest = rest.withLock({ $0 }) else { throw CancellationError() }
    guard !rest.isEmpty else { return nil }
    let size = Int64(RedisCacheStore.chunkSize)
    let index = rest.lowerBound / size
    let whole = index * size..<min((index + 1) * size, length)
    guard let chunk = try await store.readChunk(Int(index), of: id, key), chunk.count == whole.count else {
      throw RedisError(
        .unavailable, "the body was removed from the server while it was being read: send the request again")
    }
    let part = rest.clamped(to: whole)
    self.rest.withLock { if $0 != nil { $0 = part.upperBound..<rest.upperBound } }
    return chunk.dropFirst(Int(part.lowerBound - whole.lowerBound)).prefix(part.count)
  }

  func cancel() { rest.withLock { $0 = nil } }
}

extension RedisCacheStore {
  func writeChunk(_ chunk: Data, _ index: Int, of entry: CacheEntry) async throws {
    let value = try form.write(chunk, at: Self.place(of: entry.id, index))
    // Long enough for a slow origin; the commit extends it.
    let life = Data(milliseconds: Self.grace * 10)
    _ = try await redis.send(
      RedisCommand(
        "SET", [Data(text: name(ofChunk: index, of: entry.id, entry.key)), value, Data(text: "PX"), life]
      ).answeredBriefly)
  }

  func readChunk(_ index: Int, of id: CacheEntry.ID, _ key: CacheKey) async throws -> Data? {
    let reply = try await redis.send(reading(index, of: id, key))
    return reply.bytes.flatMap { form.read($0, at: Self.place(of: id, index)) }
  }

  /// Reads a part of a body in one round trip; nil if it is not complete.
  func readChunks(of entry: CacheEntry, _ range: Range<Int64>) async throws -> Data? {
    guard !range.isEmpty else { return Data() }
    let size = Int64(Self.chunkSize)
    let indices = Int(range.lowerBound / size)...Int((range.upperBound - 1) / size)
    let commands = indices.map { reading($0, of: entry.id, entry.key) }
    // A server needs time for the bytes: the limit grows with each MiB.
    let limit = redis.configuration.waitLimit.bounded * (1 + indices.count / 8)
    let replies = try await redis.send(commands, within: limit)
    var body = Data(capacity: indices.count * Self.chunkSize)
    for (index, reply) in zip(indices, replies) {
      guard let chunk = reply.bytes.flatMap({ form.read($0, at: Self.place(of: entry.id, index)) }) else { return nil }
      body += chunk
    }
    let start = Int(range.lowerBound - Int64(indices.lowerBound) * size)
    return body.count >= start + range.count ? body.dropFirst(start).prefix(range.count) : nil
  }

  /// The command that reads a chunk.
  private func reading(_ index: Int, of id: CacheEntry.ID, _ key: CacheKey) -> RedisCommand {
    RedisCommand("GET", name(ofChunk: index, of: id, key)).answered(upTo: Self.chunkSize + ValueForm.overhead)
  }

  private func name(ofChunk index: Int, of id: CacheEntry.ID, _ key: CacheKey) -> String {
    var bytes = ByteWriter()
    bytes.add(id)
    return "\(names.chunks(of: key))\(Hexadecimal.text(bytes.bytes)):\(index)"
  }
}
