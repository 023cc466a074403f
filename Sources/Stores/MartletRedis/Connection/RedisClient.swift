import CSockets
@_spi(Transports) import MartletEngine
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
/// One thread and one connection serve all callers: commands are sent without waiting for the answers to earlier ones, so
/// that five hundred callers need about as long as one. The connection is made with the first command, and again when it
/// was lost; an unused one is checked with a PING.
///
/// **A server that is slow or gone.** A call waits for ``RedisConfiguration/waitLimit`` at most, and then fails with a
/// ``RedisError``. After three failures in a row the connection is given up and the server left alone for a while
/// (``RedisConfiguration/rest``): every call in that time fails at once, without a wait. Only the client itself asks then,
/// by a new connection.
///
/// **A server that sends something wrong**, be it no RESP, an answer that is larger than its command can bring (64 MiB at
/// most), or one that no command asked for, loses the connection before anything is allocated for it. A new one is made.
///
/// The server has to be Redis 4 or later, alone or behind a proxy that looks like one; the client does not follow the
/// redirections of a cluster. Its scripts use keys of one slot only. Let the server remove what is not needed:
/// `maxmemory` with `allkeys-lru` for a server that only has caches.
public final class RedisClient: Sendable {
  let configuration: RedisConfiguration
  private let queue = JobQueue<RedisLoop>(wakeUp: martlet_make_wake_up())
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

  /// Ends the connection. What is under way fails with a ``RedisError`` of kind `.closed`, and so does every later call.
  public func close() {
    guard !isClosed.exchange(true, ordering: .sequentiallyConsistent) else { return }
    queue.submit { $0.stop() }
  }

  /// Whether the server may be asked: false while it is left alone, and after ``close()``.
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
  /// - Parameter limit: How long to wait; the configuration's limit by default.
  /// - Throws: ``RedisError``, also for an error of the server; `CancellationError`.
  func send(_ command: RedisCommand, within limit: Duration? = nil) async throws -> RedisReply {
    try await send([command], within: limit)[0].checked()
  }

  /// Sends commands in one go and returns their answers, of which some may be errors.
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

  /// A request that comes after the end of the thread fails here: ``close()`` sets the flag before it ends the thread.
  private func submit(_ request: RedisRequest) {
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
