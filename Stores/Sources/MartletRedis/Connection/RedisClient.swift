import CSockets
@_spi(Toolkit) @_spi(Transports) import MartletEngine
import MartletSemantics
import Synchronization

/// A connection to a Redis server that stores share.
///
/// ```swift
/// let redis = RedisClient(try RedisConfiguration("redis://redis.internal"))
/// configuration.cache = HTTPCache(store: RedisCacheStore(redis))
/// configuration.cookies = CookieJar(store: RedisCookieStore(redis))
/// ```
///
/// One thread and one connection serve all callers: commands are sent without waiting for the answers to earlier ones,
/// so that five hundred callers need about as long as one. The connection is made with the first command, and again
/// after it was lost; an unused one is checked with a PING.
///
/// **If the server is slow or unreachable**, a call waits for ``RedisConfiguration/waitLimit`` at most, and then fails
/// with a ``RedisError``. After three consecutive failures the client gives up the connection and avoids the server for
/// a while (``RedisConfiguration/rest``): in that time every call fails at once, without a wait. Only the client itself
/// then tries a new connection.
///
/// **If the server sends something wrong**, it loses the connection before any memory is allocated for the answer.
/// Wrong are bytes that are not RESP, an answer larger than its command allows (64 MiB at most), and one that no
/// command requested. A new connection is made.
///
/// The server has to be Redis 5 or later, alone or behind a proxy that looks like one; the client does not follow the
/// redirections of a cluster. Its scripts use only keys of one slot. Let the server remove unneeded keys: use
/// `maxmemory` with `allkeys-lru` for a server that has only caches.
public final class RedisClient: Sendable {
  let configuration: RedisConfiguration
  private let queue = JobQueue<RedisLoop>(wakeUp: SpareDescriptors.making(martlet_make_wake_up))
  private let rests = SharedFlag()
  private let isClosed = Atomic(false)
  private let hasThread: Bool

  /// Makes a client. It connects with its first command.
  public init(_ configuration: RedisConfiguration) {
    self.configuration = configuration
    let (queue, rests) = (queue, rests)
    hasThread =
      queue.wakeUp >= 0
      && SystemThread.start("martlet-redis") { RedisLoop(configuration, queue: queue, rests: rests).run() }
  }

  deinit { close() }

  /// Ends the connection. Operations in progress fail with a ``RedisError`` of kind `.closed`, and so does every later
  /// call.
  public func close() {
    guard !isClosed.exchange(true, ordering: .sequentiallyConsistent) else { return }
    queue.submit { $0.stop() }
  }

  /// Whether the server may be used: false while the client avoids it, and after ``close()``.
  public var isAvailable: Bool {
    hasThread && !rests.value.load(ordering: .acquiring) && !isClosed.load(ordering: .acquiring)
  }

  /// Asks whether the server answers, for a health check.
  ///
  /// - Throws: ``RedisError``, or `CancellationError`.
  public func ping() async throws {
    _ = try await send(RedisCommand("PING").answeredBriefly, within: configuration.connectTimeout)
  }

  /// Sends a command and returns its answer.
  ///
  /// - Parameter limit: how long to wait; the configuration's limit by default.
  /// - Throws: ``RedisError``, even for an error of the server; `CancellationError`.
  func send(_ command: RedisCommand, within limit: Duration? = nil) async throws -> RedisReply {
    try await send([command], within: limit)[0].checked()
  }

  /// Sends commands together and returns their answers, some of which may be errors.
  func send(_ commands: [RedisCommand], within limit: Duration? = nil) async throws -> [RedisReply] {
    guard isAvailable else { throw unavailable }
    let request = RedisRequest(commands, within: limit ?? configuration.waitLimit)
    submit(request)
    return try await request.answers.wait()
  }

  /// Sends a command without waiting for its answer.
  func submit(_ command: RedisCommand) {
    guard isAvailable else { return }
    submit(RedisRequest([command], within: configuration.waitLimit))
  }

  /// A request that arrives after the thread has ended fails here: ``close()`` sets the flag before it ends the thread.
  func submit(_ request: RedisRequest) {
    queue.submit { $0.add(request) }
    if isClosed.load(ordering: .sequentiallyConsistent) { request.answers.answer(.failure(unavailable)) }
  }

  private var unavailable: RedisError {
    isClosed.load(ordering: .acquiring)
      ? RedisError(.closed, "the Redis client was closed") : RedisLoop.leftAlone(configuration)
  }
}

extension RedisClient: CustomStringConvertible, CustomReflectable {
  /// The address of the server, without user and password.
  public var description: String { "a client of \(configuration)" }

  /// The description, so that `dump` shows nothing else.
  public var customMirror: Mirror { Mirror(self, children: ["server": configuration.description]) }
}
