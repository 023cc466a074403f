import Foundation
import Martlet
import MartletRedis
import Synchronization

/// A process of the fleet: it performs its orders and prints its findings.
struct Member {
  private let orders: Orders
  private let redis: RedisClient
  private let session: HTTPSession
  private let findings = FindingsBox()

  init(_ orders: Orders) throws {
    self.orders = orders
    var settings = try RedisConfiguration(orders.redis)
    settings.prefix = orders.prefix
    settings.waitLimit = .milliseconds(orders.waitLimit)
    redis = RedisClient(settings)
    var configuration = SessionConfiguration()
    configuration.cache = orders.usesRedis ? HTTPCache(store: Self.store(orders, redis)) : HTTPCache()
    switch orders.work {
    case .cold, .load: break
    case .rate:
      configuration.cache = nil
      var rate = RateLimit(orders.count, per: .seconds(1), burst: 20)
      rate.store = RedisRateLimitStore(redis)
      configuration.limits.rate = rate
    case .token:
      configuration.cache = nil
      configuration.credentials = [Self.tokens(orders, redis)]
    }
    session = HTTPSession(configuration: configuration)
  }

  private static func store(_ orders: Orders, _ redis: RedisClient) -> RedisCacheStore {
    var options = RedisCacheOptions()
    options.leases?.duration = .milliseconds(orders.lease)
    if !orders.hasLeases { options.leases = nil }
    return RedisCacheStore(redis, options: options)
  }

  /// The origin renews the token, in its own session.
  private static func tokens(_ orders: Orders, _ redis: RedisClient) -> TokenSource {
    let login = HTTPSession()
    let shared = RedisSharedToken(redis, name: "api")
    return TokenSource(
      nil, for: .origin(of: orders.origin),
      refresh: shared.refresh { old in
        let url = orders.origin.appending(path: "token/\(old?.refreshToken ?? "r0")")
        let (data, _) = try await login.data(for: HTTPRequest(.get, url))
        let number = String(decoding: data, as: UTF8.self)
        return AccessToken("t\(number)", refreshToken: "r\(number)")
      })
  }

  func run() async throws -> Findings {
    // The connections are open, and all processes begin together.
    if orders.usesRedis { try await redis.ping() }
    var start = HTTPRequest(.get, orders.origin.appending(path: "start"))
    start.fields[.authorization] = "none"
    start.options.cachePolicy = .reloadIgnoringCacheData
    start.options.responseTimeout = .seconds(60)
    _ = try await HTTPSession().data(for: start)
    switch orders.work {
    case .cold: await all { _ in "cold" }
    case .token: await all { "api/\($0)" }
    case .load: await again { $0 % 10 == 0 ? "large/\($0 % 7)" : "small/\($0 % 23)" }
    case .rate: await again { "api/\($0)" }
    }
    return findings.value
  }

  /// Sends all requests at once.
  private func all(_ path: @escaping @Sendable (Int) -> String) async {
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<orders.count { group.addTask { await send(path(number)) } }
    }
  }

  /// Sends one request after another, eight at a time, until the time is up.
  private func again(_ path: @escaping @Sendable (Int) -> String) async {
    let end = ContinuousClock.now + .seconds(orders.seconds)
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          var number = task + orders.number
          while ContinuousClock.now < end {
            await send(path(number))
            number += 8
          }
        }
      }
    }
  }

  private func send(_ path: String) async {
    let url = orders.origin.appending(path: path)
    let start = ContinuousClock.now
    do {
      let (data, _) = try await session.data(for: HTTPRequest(.get, url, fields: ["X-Process": "\(orders.number)"]))
      let time = Double((ContinuousClock.now - start) / .microseconds(1)) / 1_000
      findings.change {
        $0.latencies.append(time)
        if data != content(of: url.path) { $0.wrong += 1 }
      }
    } catch { findings.change { $0.failed.append("\(path): \(error)") } }
  }
}

private final class FindingsBox: Sendable {
  private let content = Mutex(Findings())

  var value: Findings { content.withLock { $0 } }

  func change(_ change: (inout Findings) -> Void) { content.withLock { change(&$0) } }
}
