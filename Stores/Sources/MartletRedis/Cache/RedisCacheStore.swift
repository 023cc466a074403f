@_spi(Stores) @_spi(Toolkit) public import MartletEngine
@_spi(Toolkit) public import MartletSemantics
import Synchronization

/// A ``Martlet/CacheStore`` on a Redis server, which the processes of a fleet share.
///
/// ```swift
/// let redis = RedisClient(try RedisConfiguration("redis://redis.internal"))
/// configuration.cache = HTTPCache(store: RedisCacheStore(redis))
/// ```
///
/// - **A look-up is one round trip**, including the body if it has at most 16 KiB. Longer bodies are written and read
///   in chunks of 128 KiB. The commit is one step and comes last: an incomplete entry is never found. Callers that look
///   up the same key in the meantime share the next look-up.
/// - **Every failure is a miss**: a server that is slow, unreachable or full, or a value that is damaged, of another
///   version, or sealed with another key. No request fails because of it, and none waits longer than the client's
///   ``RedisConfiguration/waitLimit`` for one operation.
/// - **Life.** An entry expires on the server after the rest of its freshness, the times of `stale-while-revalidate`
///   and `stale-if-error`, and ``RedisCacheOptions/retention``. Up to a tenth is added, so that entries stored together
///   do not expire together. The server removes entries that do not fit (`maxmemory`); the store has no capacity of its
///   own.
/// - **One request for the fleet.** Of identical requests that no stored response can answer, one is sent, even among
///   processes: see ``RedisLeaseOptions``.
/// - **Removal.** An entry, or a URL in one partition, is removed in one step. ``Martlet/CacheSelection/all``, a URL in
///   all partitions, a partition and an age require a search of all keys of the server (`SCAN`). That takes about a
///   second for a million keys and does not block the server. The same holds for ``usage()``.
///
/// Values are data, never code. But a program that can write to the server can replace responses, unless they are
/// sealed (``RedisSeal``). Partitions separate users as in every store.
public final class RedisCacheStore: CacheStore {
  let redis: RedisClient
  let options: RedisCacheOptions
  let form: ValueForm
  let names: CacheNames
  let now: @Sendable () -> Date
  let clock: any Clock<Duration>
  private let stopwatch: Stopwatch
  private let memory: Mutex<CacheMemory>
  private let lookups: CacheLookups

  /// The maximum number of bytes of a body that is stored with its head.
  static let inlineLimit = 16 << 10
  /// The maximum number of bytes of all heads and small bodies of a key: half a megabyte for each of the 32 variants of
  /// a cache.
  private static let entriesLimit = 16 << 20
  /// The bytes of a chunk.
  static let chunkSize = 128 << 10
  /// How long chunks of a removed entry stay for readers, and how long unfinished chunks stay.
  static let grace = Duration.seconds(60)
  /// The limit of one operation of a removal or a count; no request waits for these.
  static let patience = Duration.seconds(2)

  /// Makes a store.
  ///
  /// - Parameters:
  ///   - redis: the client, which other stores may use too.
  ///   - options: the contents and their lifetime; the defaults if omitted.
  public convenience init(_ redis: RedisClient, options: RedisCacheOptions = RedisCacheOptions()) {
    self.init(redis, options, clock: ContinuousClock(), now: { Date() })
  }

  init(
    _ redis: RedisClient, _ options: RedisCacheOptions, clock: any Clock<Duration>,
    now: @escaping @Sendable () -> Date
  ) {
    (self.redis, self.options, self.clock, self.now) = (redis, options, clock, now)
    form = ValueForm(seal: options.seal)
    names = CacheNames(prefix: redis.configuration.prefix)
    stopwatch = Stopwatch(clock)
    memory = Mutex(CacheMemory(limit: options.memoryLimit))
    lookups = CacheLookups(stopwatch, limit: redis.configuration.waitLimit)
  }

  // MARK: - Reading

  public func entries(for key: CacheKey) async throws -> [CacheEntry] {
    let name = names.key(key)
    if options.memoryLife != nil,
      let known = memory.withLock({ [now = stopwatch.elapsed] in $0.entries(of: name, at: now) }),
      known.allSatisfy({ Freshness(of: $0.response, at: now()).isFresh })  // Another process may have validated it.
    {
      return known
    }
    return try await lookups.entries(of: key) { [self] limit in try await lookUp(key, name, within: limit) }
  }

