import CHiredis
import CSockets
import Glibc
@_spi(Transports) import MartletEngine
import MartletSemantics

/// A connection to the server, after the sign-in: a socket that does not block, and the parser of answers.
// SAFETY: one thread uses it at a time: the one that opens it, then that of the loop.
final class RedisLink: @unchecked Sendable {
  private let context: UnsafeMutablePointer<redisContext>

  var descriptor: Int32 { context.pointee.fd }

  fileprivate init(_ context: UnsafeMutablePointer<redisContext>) { self.context = context }

  deinit { redisFree(context) }

  /// Passes received bytes to the parser.
  func feed(_ bytes: UnsafeRawBufferPointer) {
    redisReaderFeed(context.pointee.reader, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
  }

  /// Returns the next complete answer; nil if there is none yet.
  ///
  /// - Throws: an error if the bytes are not RESP.
  func nextReply() throws(RedisError) -> RedisReply? {
    var parsed: UnsafeMutableRawPointer?
    guard redisReaderGetReply(context.pointee.reader, &parsed) == REDIS_OK else {
      throw RedisError(.unexpectedForm, "the server does not speak the protocol of Redis")
    }
    guard let parsed else { return nil }
    defer { freeReplyObject(parsed) }
    return RedisReply(parsed.assumingMemoryBound(to: redisReply.self).pointee)
  }
}

/// Connects and signs in, blocking, on a thread of its own for each attempt: resolving a name must not hold up the loop.
enum RedisOpening {
  /// Starts an attempt. Its result is passed on the attempt's thread.
  static func start(
    _ configuration: RedisConfiguration, ended: @escaping @Sendable (Result<RedisLink, RedisError>) -> Void
  ) {
    let isStarted = SystemThread.start("martlet-redis-c") {
      ended(Result { () throws(RedisError) in try open(configuration) })
    }
    guard !isStarted else { return }
    ended(.failure(RedisError(.unavailable, "the system cannot start a thread to connect to \(configuration)")))
  }

  private static func open(_ configuration: RedisConfiguration) throws(RedisError) -> RedisLink {
    let limit = timeval(configuration.connectTimeout)
    let made =
      switch configuration.address {
      case .host(let host, let port): redisConnectWithTimeout(host, port, limit)
      case .socket(let path): redisConnectUnixWithTimeout(path, limit)
      }
    guard let context = made else { throw RedisError(.unavailable, "there is no memory for a connection") }
    let link = RedisLink(context)
    guard context.pointee.err == 0 else {
      throw RedisError(.unavailable, "\(configuration) cannot be reached: \(text(of: context))")
    }
    redisSetTimeout(context, limit)
    if case .host = configuration.address { redisEnableKeepAlive(context) }  // fails for a Unix domain socket
    try signIn(configuration, context)
    let descriptor = context.pointee.fd
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    guard fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0 else {
      throw RedisError(.unavailable, "the socket to \(configuration) cannot be set to non-blocking")
    }
    return link
  }

  private static func signIn(
    _ configuration: RedisConfiguration, _ context: UnsafeMutablePointer<redisContext>
  ) throws(RedisError) {
    if !configuration.password.isEmpty {
      let user = configuration.user.isEmpty ? [] : [configuration.user]
      try ask(["AUTH"] + user + [configuration.password], context, configuration, "refuses the user or the password")
    }
    if configuration.database != 0 {
      try ask(["SELECT", "\(configuration.database)"], context, configuration, "has no such database")
    }
    try ask(["PING"], context, configuration, "does not answer")
  }

  private static func ask(
    _ words: [String], _ context: UnsafeMutablePointer<redisContext>, _ configuration: RedisConfiguration,
    _ failure: String
  ) throws(RedisError) {
    var bytes: [UInt8] = []
    RedisCommand(words[0], words.dropFirst().map { Data($0.utf8) }).write(to: &bytes)
    let isQueued = bytes.withUnsafeBytes {
      redisAppendFormattedCommand(context, $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count) == REDIS_OK
    }
    var parsed: UnsafeMutableRawPointer?
    guard isQueued, redisGetReply(context, &parsed) == REDIS_OK, let parsed else {
      throw RedisError(.unavailable, "\(configuration) does not answer: \(text(of: context))")
    }
    defer { freeReplyObject(parsed) }
    if case .error(let message) = RedisReply(parsed.assumingMemoryBound(to: redisReply.self).pointee) {
      throw RedisError(.refused, "\(configuration) \(failure): \(message)")
    }
  }

  private static func text(of context: UnsafeMutablePointer<redisContext>) -> String {
    withUnsafeBytes(of: context.pointee.errstr) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}

extension timeval {
  init(_ duration: Duration) {
    let (seconds, attoseconds) = max(.milliseconds(1), duration).components
    self.init(tv_sec: Int(seconds), tv_usec: Int(attoseconds / 1_000_000_000_000))
  }
}

/// A thread that runs one function.
enum SystemThread {
  private final class Work: Sendable {
    let name: String
    let run: @Sendable () -> Void

    init(_ name: String, _ run: @escaping @Sendable () -> Void) { (self.name, self.run) = (name, run) }
  }

  /// - Returns: false if the system cannot start a thread.
  static func start(_ name: String, _ run: @escaping @Sendable () -> Void) -> Bool {
    let handedOver = Unmanaged.passRetained(Work(name, run)).toOpaque()
    var thread = pthread_t()
    guard pthread_create(&thread, nil, main, handedOver) == 0 else {
      Unmanaged<Work>.fromOpaque(handedOver).release()
      return false
    }
    pthread_detach(thread)
    return true
  }

  private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { handedOver in
    guard let handedOver else { return nil }
    let work = Unmanaged<Work>.fromOpaque(handedOver).takeRetainedValue()
    martlet_name_thread(work.name)
    var pipe = sigset_t()
    sigemptyset(&pipe)
    sigaddset(&pipe, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &pipe, nil)  // the library writes to sockets that may be closed
    work.run()
    return nil
  }
}
