import Foundation
import Martlet
@_spi(Stores) import MartletEngine
@_spi(Stores) import MartletRedis
import MartletTesting
import Testing

/// Sessions that share nothing but a server, like processes.
@Suite(.timeLimit(.minutes(5)))
struct FleetCacheTests {
  private let redis: RedisConfiguration

  init() throws { redis = try RedisServer.shared.get().configuration() }

  private func session(_ change: (inout RedisCacheOptions) -> Void = { _ in }) -> HTTPSession {
    var options = RedisCacheOptions()
    change(&options)
    var configuration = SessionConfiguration()
    configuration.cache = HTTPCache(store: RedisCacheStore(RedisClient(redis), options: options))
    return HTTPSession(transport: SocketTransport(), configuration: configuration)
  }

  /// Sends requests of several sessions at once, and returns the bodies.
  private func send(_ url: URL, from sessions: [HTTPSession], each count: Int) async throws -> [Data] {
    try await withThrowingTaskGroup(of: Data.self) { group in
      for session in sessions {
        for _ in 0..<count { group.addTask { try await session.data(for: HTTPRequest(.get, url)).0 } }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
  }

  @Test(arguments: [100, 300_000]) func aColdKeyIsAskedForOnce(size: Int) async throws {
    let content = bytes(size)
    let gate = Gate()
    let server = try LoopbackServer { _ in
      Reply(fields: ["Cache-Control": "max-age=60"], content: content).held(by: gate)
    }
    let sessions = (0..<4).map { _ in session() }
    async let sent = send(server.url("/"), from: sessions, each: 50)
    _ = try await server.request(1)
    gate.open()
    let bodies = try await sent
    #expect(bodies.allSatisfy { $0 == content } && bodies.count == 200)
    #expect(server.requests.count == 1)
  }

  @Test func withoutLeasesEachSessionAsks() async throws {
    let gate = Gate()
    let server = try LoopbackServer { _ in
      Reply(fields: ["Cache-Control": "max-age=60"], content: Data("x".utf8)).held(by: gate)
    }
    let sessions = (0..<3).map { _ in session { $0.leases = nil } }
    async let bodies = send(server.url("/"), from: sessions, each: 5)
    _ = try await server.request(3)
    gate.open()
    #expect(try await bodies.count == 15)
    #expect(server.requests.count == 3)
  }

  @Test func whatMayNotBeStoredIsAskedForByEach() async throws {
    let server = try LoopbackServer { _ in Reply(fields: ["Cache-Control": "no-store"], content: Data("x".utf8)) }
    let sessions = (0..<3).map { _ in session() }
    let bodies = try await send(server.url("/"), from: sessions, each: 4)
    #expect(bodies.count == 12)
    #expect(server.requests.count == 12)
  }

  @Test func anotherSessionReadsWhatOneHasStored() async throws {
    let content = bytes(400_000)
    let server = try LoopbackServer { _ in Reply(fields: ["Cache-Control": "max-age=60"], content: content) }
    let request = HTTPRequest(.get, server.url("/"))
    #expect(try await session().data(for: request).1.source == .network)
    let (data, response) = try await session().data(for: request)
    #expect(response.source == .cache)
    #expect(data == content)
  }

  @Test func aProcessWithMemoryAsksTheServerOnceForItsTime() async throws {
    let (origin, redis) = (
      try LoopbackServer { _ in Reply(fields: ["Cache-Control": "max-age=60"], content: Data("x".utf8)) },
      try RedisServer()
    )
    var options = RedisCacheOptions()
    options.memoryLife = .seconds(3_600)
    var configuration = SessionConfiguration()
    configuration.cache = HTTPCache(store: RedisCacheStore(try redis.client(), options: options))
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)
    let request = HTTPRequest(.get, origin.url("/"))
    _ = try await session.data(for: request)
    #expect(try await session.data(for: request).1.source == .cache)
    let asked = try redis.lookups()
    for _ in 0..<10 {
      let (data, response) = try await session.data(for: request)
      #expect(response.source == .cache)
      #expect(data == Data("x".utf8))
    }
    #expect(try redis.lookups() == asked)
    #expect(asked > 0)
  }

  @Test func aRemovalIsSeenByOthersWithinTheirMemoryLife() async throws {
    let server = try LoopbackServer { _ in
      Reply(fields: ["Cache-Control": "max-age=60"], content: Data("x".utf8))
    }
    let (one, other) = (session(), session { $0.memoryLife = .milliseconds(1) })
    let request = HTTPRequest(.get, server.url("/"))
    _ = try await one.data(for: request)
    #expect(try await other.data(for: request).1.source == .cache)
    try await HTTPCache(store: RedisCacheStore(RedisClient(redis), options: RedisCacheOptions())).remove(request.url)
    while try await other.data(for: request).1.source != .network {}
    #expect(server.requests.count == 2)
  }

  @Test func aReaderWithoutTheKeyFindsNothing() async throws {
    let server = try LoopbackServer { _ in
      Reply(fields: ["Cache-Control": "max-age=60"], content: Data("secret".utf8))
    }
    let seal = try RedisSeal(key: Data(repeating: 3, count: 32))
    let request = HTTPRequest(.get, server.url("/"))
    _ = try await session { $0.seal = seal }.data(for: request)
    #expect(try await session { $0.seal = seal }.data(for: request).1.source == .cache)
    #expect(try await session().data(for: request).1.source == .network)
  }

  @Test func aProcessThatIsGoneIsReplacedWithinItsLease() async throws {
    let store = RedisCacheStore(RedisClient(redis))
    var short = RedisLeaseOptions()
    short.duration = .milliseconds(200)
    var options = RedisCacheOptions()
    options.leases = short
    do {
      // A closed client cannot prolong a lease, like a killed process.
      let client = RedisClient(redis)
      guard case .send(let lease) = try await RedisCacheStore(client, options: options).requestLease(for: "name") else {
        Issue.record("nobody had the lease")
        return
      }
      withExtendedLifetime(lease) { client.close() }
    }
    var waits = 0
    while case .wait = try await store.requestLease(for: "name") { waits += 1 }
    #expect(waits > 0)
  }

  @Test func aLeaseThatIsDroppedIsFree() async throws {
    let store = RedisCacheStore(RedisClient(redis))
    do {
      guard case .send = try await store.requestLease(for: "name") else {
        Issue.record("nobody had the lease")
        return
      }
    }
    guard case .send = try await store.requestLease(for: "name") else {
      Issue.record("it is still held")
      return
    }
  }

  @Test func aLeaseOfALivingProcessIsProlonged() async throws {
    var options = RedisCacheOptions()
    options.leases?.duration = .seconds(2)
    let one = RedisCacheStore(RedisClient(redis), options: options)
    let other = RedisCacheStore(RedisClient(redis), options: options)
    guard case .send(let lease) = try await one.requestLease(for: "name") else {
      Issue.record("nobody had the lease")
      return
    }
    let end = ContinuousClock.now + .seconds(5)
    while ContinuousClock.now < end {
      guard case .wait = try await other.requestLease(for: "name") else {
        Issue.record("the lease ended")
        return
      }
    }
    lease.end(.failed)
    while case .wait = try await other.requestLease(for: "name") {}
  }

  /// A value of another type under a name of the cache would make each later look-up and removal fail.
  @Test func aForeignValueIsReplaced() async throws {
    let server = try LoopbackServer { _ in Reply(fields: ["Cache-Control": "max-age=60"], content: Data("x".utf8)) }
    let cache = HTTPCache(store: RedisCacheStore(RedisClient(redis)))
    var configuration = SessionConfiguration()
    configuration.cache = cache
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)
    let replace = """
      for _, name in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('SET', name, 'garbage') end
      """
    _ = try await session.data(for: HTTPRequest(.get, server.url("/")))
    _ = try RedisServer.shared.get().command("EVAL", replace, "0", "\(redis.prefix)c:*")

    for _ in 0..<2 { _ = try await session.data(for: HTTPRequest(.get, server.url("/"))) }
    #expect(server.requests.count == 2)

    _ = try RedisServer.shared.get().command("EVAL", replace, "0", "\(redis.prefix)c:*")
    try await cache.removeAll()
    #expect(try await cache.usage() == HTTPCache.Usage(entries: 0, bytes: 0))
  }

