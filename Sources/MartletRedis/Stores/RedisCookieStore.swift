public import MartletEngine
public import MartletSemantics
import Synchronization

/// A ``Martlet/CookieStore`` on a Redis server, which the processes of a fleet share.
///
/// ```swift
/// configuration.cookies = CookieJar(store: RedisCookieStore(redis, sessionCookies: .shared))
/// ```
///
/// The cookies of a site are one value, which is replaced only if nobody has changed it since it was read: the changes of several
/// processes are made one after another. A value that is sealed with another key is a missing one, and the next change replaces
/// it.
///
/// The jar asks before each request, and continues without cookies after ``RedisConfiguration/waitLimit``. The server does not
/// know when cookies expire: the jar removes those.
public final class RedisCookieStore: CookieStore {
  /// Where session cookies are stored.
  public enum SessionCookies: Sendable, Hashable {
    /// In the memory of this process, as long as the store exists.
    case transient
    /// On the server, for all processes and until they are removed: for a fleet that has one session together.
    case shared
  }

  private let redis: RedisClient
  private let names: (sites: String, count: String)
  private let form: ValueForm
  private let sharesAll: Bool
  /// The session cookies that are not on the server, by site.
  private let session = Mutex<[String: [Cookie]]>([:])
  /// The changes of this process, one after another. Reading joins them while there is something in memory, so that it does
  /// not see the memory before a change and the server after it.
  private let changes = OneAtATime()

  /// How often a change is tried while other processes change the same site.
  private static let attemptLimit = 200

  /// Makes a store.
  ///
  /// - Parameters:
  ///   - redis: The client.
  ///   - name: What separates stores on the same server; `cookies` by default.
  ///   - sessionCookies: Where session cookies are stored; in memory by default.
  ///   - seal: Seals the cookies; nil, the default, for none. The names of sites are not sealed.
  public init(
    _ redis: RedisClient, name: String = "cookies", sessionCookies: SessionCookies = .transient, seal: RedisSeal? = nil
  ) {
    self.redis = redis
    let hash = "\(redis.configuration.prefix)k:{\(name)}"
    names = (hash, hash + ":count")
    form = ValueForm(seal: seal)
    sharesAll = sessionCookies == .shared
  }

  public func cookies(in site: String) async throws -> [Cookie] {
    try await reading { [self] session in
      Self.joined(try await stored(site).cookies, session[site] ?? [])
    }
  }

  public func update<Result: Sendable>(
    _ site: String, _ change: @escaping @Sendable (inout [Cookie]) -> Result
  ) async throws -> Result {
    try await changes.run { [self] in
      for _ in 0..<Self.attemptLimit {
        let before = try await stored(site)
        var cookies = Self.joined(before.cookies, session.withLock { $0[site] ?? [] })
        let result = change(&cookies)
        let shared = cookies.filter { sharesAll || !$0.isSession }
        guard try await replace(before, by: shared, in: site) else { continue }
        let transient = sharesAll ? [] : cookies.filter(\.isSession)
        session.withLock { $0[site] = transient.isEmpty ? nil : transient }
        return result
      }
      throw RedisError(.notStored, "the cookies of \(site) are changed by too many processes at once")
    }
  }

  public func count() async throws -> Int {
    try await reading { [self] session in
      let reply = try await redis.send(RedisCommand("GET", names.count))
      let count = reply.bytes.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
      return max(0, count) + session.values.reduce(0) { $0 + $1.count }
    }
  }

  public func allCookies() async throws -> [String: [Cookie]] {
    try await reading { [self] session in
      var all = session
      let parts = try await redis.send(RedisCommand("HGETALL", names.sites)).elements.compactMap(\.bytes)
      for index in stride(from: 0, to: parts.count - 1, by: 2) {
        let site = String(decoding: parts[index], as: UTF8.self)
        all[site] = Self.joined(read(parts[index + 1], of: site).cookies, all[site] ?? [])
      }
      return all.filter { !$0.value.isEmpty }
    }
  }

  public func removeAll() async throws {
    try await changes.run { [self] in
      _ = try await redis.send(RedisCommand("DEL", names.sites, names.count))
      session.withLock { $0 = [:] }
    }
  }

  private func reading<Value: Sendable>(
    _ work: @escaping @Sendable (_ session: [String: [Cookie]]) async throws -> Value
  ) async throws -> Value {
    if sharesAll { return try await work([:]) }
    return try await changes.run { [self] in try await work(session.withLock { $0 }) }
  }

  /// One of each identity: another process may have stored a cookie with a date that is a session cookie here. The one set last
  /// counts.
  private static func joined(_ stored: [Cookie], _ transient: [Cookie]) -> [Cookie] {
    guard !stored.isEmpty, !transient.isEmpty else { return stored + transient }
    let cookies = Dictionary((stored + transient).map { ($0.identity, $0) }) { one, other in
      one.lastAccessed > other.lastAccessed ? one : other
    }
    return Array(cookies.values)
  }

  // MARK: Values

  /// The cookies of a site, and the mark of the value that they were read from; empty if there is none.
  private struct Stored {
    var mark = Data()
    var cookies: [Cookie] = []
  }

  private static let markLength = 16

  private func stored(_ site: String) async throws -> Stored {
    let reply = try await redis.send(RedisCommand("HGET", names.sites, site))
    return reply.bytes.map { read($0, of: site) } ?? Stored()
  }

  private func read(_ value: Data, of site: String) -> Stored {
    let mark = Data(value.prefix(Self.markLength))
    guard let bytes = form.read(value.dropFirst(Self.markLength + 4), at: mark + Data(text: site)),
      let cookies = try? JSONDecoder().decode([Cookie].self, from: bytes)
    else { return Stored(mark: mark) }
    return Stored(mark: mark, cookies: cookies)
  }

  /// - Returns: false if another process has changed the site in between.
  private func replace(_ before: Stored, by cookies: [Cookie], in site: String) async throws -> Bool {
    guard Set(before.cookies) != Set(cookies) else { return true }
    var value = ByteWriter()
    value.add(UUID())
    let mark = value.bytes
    value.add(UInt32(clamping: cookies.count))
    let bytes = try form.write(JSONEncoder().encode(cookies), at: mark + Data(text: site))
    let arguments = [Data(text: site), before.mark, cookies.isEmpty ? Data() : value.bytes + bytes]
    return try await redis.run(Self.replacement, keys: [names.sites, names.count], arguments).integer == 1
  }

  /// Replaces the value of a site if it still has this mark, and counts. Arguments: site, mark, value (empty to remove). A value is
  /// its mark, the number of cookies, and the cookies.
  private static let replacement = RedisScript(
    """
    local stored = redis.call('HGET', KEYS[1], ARGV[1]) or ''
    if string.sub(stored, 1, 16) ~= ARGV[2] then return 0 end
    local function count(value) if value == '' then return 0 else return (struct.unpack('>I4', string.sub(value, 17, 20))) end end
    if ARGV[3] == '' then redis.call('HDEL', KEYS[1], ARGV[1]) else redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end
    redis.call('INCRBY', KEYS[2], count(ARGV[3]) - count(stored))
    return 1
    """)
}

/// Runs asynchronous work one after another, in the order in which it was submitted.
private final class OneAtATime: Sendable {
  private let last = Mutex<Task<Void, Never>?>(nil)

  /// Runs the work after what was submitted before. It runs to its end even if the caller is cancelled.
  func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
    let task = last.withLock { last in
      let task = Task { [last] in
        await last?.value
        return try await work()
      }
      last = Task { _ = try? await task.value }
      return task
    }
    return try await task.value
  }
}
