@_spi(Stores) public import MartletEngine
public import MartletSemantics
import Synchronization

/// A ``Martlet/CookieStore`` on a Redis server, which the processes of a fleet share.
///
/// ```swift
/// configuration.cookies = CookieJar(store: RedisCookieStore(redis, sessionCookies: .shared))
/// ```
///
/// The cookies of a site are one value, which is replaced only if it has not changed since it was read: changes by
/// several processes are made one after another. A value that is sealed with another key counts as missing, and the
/// next change replaces it.
///
/// The jar reads cookies before each request, and continues without them after ``RedisConfiguration/waitLimit``. The
/// server does not know when cookies expire: the jar removes expired ones.
public final class RedisCookieStore: CookieStore {
  /// Where session cookies are stored.
  public enum SessionCookies: Sendable, Hashable {
    /// In the memory of this process, while the store exists.
    case transient
    /// On the server, for all processes and until they are removed: for a fleet that shares one session.
    case shared
  }

  private let redis: RedisClient
  private let names: (sites: String, count: String, signOuts: String)
  private let form: ValueForm
  private let sharesAll: Bool
  private let session = Mutex(Session())
  /// The changes of this process. They prevent a reader from combining the memory before a change with the server after
  /// it.
  private let changes = SiteChanges()

  /// The session cookies that are not on the server.
  private struct Session {
    /// By site.
    var cookies: [String: [Cookie]] = [:]
    var removals = 0
  }

  /// How many times a change is tried while other processes change the same site.
  private static let attemptLimit = 200

  /// Makes a store.
  ///
  /// - Parameters:
  ///   - redis: the client.
  ///   - name: the name that separates stores on the same server; `cookies` by default.
  ///   - sessionCookies: where session cookies are stored; in memory by default.
  ///   - seal: seals the cookies; nil, the default, for none. The names of sites are not sealed.
  public init(
    _ redis: RedisClient, name: String = "cookies", sessionCookies: SessionCookies = .transient, seal: RedisSeal? = nil
  ) {
    self.redis = redis
    let hash = "\(redis.configuration.prefix)k:{\(name)}"
    names = (hash, hash + ":count", hash + ":out")
    form = ValueForm(seal: seal)
    sharesAll = sessionCookies == .shared
  }

  public func cookies(in site: String) async throws -> [Cookie] {
    if sharesAll { return try await stored(site).cookies }
    return try await changes.read(site) { [self] in
      let transient = session.withLock { $0.cookies[site] ?? [] }
      return Self.joined(try await stored(site).cookies, transient)
    }
  }

  public func update<Result: Sendable>(
    _ site: String, _ change: @escaping @Sendable (inout [Cookie]) -> Result
  ) async throws -> Result {
    try await update(site, in: 0) { cookies, _ in change(&cookies) }
  }

  @_spi(Stores) public func update<Result: Sendable>(
    _ site: String, in group: Int, _ change: @escaping @Sendable (inout [Cookie], SharedSignOuts) -> Result
  ) async throws -> Result {
    try await changes.run(site) { [self] in
      for _ in 0..<Self.attemptLimit {
        let (known, removals) = session.withLock { ($0.cookies[site] ?? [], $0.removals) }
        let signOuts = try await signOuts(of: group)  // before the cookies, which a sign-out removes after its mark
        let before = try await stored(site)
        var cookies = Self.joined(before.cookies, known)
        let result = change(&cookies, signOuts)
        let shared = cookies.filter { sharesAll || !$0.isSession }
        guard try await replace(before, by: shared, in: site, after: signOuts, of: group) else { continue }
        let transient = sharesAll ? [] : cookies.filter(\.isSession)
        session.withLock { session in
          guard session.removals == removals else { return }  // They were removed with all others.
          session.cookies[site] = transient.isEmpty ? nil : transient
        }
        return result
      }
      throw RedisError(.notStored, "the cookies of \(site) are changed by too many processes at once")
    }
  }

  public func count() async throws -> Int {
    let reply = try await redis.send(RedisCommand("GET", names.count))
    let count = reply.bytes.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
    return max(0, count) + session.withLock { $0.cookies.values.reduce(0) { $0 + $1.count } }
  }

  /// Returns all cookies by site, including cookies of changes that this process has begun.
  public func allCookies() async throws -> [String: [Cookie]] {
    await changes.waitForAll()
    let before = session.withLock { $0.cookies }
    let parts = try await redis.send(RedisCommand("HGETALL", names.sites)).elements.compactMap(\.bytes)
    // Both before and after, so that a cookie that moves to or from the server in the meantime is not missing.
    var all = before.merging(session.withLock { $0.cookies }) { Self.joined($0, $1) }
    for index in stride(from: 0, to: parts.count - 1, by: 2) {
      let site = String(decoding: parts[index], as: UTF8.self)
      all[site] = Self.joined(read(parts[index + 1], of: site).cookies, all[site] ?? [])
    }
    return all.filter { !$0.value.isEmpty }
  }

