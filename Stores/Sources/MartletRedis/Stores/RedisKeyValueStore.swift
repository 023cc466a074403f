public import MartletEngine
public import MartletSemantics
public import MartletSignIn

/// A ``Martlet/KeyValueStore`` on a Redis server, for data that a fleet's processes share: tokens, CSRF tokens,
/// settings.
///
/// ```swift
/// let values = RedisKeyValueStore(redis, seal: try RedisSeal(key: secret))
/// try await values.set(Data("blue".utf8), for: "color")
/// ```
///
/// All keys are fields of one hash, so every change is one step. Values do not expire; a server whose
/// `maxmemory-policy` is `allkeys-lru` may remove all of them. A value that is sealed with another key, or was changed,
/// counts as missing; names are not sealed. For an access token that is renewed, use ``RedisSharedToken``.
///
/// A value has less than 64 MiB; a larger one throws a ``RedisError`` of kind `.notStored`. ``keys()`` reads up to
/// about half a million names, and throws if there are more.
///
/// Errors are ``RedisError``. The caller needs the value, so a call waits for up to a second (``waitLimit``).
public struct RedisKeyValueStore: KeyValueStore {
  private let redis: RedisClient
  private let hash: String
  private let form: ValueForm
  /// How long a call waits for the server; a second by default.
  public var waitLimit = Duration.seconds(1)

  /// Makes a store.
  ///
  /// - Parameters:
  ///   - redis: the client.
  ///   - name: the name that separates stores on the same server; `values` by default.
  ///   - seal: seals the values; nil, the default, for none.
  public init(_ redis: RedisClient, name: String = "values", seal: RedisSeal? = nil) {
    self.redis = redis
    hash = "\(redis.configuration.prefix)v:{\(name)}"
    form = ValueForm(seal: seal)
  }

  public func value(for key: String) async throws -> Data? {
    let reply = try await send("HGET", Data(text: key))
    return reply.bytes.flatMap { form.read($0, at: place(of: key)) }
  }

  public func set(_ value: Data, for key: String) async throws {
    _ = try await send("HSET", Data(text: key), try written(value, for: key))
  }

  public func value(for key: String, orSetting value: Data) async throws -> Data {
    if let present = try await self.value(for: key) { return present }
    _ = try await send("HSETNX", Data(text: key), try written(value, for: key))
    if let present = try await self.value(for: key) { return present }
    try await set(value, for: key)  // The stored one is sealed with another key, or was changed.
    return value
  }

  private func written(_ value: Data, for key: String) throws -> Data {
    guard value.count <= ReplyReader.answerLimit - ValueForm.overhead else {
      throw RedisError(
        .notStored, "the value has \(value.count) bytes, but the Redis store's limit is 64 MiB: divide it")
    }
    return try form.write(value, at: place(of: key))
  }

  /// The place that a sealed value is bound to: the store and the key.
  private func place(of key: String) -> Data { Data(text: "\(hash)\0\(key)") }

  public func removeValue(for key: String) async throws { _ = try await send("HDEL", Data(text: key)) }

  public func removeAll() async throws { _ = try await send("DEL") }

  public func keys() async throws -> [String] {
    try await send("HKEYS").elements.compactMap { $0.bytes.map(Array.init) }
      .sorted { $0.lexicographicallyPrecedes($1) }
      .map { String(decoding: $0, as: UTF8.self) }
  }

  private func send(_ name: String, _ arguments: Data...) async throws -> RedisReply {
    try await redis.send(RedisCommand(name, [Data(text: hash)] + arguments), within: waitLimit)
  }
}

/// Stores the tokens of a ``MartletSignIn/CSRFInterceptor``, by URL. Use it with a ``RedisCookieStore`` that shares
/// session cookies: a token belongs to the session of its cookie.
extension RedisKeyValueStore: CSRFTokenStore {
  public func token(for url: URL) async throws -> String? {
    try await value(for: Self.key(url)).map { String(decoding: $0, as: UTF8.self) }
  }

  public func setToken(_ token: String?, for url: URL) async throws {
    guard let token else { return try await removeValue(for: Self.key(url)) }
    try await set(Data(token.utf8), for: Self.key(url))
  }

  private static func key(_ url: URL) -> String { "CSRF " + url.absoluteString }
}
