@_spi(Stores) public import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Synchronization

/// A key that one process holds. It expires by itself, and the process extends it every third of its time while it
/// runs.
///
/// A lease saves work and is not a lock: a process that was stopped for longer than the lease may continue although
/// another holds the lease by then. Data that must not be overwritten needs a fence of its own (``RedisSharedToken``).
final class RedisLease: FleetLease {
  let key: String
  let token: String
  private let redis: RedisClient
  private let time: Duration
  private let renewal = Mutex<Task<Void, Never>?>(nil)

  /// The value of a key that means: do not wait, send.
  static let unshared = "-"
  /// How long a key has that value.
  private static let unsharedTime = Duration.seconds(2)

  /// A key that lasts for longer is none of our leases, unless the options have longer ones.
  static let longest = Duration.seconds(60)

  /// A function for scripts: returns the token in a lease, false if there is none. Values that none of our processes
  /// wrote are not leases, such as a text of another form, another type, or a key that does not expire: waiting for
  /// their end would be useless. Neither is a key that lasts for longer than a limit in milliseconds.
  static let holder = """
    local function holder(key, limit)
      local value, left = redis.pcall('GET', key), redis.call('PTTL', key)
      if type(value) ~= 'string' or left < 0 or left > tonumber(limit) then return false end
      local isToken = #value == 36 and string.find(value, '^%x+%-%x+%-%x+%-%x+%-%x+$')
      return (isToken or value == '\(unshared)') and value
    end

    """

  /// Takes the key unless it is held. Arguments: token, milliseconds, the longest time of a lease in milliseconds.
  /// Returns the key's previous token, nil if it had none.
  static let take = RedisScript(
    holder + """
      local held = holder(KEYS[1], ARGV[3])
      if held then return held end
      redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
      return false
      """)

  /// Extends the key if it is still held. Arguments: token, milliseconds.
  private static let prolong = RedisScript(
    """
    if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
    return redis.call('PEXPIRE', KEYS[1], ARGV[2])
    """)

  /// Removes the key if it is still held, or replaces its value for a time. Arguments: token, value (empty to remove),
  /// milliseconds.
  private static let release = RedisScript(
    """
    if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
    if ARGV[2] == '' then return redis.call('DEL', KEYS[1]) end
    redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
    return 1
    """)

  /// Makes the lease of a key that was taken with this token.
  init(_ key: String, _ token: String, for time: Duration, of redis: RedisClient, on clock: any Clock<Duration>) {
    (self.key, self.token, self.redis, self.time) = (key, token, redis, time)
    let arguments = [Data(text: token), Data(milliseconds: time)]
    let task = Task {
      while !Task.isCancelled, (try? await clock.sleep(for: time.bounded / 3)) != nil {
        let reply = try? await redis.run(Self.prolong, keys: [key], arguments)
        if reply?.integer == 0 { return }
      }
    }
    renewal.withLock { $0 = task }
  }

  /// A dropped lease, for example of a cancelled request, becomes free for others.
  deinit { if renewal.withLock({ $0 != nil }) { end(.failed) } }

  func end(_ outcome: FleetOutcome) {
    renewal.withLock { $0.take() }?.cancel()
    Self.end(key, token, outcome, of: redis)
  }

  /// Ends the lease of a key, if it was granted for this token, without waiting for the answer.
  static func end(_ key: String, _ token: String, _ outcome: FleetOutcome, of redis: RedisClient) {
    let value = outcome == .unshared ? Self.unshared : ""
    let arguments = [Data(text: token), Data(text: value), Data(milliseconds: unsharedTime)]
    redis.submit(release.completeCommand(keys: [key], arguments))
  }
}

@_spi(Stores) extension RedisCacheStore: FleetStore {
  public func requestLease(for name: String) async throws -> FleetAnswer? {
    guard let leases = options.leases else { return nil }
    let key = names.lease(of: name)
    let token = UUID().uuidString
    let lease = max(.milliseconds(100), leases.duration)
    let reply: RedisReply
    do {
      // Processes may have other options, for example while a new version replaces an old one.
      let limit = max(RedisLease.longest, lease.bounded * 10)
      let arguments = [Data(text: token), Data(milliseconds: lease), Data(milliseconds: limit)]
      reply = try await redis.run(RedisLease.take, keys: [key], arguments)
    } catch {
      RedisLease.end(key, token, .failed, of: redis)  // The server may have granted the lease, but answered too late.
      throw error
    }
    guard let holder = reply.bytes else {
      return .send(RedisLease(key, token, for: lease, of: redis, on: clock))
    }
    return holder == Data(text: RedisLease.unshared) ? nil : .wait(leases.peerWaitLimit)
  }
}