  /// Removes the stored cookies, including cookies of changes that this process has begun. Changes that other processes
  /// have begun are repeated without them.
  public func removeAll() async throws {
    // A change may be decided already, but not yet stored.
    await changes.waitForAll()
    let mark = Data(text: String(Int64.random(in: .min ... .max)))
    try await redis.carryOut(Self.removal, keys: [names.sites, names.count, names.signOuts], [mark])
    session.withLock { session in
      session.cookies = [:]
      session.removals += 1
    }
  }

  /// Merges cookies, keeping one of each identity: another process may have stored a cookie with a date that is a
  /// session cookie here. The one set last counts.
  private static func joined(_ stored: [Cookie], _ transient: [Cookie]) -> [Cookie] {
    guard !stored.isEmpty, !transient.isEmpty else { return stored + transient }
    let cookies = Dictionary((stored + transient).map { ($0.identity, $0) }) { one, other in
      one.lastAccessed > other.lastAccessed ? one : other
    }
    return Array(cookies.values)
  }

  // MARK: - Values

  /// The cookies of a site, and the mark of the value that contained them; empty if there is none.
  private struct Stored {
    var mark = Data()
    var cookies: [Cookie] = []
  }

  private static let markLength = 16

  /// The place that a sealed value is bound to: the store, the site and the mark.
  private func place(of site: String, _ mark: Data) -> Data { Data(text: "\(names.sites)\0\(site)\0") + mark }

  private func stored(_ site: String) async throws -> Stored {
    let reply = try await redis.send(RedisCommand("HGET", names.sites, site))
    return reply.bytes.map { read($0, of: site) } ?? Stored()
  }

  private func read(_ value: Data, of site: String) -> Stored {
    let mark = Data(value.prefix(Self.markLength))
    guard let bytes = form.read(value.dropFirst(Self.markLength + 4), at: place(of: site, mark)),
      let cookies = try? JSONDecoder().decode([Cookie].self, from: bytes)
    else { return Stored(mark: mark) }
    return Stored(mark: mark, cookies: cookies)
  }

  /// - Returns: false if another process has changed the site in between.
  private func replace(
    _ before: Stored, by cookies: [Cookie], in site: String, after signOuts: SharedSignOuts, of group: Int
  ) async throws -> Bool {
    guard Set(before.cookies) != Set(cookies) else { return true }
    var value = ByteWriter()
    value.add(UUID())
    let mark = value.bytes
    value.add(UInt32(clamping: cookies.count))
    let bytes = try form.write(JSONEncoder().encode(cookies), at: place(of: site, mark))
    let arguments = [
      Data(text: site), before.mark, cookies.isEmpty ? Data() : value.bytes + bytes, Data(text: String(group)),
      Data(text: String(signOuts.ofAll)), Data(text: String(signOuts.ofGroup)),
    ]
    let keys = [names.sites, names.count, names.signOuts]
    return try await redis.run(Self.replacement, keys: keys, arguments).integer == 1
  }

  /// Removes everything, and records the sign-out: the field `all` of the last key, whose other fields are groups.
  private static let removal = RedisScript(
    """
    redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
    redis.call('HSET', KEYS[3], 'all', ARGV[1])
    return 1
    """)

  /// Replaces the value of a site if it still has this mark, and there was no sign-out, and updates the count.
  /// Arguments: site, mark, value (empty to remove), group, and the two marks of its sign-outs. A value consists of its
  /// mark, the number of cookies, and the cookies.
  private static let replacement = RedisScript(
    """
    if (redis.call('HGET', KEYS[3], 'all') or '0') ~= ARGV[5] then return 0 end
    if (redis.call('HGET', KEYS[3], ARGV[4]) or '0') ~= ARGV[6] then return 0 end
    local stored = redis.call('HGET', KEYS[1], ARGV[1]) or ''
    if string.sub(stored, 1, 16) ~= ARGV[2] then return 0 end
    local function count(value) if value == '' then return 0 else return (struct.unpack('>I4', string.sub(value, 17, 20))) end end
    if ARGV[3] == '' then redis.call('HDEL', KEYS[1], ARGV[1]) else redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end
    redis.call('INCRBY', KEYS[2], count(ARGV[3]) - count(stored))
    return 1
    """)
}

@_spi(Stores) extension RedisCookieStore: SharedCookieStore {
  public func signOuts(of group: Int) async throws -> SharedSignOuts {
    let marks = try await redis.send(RedisCommand("HMGET", names.signOuts, "all", String(group))).elements.map { mark in
      mark.bytes.flatMap { Int64(String(decoding: $0, as: UTF8.self)) } ?? 0
    }
    return SharedSignOuts(ofAll: marks.first ?? 0, ofGroup: marks.last ?? 0)
  }

  public func noteSignOut(of group: Int) async throws {
    await changes.waitForAll()
    let mark = String(Int64.random(in: .min ... .max))
    _ = try await redis.send(RedisCommand("HSET", names.signOuts, String(group), mark))
  }
}
