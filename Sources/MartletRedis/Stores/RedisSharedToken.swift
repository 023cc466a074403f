public import MartletEngine
import MartletSemantics

/// An access token that the processes of a fleet have in common, and that one of them renews at a time.
///
/// ```swift
/// let shared = RedisSharedToken(redis, name: "orders", seal: try RedisSeal(key: secret))
/// let tokens = TokenSource(for: .origin(of: api), refresh: shared.refresh { old in
///   try await login.refresh(old?.refreshToken)          // once for the fleet
/// })
/// ```
///
/// A process that needs a new token first looks whether another has stored one. If not, it takes a lease and renews the token
/// with the refresh token of the stored one; the others wait for it. Within a process the `TokenSource` sees to it that one request
/// renews.
///
/// - **A refresh token is used once.** The lease is given for a number, which each new token raises, and only while the stored
///   token has that number; and a token is stored only if nobody has stored one in between. A late winner gets the newer token
///   instead of overwriting it. If a process is killed between the answer of the authorization server and the store, the refresh
///   token is lost, as with a single process.
/// - **The server is slow or gone.** ``WhenUnavailable`` decides: by default the process renews alone, with the token that it
///   has. Choose ``WhenUnavailable/fail`` for an authorization server that revokes everything when a refresh token comes twice.
/// - **A process that holds the lease and does not get on**: the others wait for ``longestWait`` and then throw a ``RedisError`` of
///   kind `.timeout`; the next request tries again.
public struct RedisSharedToken: Sendable {
  /// What a process does that cannot ask the server.
  public enum WhenUnavailable: Sendable, Hashable {
    /// It renews the token that it has.
    case renewAlone
    /// It throws the ``RedisError``: requests fail with `.authenticationFailed` until the server answers again.
    case fail
  }

  private let redis: RedisClient
  private let names: (token: String, lease: String)
  private let form: ValueForm
  private let clock: any Clock<Duration>
  private let now: @Sendable () -> Date
  /// What a process does that cannot ask the server; it renews alone by default.
  public var whenUnavailable = WhenUnavailable.renewAlone
  /// For how long a process that is killed prevents that others renew the token; 10 seconds by default. A process that lives
  /// prolongs that every third of this time.
  public var lease = Duration.seconds(10)
  /// How long a process waits for the renewal of another; 30 seconds by default.
  public var longestWait = Duration.seconds(30)
  /// How long a call waits for the server; a second by default.
  public var waitLimit = Duration.seconds(1)

  /// Makes the token of that name.
  ///
  /// - Parameters:
  ///   - redis: The client.
  ///   - name: What separates tokens on the same server, for example the API and its user.
  ///   - seal: Seals the token, which is a secret; nil, the default, for none.
  public init(_ redis: RedisClient, name: String, seal: RedisSeal? = nil) {
    self.init(redis, name: name, seal: seal, clock: ContinuousClock(), now: { Date() })
  }

  init(
    _ redis: RedisClient, name: String, seal: RedisSeal?, clock: any Clock<Duration>,
    now: @escaping @Sendable () -> Date
  ) {
    (self.redis, self.clock, self.now) = (redis, clock, now)
    let key = "\(redis.configuration.prefix)t:{\(name)}"
    names = (key, key + ":lease")
    form = ValueForm(seal: seal)
  }

  /// Returns a closure for a `TokenSource`, which renews the token once for all processes.
  ///
  /// - Parameter renew: Gets the next token from the authorization server. Its argument is the newest token; nil if there is
  ///   none.
  public func refresh(_ renew: @escaping TokenSource.Refresh) -> TokenSource.Refresh {
    { old in try await token(insteadOf: old, renew) }
  }

  /// Returns the stored token; nil if there is none.
  public func token() async throws -> AccessToken? { try await stored().token }

  /// Stores a token in place of any other, after a login for example. nil removes it, when the user signs out. The results of
  /// renewals that are under way are discarded.
  public func use(_ token: AccessToken?) async throws {
    let value = try token.map { try write($0, received: now()) } ?? Data()
    _ = try await redis.run(Self.store, keys: [names.token], [Data(), value], within: waitLimit)
  }

