import Foundation
import MartletEngine
import MartletRedis
import MartletSemantics
import MartletTesting
import Synchronization
import Testing

/// The data on the server for the entries of a cache, and how often it is read.
@Suite(.timeLimit(.minutes(5)))
struct StoredBodyTests {
  private let server: RedisServer
  private let configuration: RedisConfiguration
  private let store: RedisCacheStore

  init() throws {
    server = try RedisServer()
    configuration = try server.configuration()
    store = RedisCacheStore(RedisClient(configuration))
  }

  /// The milliseconds for which chunks of a removed entry remain.
  private let grace = 60_000

  enum Ending: String, CaseIterable {
    case removedEntry, removedKey, removedURL, removedWithAll, replaced, displacedByAnUpdate
  }

  private func end(_ entry: CacheEntry, by ending: Ending) async throws {
    switch ending {
    case .removedEntry: try await store.remove(.entry(entry.id))
    case .removedKey: try await store.remove(.key(entry.key))
    case .removedURL: try await store.remove(.url(entry.key.url))
    case .removedWithAll: try await store.remove(.all)
    case .replaced: try await store.save(RedisTests.entry("/", length: 3), bytes(3))
    case .displacedByAnUpdate:
      let other = RedisTests.entry("/", variant: "other", length: 3)
      try await store.save(other, bytes(3))
      var updated = other
      updated.response = entry.response
      try await store.update(updated)
    }
  }

  @Test(arguments: Ending.allCases) func chunksOfAnEntryThatIsGoneAreReleased(ending: Ending) async throws {
    let large = entry("/", length: 300_000)
    try await store.save(large, bytes(300_000))
    let before = try server.lives(ofChunks: configuration.prefix)
    #expect(before.count == 3 && before.allSatisfy { $0 > grace })

    try await end(large, by: ending)

    let after = try server.lives(ofChunks: configuration.prefix)
    #expect(after.count == 3 && after.allSatisfy { $0 > 0 && $0 <= grace })
    #expect(try await store.entries(for: large.key).allSatisfy { $0.id != large.id })
  }

  /// The server has stored the entry, but its answer was lost with the connection.
  @Test(arguments: [3, 300_000]) func aCommitWhoseAnswerIsLostLeavesNothing(size: Int) async throws {
    let relay = try RedisRelay(to: server, losing: "lost")
    var configuration = try server.configuration(relay.url)
    configuration.prefix = self.configuration.prefix
    let store = RedisCacheStore(RedisClient(configuration))
    let kept = entry("/", length: 3)
    try await store.save(kept, bytes(3))  // with the scripts that the server has to know

    let lost = entry("/", variant: "lost", length: Int64(size))
    let error = await #expect(throws: RedisError.self) { try await store.save(lost, bytes(size)) }

    #expect(error?.kind == .unavailable)
    #expect(try await store.entries(for: lost.key).map(\.id) == [kept.id])
    #expect(try await self.store.entries(for: lost.key).map(\.id) == [kept.id])
    #expect(try server.lives(ofChunks: configuration.prefix).allSatisfy { $0 <= grace })
  }

  @Test func aRemovalWhileTheServerIsStoppedFailsAndCanBeRepeated() async throws {
    let entry = entry("/", length: 3)
    try await store.save(entry, bytes(3))
    var impatient = configuration
    impatient.waitLimit = .milliseconds(50)
    let other = RedisCacheStore(RedisClient(impatient))
    // the first answer may take longer than the limit, because of the connection
    while (try? await other.entries(for: entry.key).map(\.id)) != [entry.id] {}

    try server.pause()
    await #expect(throws: RedisError.self) { try await other.remove(.key(entry.key)) }
    try server.resume()
    while (try? await other.remove(.key(entry.key))) == nil {}

    #expect(try await store.entries(for: entry.key).isEmpty)
  }

