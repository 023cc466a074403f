@_spi(Credentials) @_spi(Fleet) @_spi(Stores) @_spi(Toolkit) public import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Synchronization

/// An access token that a fleet's processes share. One process at a time renews it.
///
/// ```swift
/// let shared = RedisSharedToken(redis, name: "orders", seal: try RedisSeal(key: secret))
/// let tokens = TokenSource(for: .origin(of: api), refresh: shared.refresh { old in
///   try await login.refresh(old?.refreshToken)          // once for the fleet
/// })
/// ```
///
/// A process that needs a new token first checks whether another process has stored one. If not, it takes a lease and
/// renews the token with the refresh token of the stored one; the others wait for it. Within a process, the
/// `TokenSource` ensures that only one request renews.
///
/// - **A refresh token is used once.** A lease is granted for a number, which each new token increments, and only while
///   the stored token has that number. A token is stored only if no other was stored in between. A late winner gets the
///   newer token instead of overwriting it. If a process is killed between the authorization server's response and
///   storing the token, the refresh token is lost, as with a single process.
/// - **If the server is slow or unreachable, or refuses commands**, a renewal tries again for ``waitLimit``. Then
///   ``WhenUnavailable`` decides: by default the process renews alone if that cannot use a refresh token twice. A token
///   that could not be stored stays in the memory of the process, which stores it before its next renewal. Another
///   process that renews in between uses the refresh token a second time.
/// - **Sign-out.** After ``use(_:)`` with nil, no process that knows of it renews with an older token: the closure is
///   called without one. A process that cannot ask the server may not know of it yet: what it renews alone is not
///   stored.
/// - **If the process with the lease makes no progress**, the others wait for ``peerWaitLimit`` and then throw a
///   ``RedisError`` of kind `.timeout`; the next request tries again.
public struct RedisSharedToken: Sendable {
  /// The reaction of a process that cannot use the server.
  public enum WhenUnavailable: Sendable, Hashable {
    /// It renews its token, unless that has a refresh token: then it throws the ``RedisError``.
    case renewAloneWithoutRefreshToken
    /// It renews its token, for an authorization server that accepts a refresh token from several processes.
    case renewAlone
    /// It throws the ``RedisError``: requests fail with `.authenticationFailed` until the server answers again.
    case fail
  }

  private let redis: RedisClient
  private let names: (token: String, lease: String)
  private let form: ValueForm
  private let clock: any Clock<Duration>
  private let now: @Sendable () -> Date
  private let state = Shared()
  /// The reaction of a process that cannot use the server. By default it renews a token alone only if that has no
  /// refresh token.
  public var whenUnavailable = WhenUnavailable.renewAloneWithoutRefreshToken
  /// How long a killed process keeps others from renewing the token; 10 seconds by default. A running process renews
  /// its claim every third of this time.
  public var lease = Duration.seconds(10)
  /// How long a process waits for the renewal of another; 30 seconds by default.
  public var peerWaitLimit = Duration.seconds(30)
  /// How long a call waits for the server, and how long a renewal retries a failing server; a second by default.
  public var waitLimit = Duration.seconds(1)

  /// Makes the shared token with a name.
  ///
  /// - Parameters:
  ///   - redis: the client.
  ///   - name: the name that separates tokens on the same server, for example the API and its user.
  ///   - seal: seals the token, which is a secret; nil, the default, for none.
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
  /// - Parameter renew: gets the next token from the authorization server. Its argument is the newest token; nil if
  ///   there is none.
  public func refresh(_ renew: @escaping TokenSource.Refresh) -> TokenSource.Refresh {
    { old in try await token(insteadOf: old, renew) }
  }

  /// Returns the stored token; nil if there is none.
  public func token() async throws -> AccessToken? { try await stored().token }

  /// Stores a token in place of any other, for example after a login. nil removes it when the user signs out. Results
  /// of renewals in progress are discarded.
  public func use(_ token: AccessToken?) async throws {
    state.withLock { ($0.unstored, $0.isRemoved) = (nil, token == nil) }
    let value = try token.map { try write($0, received: now()) } ?? Data()
    try await redis.carryOut(Self.store, keys: [names.token], [Data(), value], within: waitLimit)
    // The answer to an earlier command may have set it in the meantime.
    state.withLock { $0.isRemoved = token == nil }
  }