  private func lookUp(_ key: CacheKey, _ name: String, within limit: Duration) async throws -> [CacheEntry] {
    let (removals, additions) = memory.withLock { ($0.removals, $0.additions) }
    let life = options.memoryLife.map { _ in [RedisCommand("PTTL", name)] } ?? []
    let asked = stopwatch.elapsed
    let command = RedisCommand("HGETALL", name).answered(upTo: Self.entriesLimit)
    let replies = try await redis.send([command] + life, within: limit)
    let found = places(in: try replies[0].checked(), of: name, key)
    let left = replies.last?.integer.map { Duration.milliseconds($0) } ?? .zero
    let until = asked + min(options.memoryLife ?? .zero, left)
    memory.withLock { memory in
      let isOutdated = memory.removals != removals || memory.additions != additions
      if isOutdated { memory.set(outdated: found, of: name) } else { memory.set(found, of: name, until: until) }
    }
    return found.map(\.record.entry)
  }

  /// Returns the entries that can be read; others count as missing.
  private func places(in reply: RedisReply, of name: String, _ key: CacheKey) -> [CacheMemory.Place] {
    let parts = reply.elements.compactMap(\.bytes)
    var values: [Data: Data] = [:]
    for index in stride(from: 0, to: parts.count - 1, by: 2) { values[parts[index]] = parts[index + 1] }
    return values.compactMap { field, value in
      guard field.first == UInt8(ascii: "h"), let record = CacheRecord.read(value, form), record.entry.key == key else {
        return nil
      }
      let body = values[Data([UInt8(ascii: "b")]) + field.dropFirst()]
      return place(record, in: name, stored: body)
    }
  }

  /// - Parameter stored: the body as it is stored with the head; nil if there is none.
  /// - Returns: nil if the body cannot be opened or has another length.
  private func place(_ record: CacheRecord, in name: String, stored: Data?) -> CacheMemory.Place? {
    guard record.chunks == 0 else { return CacheMemory.Place(key: name, record: record) }
    let body = stored.map { form.read($0, at: Self.place(of: record.entry.id, 0)) } ?? Data()
    guard let body, Int64(body.count) == record.entry.length else { return nil }
    return CacheMemory.Place(key: name, record: record, body: body)
  }

  /// The place that a sealed body is bound to.
  static func place(of id: CacheEntry.ID, _ index: Int) -> Data { Data(text: "\(id.uuidString) \(index)") }

  public func open(_ id: CacheEntry.ID, range: Range<Int64>) async throws -> (any BodySource)? {
    guard let place = memory.withLock({ $0.place(of: id) }) else { return nil }
    let range = range.clamped(to: 0..<(place.record.entry.length ?? 0))
    if place.record.chunks > 0 {
      let entry = place.record.entry
      guard Int64(range.count) > options.readAhead else {
        return try await readChunks(of: entry, range).map(DataSource.init)
      }
      return RedisChunkSource(entry.id, length: entry.length ?? 0, range: range, in: self, key: entry.key)
    }
    guard let body = try await body(of: place) else { return nil }
    return DataSource(body.dropFirst(Int(range.lowerBound)).prefix(range.count))
  }

  private func body(of place: CacheMemory.Place) async throws -> Data? {
    if let body = place.body { return body }
    let variant = place.record.entry.response.variant
    let reply = try await redis.send(RedisCommand("HMGET", place.key, "h" + variant, "b" + variant))
    guard reply.elements.count == 2, let head = reply.elements[0].bytes, let record = CacheRecord.read(head, form),
      record.entry.id == place.record.entry.id
    else { return nil }
    return self.place(record, in: place.key, stored: reply.elements[1].bytes)?.body
  }

  // MARK: - Writing

  public func begin(_ entry: CacheEntry) async throws -> (any CacheWriter)? {
    guard entry.length ?? 0 <= options.entryLimit, redis.isAvailable else { return nil }
    return RedisCacheWriter(entry, in: self)
  }

  /// Adds an entry whose chunks are written.
  func commit(_ record: CacheRecord, body: Data) async throws {
    let name = names.key(record.entry.key)
    let stored = body.isEmpty ? Data() : try form.write(body, at: Self.place(of: record.entry.id, 0))
    let arguments = [
      Data(text: record.entry.response.variant), try record.write(form), stored, life(of: record.entry.response),
    ]
    let reply: RedisReply
    do { reply = try await run(CacheScripts.commit, name, record.entry.key, arguments) } catch {
      // The server may have stored it, or may still store it, and a removal in between would not include it.
      redis.submit(CacheScripts.remove.completeCommand(keys: [name], removal(of: record.entry)))
      throw error
    }
    guard reply.integer == 1 else {
      throw RedisError(.notStored, "a part of the body was removed from the server before the rest was stored")
    }
    memory.withLock { $0.add(CacheMemory.Place(key: name, record: record)) }
  }

