@_spi(Toolkit) import MartletSemantics

/// The address of a Redis server, and how long a client waits for it.
///
/// ```swift
/// var configuration = try RedisConfiguration("redis://cache:\(password)@redis.internal:6379/0")
/// configuration.prefix = "orders:"
/// let redis = RedisClient(configuration)
/// ```
///
/// There is no TLS. Use a private network, a Unix domain socket, or a tunnel such as stunnel.
///
/// Descriptions and mirrors show neither user nor password.
public struct RedisConfiguration: Sendable {
  /// How a server is reached.
  enum Address: Sendable, Hashable {
    case host(String, port: Int32)
    case socket(path: String)
  }

  let address: Address
  let user: String
  let password: String
  let database: Int
  /// The prefix of all keys; `martlet:` by default. Programs that share a server but no data need different ones.
  public var prefix = "martlet:"
  /// How long a call waits for the server's answer; 20 milliseconds by default. Stores that cannot continue without an
  /// answer have their own limit.
  public var waitLimit = Duration.milliseconds(20)
  /// How long one attempt to connect and to sign in may take, once the server's name is resolved; a second by default.
  public var connectTimeout = Duration.seconds(1)
  /// How long the client avoids a server that did not answer or could not be reached: every call in that time fails at
  /// once. Then the client connects again; while that fails, the time doubles, up to ``restLimit``. 250 milliseconds
  /// by default, and a millisecond at least.
  public var rest = Duration.milliseconds(250)
  /// The maximum time for which the client avoids the server; 5 seconds by default.
  public var restLimit = Duration.seconds(5)
  /// How long a connection is unused before the client tests it with a PING; 10 seconds by default, and a millisecond
  /// at least.
  public var pingInterval = Duration.seconds(10)

  /// Makes a configuration from a URL.
  ///
  /// - Parameter url: `redis://user:password@host:port/database`, where everything but the host may be omitted (6379,
  ///   database 0), or `unix:///path/to/socket?db=0`. User and password are percent-encoded. A user without a
  ///   password signs in with an empty one.
  /// - Throws: ``RedisError`` of kind `.invalidURL`; it does not contain the URL, which may contain a password.
  public init(_ url: String) throws(RedisError) {
    guard let parts = URL(text: url).flatMap({ URLComponents(url: $0, resolvingAgainstBaseURL: false) }),
      let scheme = parts.scheme?.lowercased()
    else {
      throw RedisError(
        .invalidURL, "the URL of the Redis server cannot be parsed: use redis://user:password@host:port/0")
    }
    user = parts.user ?? ""
    password = parts.password ?? ""
    switch scheme {
    case "redis":
      guard let host = parts.host, !host.isEmpty else {
        throw RedisError(.invalidURL, "the URL of the Redis server has no host: use redis://host:port/0")
      }
      let port = parts.port ?? 6379
      guard (1...65_535).contains(port) else {
        throw RedisError(.invalidURL, "the port in the URL of the Redis server is invalid: use 1 to 65535")
      }
      address = .host(host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host, port: Int32(port))
      database = try Self.database(parts.path.split(separator: "/").first.map(String.init) ?? "0")
    case "unix":
      guard parts.path.hasPrefix("/"), parts.path.count > 1 else {
        throw RedisError(.invalidURL, "the URL of the Redis server has no path: use unix:///path/to/socket?db=0")
      }
      address = .socket(path: parts.path)
      database = try Self.database(parts.queryItems?.first { $0.name == "db" }?.value ?? "0")
    case "rediss":
      throw RedisError(
        .invalidURL, "TLS to Redis is not supported: use redis:// in a private network or through a tunnel, or unix://")
    default:
      throw RedisError(.invalidURL, "the scheme of the Redis server is \(scheme): use redis:// or unix://")
    }
  }

  private static func database(_ text: String) throws(RedisError) -> Int {
    guard let number = Int(text), number >= 0 else {
      throw RedisError(
        .invalidURL,
        "the database in the URL of the Redis server is not a number: use one from 0, and %2F for a slash in a password"
      )
    }
    return number
  }
}

extension RedisConfiguration: CustomStringConvertible, CustomReflectable {
  /// The address and the database, without user and password.
  public var description: String {
    switch address {
    case .host(let host, let port): "redis://\(host.contains(":") ? "[\(host)]" : host):\(port)/\(database)"
    case .socket(let path): "unix://\(path)?db=\(database)"
    }
  }

  /// The description, so that `dump` shows nothing else.
  public var customMirror: Mirror { Mirror(self, children: ["server": description]) }
}