  // MARK: - Renewing

  private struct Stored {
    var number = Self.none
    var token: AccessToken?
    /// Whether the token can be sent without expiring in transit.
    var isFresh = false
    /// Whether there was a token that was removed.
    var isRemoved = false

    /// The number when no token was ever stored.
    static let none = Data(text: "0")
  }

  /// A new token that is not stored yet, and the number of the previous one.
  private struct Unstored: Sendable {
    let id = UUID()
    let number: Data
    let token: AccessToken
    let received: Date
  }

  /// What a process knows while it cannot ask the server.
  private struct State: Sendable {
    /// Never older than a removal that is known.
    var unstored: Unstored?
    /// The number of the stored token in the server's last answer.
    var number = Stored.none
    /// Whether the token was removed, here or, according to the server's last answer, elsewhere.
    var isRemoved = false
  }

  /// The state that the copies of the value share.
  private final class Shared: Sendable {
    private let state = Mutex(State())

    func withLock<R: Sendable>(_ body: (inout State) -> R) -> R { state.withLock { body(&$0) } }
  }

  private func token(insteadOf old: AccessToken?, _ renew: TokenSource.Refresh) async throws -> AccessToken? {
    let stopwatch = Stopwatch(clock)
    let holder = UUID().uuidString
    var pause = Duration.milliseconds(5)
    while true {
      var stored: Stored?
      var lease: RedisLease?
      do {
        let current = try await current()
        stored = current
        if let token = current.token, token.value != old?.value, current.isFresh { return token }
        lease = try await takeLease(for: current.number, holder)
      } catch let error as RedisError where [.unavailable, .timeout, .refused, .unexpectedForm].contains(error.kind) {
        guard stopwatch.elapsed < waitLimit else {
          RedisLease.end(names.lease, holder, .failed, of: redis)  // It may have been granted, but too late.
          return try await renewAlone(stored, old, after: error, renew)
        }
      }
      if let stored, let lease { return try await self.renew(stored, old, lease, renew) }
      guard stopwatch.elapsed < peerWaitLimit else {
        let time = Quantity.text(peerWaitLimit)
        throw RedisError(.timeout, "another process has been renewing the access token for \(time)")
      }
      try await clock.sleep(for: pause)
      pause = min(pause * 2, .milliseconds(100))
    }
  }

  private func renew(
    _ stored: Stored, _ old: AccessToken?, _ lease: RedisLease, _ renew: TokenSource.Refresh
  ) async throws -> AccessToken? {
    defer { lease.end(.failed) }
    guard let token = try await renew(self.token(toRenew: stored, old)) else { return nil }
    let result = Unstored(number: stored.number, token: token, received: now())
    state.withLock { if stored.isRemoved || !$0.isRemoved { $0.unstored = result } }
    let stopwatch = Stopwatch(clock)
    while true {
      do {
        if try await store(result) { return token }
        // Another process was faster, or the user has signed out.
        return try await self.stored().token
      } catch is RedisError {
        // The token is valid, and its refresh token used up: one process should keep it rather than none.
        guard stopwatch.elapsed < waitLimit else { return token }
        try await clock.sleep(for: .milliseconds(50))
      }
    }
  }

  /// Renews without the server, or throws the error.
  ///
  /// - Parameter stored: the server's last answer before it failed.
  private func renewAlone(
    _ stored: Stored?, _ old: AccessToken?, after error: RedisError, _ renew: TokenSource.Refresh
  ) async throws -> AccessToken? {
    let state = self.state.withLock { $0 }
    let unstored = state.unstored
    if let unstored, unstored.token.value != old?.value,
      unstored.token.isFresh(at: now(), received: unstored.received)
    {
      return unstored.token
    }
    let newest = unstored?.token ?? (state.isRemoved ? nil : token(toRenew: stored ?? Stored(), old))
    switch whenUnavailable {
    case .renewAlone: break
    case .renewAloneWithoutRefreshToken where newest?.refreshToken == nil: break
    case .renewAloneWithoutRefreshToken, .fail: throw error
    }
    guard let token = try await renew(newest) else { return nil }
    let result = Unstored(number: unstored?.number ?? state.number, token: token, received: now())
    return self.state.withLock { current in
      let isSuccessor = current.unstored != nil && current.unstored?.id == unstored?.id
      // With the number of a removal, it would be stored later and sign the fleet in again.
      if isSuccessor || !current.isRemoved { current.unstored = result }
      let isSignedOutMeanwhile = current.isRemoved && !state.isRemoved
      return isSignedOutMeanwhile ? nil : token
    }
  }