  /// The server does not know the script yet.
  @Test(arguments: [Ending.removedEntry, .removedKey]) func aRemovalThatIsNotWaitedForIsDoneLater(
    ending: Ending
  ) async throws {
    let server = try RedisServer()
    var impatient = try server.configuration()
    let store = RedisCacheStore(RedisClient(impatient))
    let entry = entry("/", length: 3)
    try await store.save(entry, bytes(3))
    _ = try server.command("SCRIPT", "FLUSH")
    impatient.waitLimit = .milliseconds(50)
    let client = RedisClient(impatient)
    let other = RedisCacheStore(client)
    while (try? await other.entries(for: entry.key).map(\.id)) != [entry.id] {}

    try server.pause()
    let error = await #expect(throws: RedisError.self) {
      try await other.remove(ending == .removedKey ? .key(entry.key) : .entry(entry.id))
    }
    try server.resume()
    try await client.ping()  // on the same connection, and patient

    #expect(error?.kind == .timeout)
    #expect(try await store.entries(for: entry.key).isEmpty)
  }

  /// A byte of the body on the server differs from the stored one.
  @Test(arguments: [3, 300_000]) func aDamagedBodyIsAMiss(size: Int) async throws {
    let entry = entry("/", length: Int64(size))
    try await store.save(entry, bytes(size))
    let damage = """
      if redis.call('TYPE', KEYS[1]).ok == 'string' then return redis.call('SETRANGE', KEYS[1], 1000, 'x') end
      local body = redis.call('HGET', KEYS[1], 'b')
      return redis.call('HSET', KEYS[1], 'b', string.sub(body, 1, -2) .. 'x')
      """
    let kind = size == 3 ? "c" : "b"
    let key = try #require(
      try server.command("KEYS", "\(configuration.prefix)\(kind):*").split(separator: "\n").first.map(String.init))
    _ = try server.command("EVAL", damage, "1", key)

    let other = RedisCacheStore(RedisClient(configuration))
    for found in try await other.entries(for: entry.key) { #expect(try await other.read(found) == nil) }
  }

  @Test func callersWhoAskForOneKeyAtOnceShareFewLookups() async throws {
    let entry = entry("/", length: 3)
    try await store.save(entry, bytes(3))
    let before = try server.lookups()
    let asking = Arrivals()

    try server.pause()
    try await withThrowingTaskGroup(of: [CacheEntry.ID].self) { group in
      for _ in 0..<500 {
        group.addTask {
          asking.count.add(1, ordering: .relaxed)
          return try await store.entries(for: entry.key).map(\.id)
        }
      }
      while asking.count.load(ordering: .relaxed) < 500 { await Task.yield() }
      try server.resume()
      for try await ids in group { #expect(ids == [entry.id]) }
    }

    // one, one for all callers while it was in progress, and those of threads that were interrupted before their call
    let lookups = try server.lookups() - before
    #expect(lookups >= 2 && lookups < 50)
  }

  private final class Arrivals: Sendable {
    let count = Atomic(0)
  }

  @Test func aLookupSeesWhatWasStoredBeforeItWasAskedFor() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for number in 0..<50 {
            let entry = entry("/", variant: "\(task) \(number % 3)", length: 3)
            try await store.save(entry, bytes(3))
            #expect(try await store.entries(for: entry.key).contains { $0.id == entry.id })
          }
        }
      }
      try await group.waitForAll()
    }
  }

  @Test func aCallerWhoGivesUpDoesNotEndTheLookupOfOthers() async throws {
    let entry = entry("/", length: 3)
    try await store.save(entry, bytes(3))
    try server.pause()
    let first = Task { try await store.entries(for: entry.key) }
    let second = Task { try await store.entries(for: entry.key) }
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    try server.resume()
    #expect(try await second.value.map(\.id) == [entry.id])
  }

  @Test func aServerThatIsSlowFailsAllWhoAskWithinTheLimit() async throws {
    var impatient = configuration
    impatient.waitLimit = .milliseconds(50)
    let store = RedisCacheStore(RedisClient(impatient))
    let key = key("/")
    _ = try? await store.entries(for: key)
    try server.pause()
    let failures = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<100 {
        group.addTask {
          do { _ = try await store.entries(for: key) } catch { return error is RedisError }
          return false
        }
      }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    try server.resume()
    #expect(failures == 100)
  }
}
