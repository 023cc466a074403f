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
/// One script implements the generic cell rate algorithm (ITU-T I.371 §A) on the server's clock, so the clocks of the
/// processes do not matter. While the server is slow or unreachable, each process applies the limit alone. A key lives
/// as long as its limit has an effect.
public struct RedisRateLimitStore: RateLimitStore {
  private let redis: RedisClient
  private let name: String

  /// Makes a store.
  ///
  /// - Parameters:
  ///   - redis: the client.
  ///   - name: the name that separates unrelated limits; `limits` by default.
  public init(_ redis: RedisClient, name: String = "limits") { (self.redis, self.name) = (redis, name) }

  public func apply(_ change: RateLimitChange, to limit: String) async throws -> RateLimitDecision {
    let key = "\(redis.configuration.prefix)r:\(name):{\(limit)}"
    switch change {
    case .take(let interval, let burst, let wait):
      let most: Int64 = 1 << 50  // Numbers of Lua are exact up to there.
      let arguments = [interval.microseconds, min(most, Int64(max(1, burst))), max(.zero, wait).microseconds]
      let answer = try await redis.run(Self.take, keys: [key], arguments.map { Data($0) }).elements.compactMap(
        \.integer)
      guard answer.count == 7 else {
        throw RedisError(.unexpectedForm, "the server's answer to the rate limit has another form than expected")
      }
      let delay = Duration.microseconds(answer[1])
      guard answer[0] == 1 else { return .refused(retryAfter: delay) }
      let times = answer[3...].map { Duration.microseconds($0) }
      let place = RateLimitPlace(start: times[0], arrival: times[1], interval: times[2], earliest: times[3])
      return .allowed(after: delay, remaining: Int(answer[2]), place: place)
    case .pause(let time):
      _ = try await redis.run(Self.pause, keys: [key], [Data(max(.zero, time).microseconds)])
      return .allowed(after: time, remaining: 0)
    case .giveBack(let place):
      let arguments = [place.start.microseconds, place.arrival.microseconds, place.interval.microseconds]
      _ = try await redis.run(Self.giveBack, keys: [key], arguments.map { Data($0) })
      return .allowed(after: .zero, remaining: 0)
    }
  }

  /// Times are in microseconds: those since 1970 are exact in Lua's numbers. The state is the theoretical arrival time
  /// of the next request, the end of a pause, and the returned places before the last one, in their order.
  private static let common = """
    local time = redis.call('TIME')
    local now = time[1] * 1000000 + time[2]
    local state = redis.call('HMGET', KEYS[1], 'a', 'p', 'f')
    local arrival, pause = tonumber(state[1] or 0), tonumber(state[2] or 0)
    local free = {}
    for start, later, interval in string.gmatch(state[3] or '', '(%-?%d+):(%d+):(%d+)') do
      free[#free + 1] = {start = tonumber(start), arrival = tonumber(later), interval = tonumber(interval)}
    end
    local function save()
      local life = math.ceil((math.max(arrival, pause) - now) / 1000)
      if life <= 0 then return redis.call('DEL', KEYS[1]) end
      local texts = {}
      for index, place in ipairs(free) do
        texts[index] = string.format('%.0f:%.0f:%.0f', place.start, place.arrival, place.interval)
      end
      redis.call('HSET', KEYS[1], 'a', string.format('%.0f', arrival), 'p', string.format('%.0f', pause),
        'f', table.concat(texts, ' '))
      redis.call('PEXPIRE', KEYS[1], life)
    end

    """

  /// Arguments: interval, burst, wait. Returns whether the request is allowed, after how long, how many more may
  /// follow, and the place.
  private static let take = RedisScript(
    common + """
      local interval, burst, wait = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
      local earliest = math.max(now, pause)
      if arrival <= now then free = {} end
      local returned
      for index, place in ipairs(free) do
        if place.arrival - place.interval >= earliest then returned = index break end
      end
      local next = math.max(arrival, earliest)
      local start = returned and free[returned].start or next - interval * (burst - 1)
      local sent = math.max(earliest, start)
      if sent - now > wait then return {0, sent - now, 0, 0, 0, 0, 0} end
      if returned then
        local place = table.remove(free, returned)
        save()
        return {1, sent - now, 0, place.start, place.arrival, place.interval, earliest}
      end
      arrival = next + interval
      save()
      local remaining = burst - 1
      if interval > 0 then remaining = math.floor((interval * burst - (arrival - sent)) / interval) end
      return {1, sent - now, math.min(burst - 1, math.max(0, remaining)), start, arrival, interval, earliest}
      """)

  /// Argument: the time. A longer pause stays.
  private static let pause = RedisScript(
    common + """
      pause = math.max(pause, now + tonumber(ARGV[1]))
      save()
      return 1
      """)

  /// Arguments: start, arrival and interval of the place.
  private static let giveBack = RedisScript(
    common + """
      local start, later, interval = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
      if later > arrival then return 0 end
      if later == arrival then
        arrival = arrival - interval
        while #free > 0 and free[#free].arrival == arrival do arrival = arrival - table.remove(free).interval end
      else
        local index = 1
        while free[index] and free[index].arrival < later do index = index + 1 end
        if free[index] and free[index].arrival == later then return 0 end
        table.insert(free, index, {start = start, arrival = later, interval = interval})
        if #free > 100 then table.remove(free, 1) end
      end
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