  // MARK: Renewing

  private struct Stored {
    var number = Data(text: "0")
    var token: AccessToken?
    /// Whether the token can be sent without expiring on the way.
    var isFresh = false
  }

  private func token(insteadOf old: AccessToken?, _ renew: TokenSource.Refresh) async throws -> AccessToken? {
    let stopwatch = Stopwatch(clock)
    var pause = Duration.milliseconds(5)
    while true {
      let stored: Stored
      let lease: RedisLease?
      do {
        stored = try await self.stored()
        if let token = stored.token, token.value != old?.value, stored.isFresh { return token }
        lease = try await takeLease(for: stored.number)
      } catch let error as RedisError {
        guard whenUnavailable == .renewAlone, [.unavailable, .timeout].contains(error.kind) else { throw error }
        return try await renew(old)
      }
      if let lease { return try await self.renew(stored, old, lease, renew) }
      guard stopwatch.elapsed < longestWait else {
        throw RedisError(.timeout, "another process has been renewing the access token for \(longestWait)")
      }
      try await clock.sleep(for: pause)
      pause = min(pause * 2, .milliseconds(100))
    }
  }

  private func renew(
    _ stored: Stored, _ old: AccessToken?, _ lease: RedisLease, _ renew: TokenSource.Refresh
  ) async throws -> AccessToken? {
    defer { lease.end(.failed) }
    guard let token = try await renew(stored.token ?? old) else { return nil }
    let value = try write(token, received: now())
    do {
      let reply = try await redis.run(Self.store, keys: [names.token], [stored.number, value], within: waitLimit)
      // somebody else was faster, or the user has signed out
      guard reply.integer == 1 else { return try await self.stored().token }
    } catch is RedisError {
      // the token is good, and its refresh token used up: better known to one process than to none
    }
    return token
  }

  /// Takes the lease if the stored token still has this number; nil if it has another, or if another process has the lease.
  private func takeLease(for number: Data) async throws -> RedisLease? {
    let holder = UUID().uuidString
    let arguments = [number, Data(text: holder), Data(Int64(lease.inMilliseconds))]
    let reply = try await redis.run(Self.take, keys: [names.token, names.lease], arguments, within: waitLimit)
    return reply.integer == 1 ? RedisLease(names.lease, holder, for: lease, of: redis, on: clock) : nil
  }

  private func stored() async throws -> Stored {
    let reply = try await redis.send(RedisCommand("HMGET", names.token, "n", "v"), within: waitLimit)
    guard reply.elements.count == 2, let number = reply.elements[0].bytes else { return Stored() }
    guard let value = reply.elements[1].bytes.flatMap({ form.read($0, at: Data(text: names.token)) }),
      let content = try? JSONDecoder().decode(Content.self, from: value)
    else { return Stored(number: number) }
    return Stored(
      number: number, token: content.token, isFresh: content.token.isFresh(at: now(), received: content.received))
  }

  private struct Content: Codable {
    let token: AccessToken
    let received: Date
  }

  private func write(_ token: AccessToken, received: Date) throws -> Data {
    try form.write(JSONEncoder().encode(Content(token: token, received: received)), at: Data(text: names.token))
  }

  /// Arguments: number, holder, milliseconds.
  private static let take = RedisScript(
    """
    if (redis.call('HGET', KEYS[1], 'n') or '0') ~= ARGV[1] then return 0 end
    return redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3], 'NX') and 1 or 0
    """)

  /// Stores a value under the next number, if the number is still this one; in any case if it is empty. An empty value removes
  /// the token, and its number stays. Arguments: number, value.
  private static let store = RedisScript(
    """
    if ARGV[1] ~= '' and (redis.call('HGET', KEYS[1], 'n') or '0') ~= ARGV[1] then return 0 end
    redis.call('HINCRBY', KEYS[1], 'n', 1)
    if ARGV[2] == '' then redis.call('HDEL', KEYS[1], 'v') else redis.call('HSET', KEYS[1], 'v', ARGV[2]) end
    return 1
    """)
}