  /// A value under the name of a lease that no process has written, as a script with the key as its argument.
  @Test(arguments: [
    "redis.call('SET', KEYS[1], 'garbage', 'PX', 3600000)", "redis.call('SET', KEYS[1], '')",
    "redis.call('SET', KEYS[1], '-')", "redis.call('SET', KEYS[1], '922A96D7-F188-49A9-84BC-7BABE5D110ED')",
    "redis.call('RPUSH', KEYS[1], 'a')",
    "redis.call('SET', KEYS[1], '922A96D7-F188-49A9-84BC-7BABE5D110ED', 'PX', 3600000)",
    "redis.call('SET', KEYS[1], '000000000000000000000000000000000000', 'PX', 3000)",
    "redis.call('SET', KEYS[1], '-', 'PX', 3600000)",
  ])
  func whatIsNoLeaseIsReplacedByOne(script: String) async throws {
    _ = try RedisServer.shared.get().command("EVAL", script, "1", "\(redis.prefix)f:{name}")
    let (one, other) = (RedisCacheStore(RedisClient(redis)), RedisCacheStore(RedisClient(redis)))
    guard case .send(let lease) = try await one.requestLease(for: "name") else {
      Issue.record("nobody has the lease, and it cannot be taken")
      return
    }
    guard case .wait = try await other.requestLease(for: "name") else {
      Issue.record("it is not held")
      return
    }
    lease.end(.unshared)
    while case .wait = try await other.requestLease(for: "name") {}
  }
}