  /// Returns the token to renew. A token from before the user signed out does not count.
  private func token(toRenew stored: Stored, _ old: AccessToken?) -> AccessToken? {
    stored.isRemoved ? nil : stored.token ?? old
  }

  /// Takes the lease if the stored token still has this number; nil if it has another, or if another process holds the
  /// lease.
  private func takeLease(for number: Data, _ holder: String) async throws -> RedisLease? {
    let limit = max(RedisLease.longest, lease.bounded * 10)
    let arguments = [number, Data(text: holder), Data(milliseconds: lease), Data(milliseconds: limit)]
    let reply = try await redis.run(Self.take, keys: [names.token, names.lease], arguments, within: waitLimit)
    return reply.integer == 1 ? RedisLease(names.lease, holder, for: lease, of: redis, on: clock) : nil
  }

  // MARK: - Values

  /// Returns the stored token, after storing one that this process could not store before.
  private func current() async throws -> Stored {
    let stored = try await stored()
    guard let unstored = state.withLock({ $0.unstored }) else { return stored }
    // A server that has lost all data has not seen a newer one.
    let isNewer = stored.number == unstored.number || stored.number == Stored.none
    guard isNewer else {
      forget(unstored)
      return stored
    }
    _ = try await store(unstored, after: stored.number)
    return try await self.stored()
  }

  /// - Returns: false if the stored token has another number.
  private func store(_ result: Unstored, after number: Data? = nil) async throws -> Bool {
    let value = try write(result.token, received: result.received)
    let arguments = [number ?? result.number, value]
    let reply = try await redis.run(Self.store, keys: [names.token], arguments, within: waitLimit)
    forget(result)
    guard reply.integer == 1 else { return false }
    state.withLock { $0.isRemoved = false }
    return true
  }

  private func forget(_ result: Unstored) {
    state.withLock { if $0.unstored?.id == result.id { $0.unstored = nil } }
  }

  private func stored() async throws -> Stored {
    let reply = try await redis.send(RedisCommand("HMGET", names.token, "n", "v"), within: waitLimit)
    guard reply.elements.count == 2, let number = reply.elements[0].bytes else {
      state.withLock { ($0.number, $0.isRemoved) = (Stored.none, false) }
      return Stored()
    }
    let written = reply.elements[1].bytes
    state.withLock { state in
      (state.number, state.isRemoved) = (number, written == nil)
      if written == nil, state.unstored?.number != number { state.unstored = nil }
    }
    guard let bytes = written else { return Stored(number: number, isRemoved: true) }
    guard let value = form.read(bytes, at: Data(text: names.token)),
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

  /// Arguments: number, holder, milliseconds, the longest time of a lease in milliseconds. A holder that asks again
  /// gets the lease.
  private static let take = RedisScript(
    RedisLease.holder + """
      if (redis.call('HGET', KEYS[1], 'n') or '0') ~= ARGV[1] then return 0 end
      local held = holder(KEYS[2], ARGV[4])
      if held and held ~= ARGV[2] then return 0 end
      redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
      return 1
      """)

  /// Stores a value under the next number if the number is still this one, or if this one is empty. An empty value
  /// removes the token, but its number stays. Arguments: number, value.
  private static let store = RedisScript(
    """
    if ARGV[1] == '' and redis.call('TYPE', KEYS[1]).ok ~= 'hash' then redis.call('DEL', KEYS[1]) end
    if ARGV[1] ~= '' and (redis.call('HGET', KEYS[1], 'n') or '0') ~= ARGV[1] then return 0 end
    redis.call('HINCRBY', KEYS[1], 'n', 1)
    if ARGV[2] == '' then redis.call('HDEL', KEYS[1], 'v') else redis.call('HSET', KEYS[1], 'v', ARGV[2]) end
    return 1
    """)
}