  public func update(_ entry: CacheEntry) async throws {
    guard let place = memory.withLock({ $0.place(of: entry.id) }) else { return }
    var record = place.record
    record.entry.response = entry.response
    let arguments = [
      Data(text: place.record.entry.response.variant), Data(text: entry.response.variant), try record.write(form),
      life(of: entry.response),
    ]
    let reply = try await run(CacheScripts.update, place.key, entry.key, arguments)
    memory.withLock { [record] memory in
      guard reply.integer == 1 else { return memory.remove(entry.id) }
      memory.add(CacheMemory.Place(key: place.key, record: record, body: place.body))
    }
  }

  private func life(of response: StoredResponse) -> Data {
    let life = CacheLife.of(response, at: now(), options: options, random: .random(in: 0...1))
    return Data(milliseconds: life)
  }

  private func run(
    _ script: RedisScript, _ name: String, _ key: CacheKey, _ arguments: [Data], within limit: Duration? = nil
  ) async throws -> RedisReply {
    try await redis.run(script, keys: [name], self.arguments(names.chunks(of: key)) + arguments, within: limit)
  }

  private func arguments(_ chunks: String) -> [Data] {
    [Data(text: chunks), Data(milliseconds: Self.grace)]
  }

  // MARK: - Removing

  public func remove(_ selection: CacheSelection) async throws {
    switch selection {
    case .entry(let id):
      guard let place = memory.withLock({ $0.place(of: id) }) else { return }
      memory.withLock { $0.remove(id) }
      try await redis.carryOut(CacheScripts.remove, keys: [place.key], removal(of: place.record.entry))
    case .key(let key):
      let name = names.key(key)
      memory.withLock { $0.remove(name) }
      try await redis.carryOut(CacheScripts.clear, keys: [name], arguments(names.chunks(of: key)) + [Data()])
    case .url(let url): try await clear(names.pattern(ofURL: url), before: nil)
    case .partition(let partition): try await clear(names.pattern(ofPartition: partition), before: nil)
    case .all: try await clear(names.pattern, before: nil)
    case .olderThan(let date): try await clear(names.pattern, before: date)
    }
  }

  private func removal(of entry: CacheEntry) -> [Data] {
    var writer = ByteWriter()
    writer.add(entry.id)
    return arguments(names.chunks(of: entry.key)) + [Data(text: entry.response.variant), writer.bytes]
  }

  private func clear(_ pattern: String, before: Date?) async throws {
    memory.withLock { $0.removeAll() }
    let time = before.map { Data(text: "\($0.timeIntervalSinceReferenceDate)") } ?? Data()
    try await redis.scan(pattern, within: Self.patience) { [self] found in
      for name in found {
        let arguments = arguments(names.chunks(ofKey: name)) + [time]
        try await redis.carryOut(CacheScripts.clear, keys: [name], arguments, within: Self.patience)
      }
    }
    // The places stay: an entry stored in the meantime is removed by its identifier.
    memory.withLock { $0.forgetAnswers() }
  }

  public func usage() async throws -> HTTPCache.Usage {
    var usage = HTTPCache.Usage(entries: 0, bytes: 0)
    var seen: Set<String> = []
    try await redis.scan(names.pattern, within: Self.patience) { [self] found in
      for name in found where seen.insert(name).inserted {
        let reply = try await redis.run(
          CacheScripts.measure, keys: [name], arguments(names.chunks(ofKey: name)), within: Self.patience)
        usage.entries += reply.elements.first?.integer.map { Int($0) } ?? 0
        usage.bytes += reply.elements.last?.integer ?? 0
      }
    }
    return usage
  }
}

/// The names of a cache's keys. All of one URL and partition are in one slot, whose tag is a digest of the URL.
struct CacheNames: Sendable {
  let prefix: String

  /// The hash with the entries of a key.
  func key(_ key: CacheKey) -> String {
    "\(prefix)c:{\(Self.digest(key.url))}:\(key.partition.isEmpty ? "" : Self.digest(key.partition))"
  }

  /// The prefix of its chunks' names; an identifier in hexadecimal, a colon and the index follow.
  func chunks(of key: CacheKey) -> String { chunks(ofKey: self.key(key)) }

  func chunks(ofKey name: String) -> String { "\(prefix)b" + name.dropFirst(prefix.count + 1) + ":" }

  func lease(of name: String) -> String { "\(prefix)f:{\(name)}" }

  /// Patterns for `SCAN`.
  var pattern: String { "\(RedisClient.literal(prefix))c:*" }

  func pattern(ofURL url: String) -> String { "\(RedisClient.literal(prefix))c:{\(Self.digest(url))}:*" }

  func pattern(ofPartition partition: String) -> String {
    "\(RedisClient.literal(prefix))c:{*}:\(partition.isEmpty ? "" : Self.digest(partition))"
  }

  /// Half of the digest: a head with another key than that of the look-up is a missing one.
  private static func digest(_ text: String) -> String { String(Fingerprint.of(text).prefix(32)) }
}
