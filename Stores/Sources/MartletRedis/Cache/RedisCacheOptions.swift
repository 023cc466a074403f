@_spi(Toolkit) import MartletSemantics

/// The contents of a ``RedisCacheStore``, their lifetime, and how processes share requests.
public struct RedisCacheOptions: Sendable {
  /// The maximum number of bytes of one body; 8 MiB by default.
  public var entryLimit: Int64 = 8 << 20
  /// The maximum number of bytes of a body that are read before the response is returned; 8 MiB by default. If the
  /// server fails until then, that is a miss. The rest of a longer body is read on demand; if the server fails then,
  /// the body throws an error.
  public var readAhead: Int64 = 8 << 20
  /// How long a response is kept after it is stale and no directive allows its use any more: it can still be validated,
  /// and serve callers that accept stale responses. An hour by default.
  public var retention = Duration.seconds(3600)
  /// The maximum time for which a response is kept; a week by default.
  public var lifetimeLimit = Duration.seconds(7 * 86_400)
  /// How long a process answers from its own memory after it has asked the server; nil, the default, for never. Changes
  /// by another process become visible after this time at the latest. The time never exceeds the response's remaining
  /// life on the server.
  public var memoryLife: Duration?
  /// The maximum number of bytes of bodies in the process's memory; 8 MiB by default. It also applies without
  /// ``memoryLife``: a body that arrives with its head is kept until it is read.
  public var memoryLimit = 8 << 20
  /// How the processes send identical requests only once; nil to disable that.
  public var leases: RedisLeaseOptions? = RedisLeaseOptions()
  /// The key that seals heads and bodies; nil, the default, for none.
  public var seal: RedisSeal?

  /// Makes the default options.
  public init() {}

  /// The default options with a seal.
  public static func sealed(with seal: RedisSeal) -> RedisCacheOptions {
    var options = RedisCacheOptions()
    options.seal = seal
    return options
  }
}

/// How processes agree on which of them sends a request. The agreement saves requests, but does not guarantee that only
/// one is sent.
public struct RedisLeaseOptions: Sendable, Hashable {
  /// How long a killed process keeps others from sending its request; 2 seconds by default, at least 100 milliseconds.
  /// A running process renews its claim every third of this time.
  public var duration = Duration.seconds(2)
  /// How long a request waits for that of another process before it is sent itself; 5 seconds by default. It should be
  /// longer than the lease.
  public var peerWaitLimit = Duration.seconds(5)

  /// Makes the default options.
  public init() {}
}

/// How long a response is kept on the server.
enum CacheLife {
  /// The life is extended by up to this share, so that responses stored together do not expire together.
  static let jitter = 0.1

  /// Returns the sum of the remaining freshness (RFC 9111 §4.2), the times of stale use (RFC 5861 §3, §4), and the
  /// retention.
  ///
  /// - Parameter random: from 0 to 1.
  static func of(
    _ response: StoredResponse, at now: Date, options: RedisCacheOptions, random: Double
  ) -> Duration {
    let freshness = Freshness(of: response, at: now)
    let control = CacheControl(response.head.fields)
    let usable =
      max(0, freshness.lifetime - freshness.age) + seconds("stale-while-revalidate", control)
      + seconds("stale-if-error", control)
    let life = min(.seconds(usable) + options.retention.bounded, options.lifetimeLimit.bounded / (1 + jitter))
    return max(.seconds(1), life * (1 + jitter * random))
  }

  private static func seconds(_ name: String, _ control: CacheControl) -> Double {
    guard case .value(let seconds) = control.seconds(name) else { return 0 }
    return Double(seconds)
  }
}
