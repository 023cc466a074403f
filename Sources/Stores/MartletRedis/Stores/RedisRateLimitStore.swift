public import MartletEngine
public import MartletSemantics

/// A ``Martlet/RateLimitStore`` on a Redis server: one rate limit for all processes of a fleet.
///
/// ```swift
/// var rate = RateLimit(100, per: .seconds(1), burst: 20)
/// rate.store = RedisRateLimitStore(redis)
/// configuration.limits.rate = rate
/// ```
///
/// The generic cell rate algorithm (ITU-T I.371 §A) in one script, on the server's clock, so that the clocks of the processes do
/// not matter. While the server is slow or gone, each process limits alone. A key lives as long as its limit has an effect.
public struct RedisRateLimitStore: RateLimitStore {
  private let redis: RedisClient
  private let name: String

  /// Makes a store.
  ///
  /// - Parameters:
  ///   - redis: The client.
  ///   - name: What separates limits that have nothing to do with each other; `limits` by default.
  public init(_ redis: RedisClient, name: String = "limits") { (self.redis, self.name) = (redis, name) }

  public func apply(_ change: RateLimitChange, to limit: String) async throws -> RateLimitDecision {
    let key = "\(redis.configuration.prefix)r:\(name):{\(limit)}"
    switch change {
    case .take(let interval, let burst, let wait):
      let arguments = [interval.microseconds, Int64(max(1, burst)), max(.zero, wait).microseconds].map { Data($0) }
      let answer = try await redis.run(Self.take, keys: [key], arguments).elements.compactMap(\.integer)
      guard answer.count == 3 else {
        throw RedisError(.unexpectedForm, "the server's answer to the rate limit has another form than expected")
      }
      let delay = Duration.microseconds(answer[1])
      return answer[0] == 1 ? .allowed(after: delay, remaining: Int(answer[2])) : .refused(retryAfter: delay)
    case .pause(let time):
      _ = try await redis.run(Self.pause, keys: [key], [Data(max(.zero, time).microseconds)])
      return .allowed(after: time, remaining: 0)
    }
  }

  /// Times in microseconds: those since 1970 are exact in the numbers of Lua. The state is the theoretical arrival time of the
  /// next request, and the end of a pause.
  private static let common = """
    local time = redis.call('TIME')
    local now = time[1] * 1000000 + time[2]
    local state = redis.call('HMGET', KEYS[1], 'a', 'p')
    local arrival, pause = tonumber(state[1] or 0), tonumber(state[2] or 0)
    local function save()
      local life = math.ceil((math.max(arrival, pause) - now) / 1000)
      if life <= 0 then return redis.call('DEL', KEYS[1]) end
      redis.call('HSET', KEYS[1], 'a', string.format('%.0f', arrival), 'p', string.format('%.0f', pause))
      redis.call('PEXPIRE', KEYS[1], life)
    end

    """

  /// Arguments: interval, burst, wait. Returns whether it is allowed, after how long, and how many more may follow.
  private static let take = RedisScript(
    common + """
      local interval, burst, wait = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
      local earliest = math.max(now, pause)
      local next = math.max(arrival, earliest)
      local start = math.max(earliest, next - interval * (burst - 1))
      if start - now > wait then return {0, start - now, 0} end
      arrival = next + interval
      save()
      local free = burst - 1
      if interval > 0 then free = math.floor((interval * burst - (arrival - start)) / interval) end
      return {1, start - now, math.min(burst - 1, math.max(0, free))}
      """)

  /// Argument: the time. A longer pause stays.
  private static let pause = RedisScript(
    common + """
      pause = math.max(pause, now + tonumber(ARGV[1]))
      save()
      return 1
      """)
}

extension Duration {
  fileprivate var microseconds: Int64 {
    let (seconds, attoseconds) = components
    return min(seconds, 1 << 40) * 1_000_000 + attoseconds / 1_000_000_000_000
  }
}
