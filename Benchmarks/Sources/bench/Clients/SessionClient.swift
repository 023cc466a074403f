import Foundation
import Martlet
import MartletInspector
import MartletSQLite
import MartletSockets
import MeasuredClient

extension ConnectionConfiguration {
  /// The same number of connections as the other clients, kept for the same time.
  static func measured(authority: URL?, connections: Int = 64) -> ConnectionConfiguration {
    var configuration = ConnectionConfiguration()
    configuration.tls.authorities = authority
    configuration.connectionLimitPerHost = connections
    configuration.idleConnectionLimit = max(128, connections)
    configuration.proxy = .direct
    return configuration
  }
}

/// Martlet's session on one of its transports.
struct SessionClient: Client {
  /// The features of the session.
  enum Variant: String, CaseIterable, Sendable {
    /// Neither cookies nor a cache.
    case bare
    /// The features of `HTTPSession()`: a cookie jar, which is empty, and a cache in memory.
    case `default`
    /// The bare session, used by tasks that run on the transport's own thread.
    case executor
    /// The bare session with one feature.
    case interceptors, listener, inspector, cookies, cache, deadline, retry, authentication, correlation
    /// The bare session with a feature of long-lived programs: connections that age, hosts that require https, a maximum
    /// rate that no body reaches.
    case aging, strictTransport = "strict-transport", rate
    /// With the built-in features, except those of long-lived programs: without a caller's interceptors and listeners.
    case builtIn = "built-in"
    /// Also with a caller's interceptors.
    case all
    /// The default session, whose cache has the response: in memory, or in a SQLite file.
    case stored, storedOnDisk = "stored-on-disk"

    /// The name of its row.
    var title: String {
      switch self {
      case .executor: "bare, on the transport's executor"
      case .interceptors: "4 interceptors of the caller's"
      case .aging: "connections that age"
      case .strictTransport: "hosts that require https"
      case .rate: "a maximum rate"
      case .listener: "a listener that does nothing"
      case .inspector: "an inspector without a page"
      case .builtIn: "all that are built in"
      case .stored: "a response from memory"
      case .storedOnDisk: "a response from SQLite"
      default: rawValue
      }
    }
  }

  let version = "Martlet"
  private let session: HTTPSession
  private let sockets: KeptSockets
  private let folder = ScratchFolder()
  /// The executor of the requests; nil for the global one.
  private let executor: (any TaskExecutor)?

  init(
    _ variant: Variant = .bare, on transport: MeasuredTransport = .sockets, authority: URL? = nil, connections: Int = 64
  ) async throws {
    var connection = ConnectionConfiguration.measured(authority: authority, connections: connections)
    if variant == .aging { connection.connectionLifetime = .seconds(300) }
    let transport: any Transport =
      variant == .stored || variant == .storedOnDisk
      ? InstantTransport(lifetime: 3600) : transport.make(connection)
    session = HTTPSession(transport: transport, configuration: try await variant.configuration(in: folder))
    sockets = KeptSockets(session)
    executor = variant == .executor ? try (transport as? SocketTransport)?.taskExecutor : nil
  }

  /// The client of a session that is not one of the variants.
  init(_ session: HTTPSession) { (self.session, sockets, executor) = (session, KeptSockets(session), nil) }

  func fetch(_ url: URL, times: Int, atOnce: Int) async throws -> Int64 {
    try await withTaskExecutorPreference(executor) {
      try await spread(times, over: atOnce) { [session] in
        let (data, response) = try await session.data(for: HTTPRequest(.get, url))
        guard response.status == 200 else { throw BenchError("\(url): status \(response.status)") }
        return data.count
      }
    }
  }

  func download(_ url: URL) async throws -> Int64 {
    let (body, _) = try await session.bytes(for: HTTPRequest(.get, url))
    var sum: Int64 = 0
    for try await chunk in body { sum += Int64(chunk.count) }
    return sum
  }

  func upload(_ count: Int64, to url: URL) async throws {
    let body = RequestBody.stream(length: count) { RepeatedChunk(total: count) }
    let (_, response) = try await session.upload(for: HTTPRequest(.put, url), from: body)
    guard response.status == 200 else { throw BenchError("\(url): status \(response.status)") }
  }

  func upload(_ file: URL, to url: URL) async throws {
    let (_, response) = try await session.upload(for: HTTPRequest(.put, url), from: .file(file))
    guard response.status == 200 else { throw BenchError("\(url): status \(response.status)") }
  }

  func send(_ count: Int64, to url: URL, times: Int, atOnce: Int) async throws {
    let content = Data(count: Int(count))
    _ = try await spread(times, over: atOnce) { [session] in
      let (_, response) = try await session.upload(for: HTTPRequest(.put, url), from: .data(content))
      guard response.status == 200 else { throw BenchError("\(url): status \(response.status)") }
      return content.count
    }
  }

  func echo(_ assignment: Assignment) async throws -> Int64 { try await sockets.echo(assignment) }

  /// Reads a large body with pauses that are long enough for a sender to fill all buffers. During the first part, it
  /// calls `pause` after every given number of chunks instead of reading on.
  func slowRead(_ url: URL, pausingEvery chunks: Int, pauses: Int, _ pause: () async throws -> Void) async throws
    -> Int64
  {
    let (body, _) = try await session.bytes(for: HTTPRequest(.get, url))
    var sum: Int64 = 0
    var count = 0
    for try await chunk in body {
      sum += Int64(chunk.count)
      count += 1
      if count % chunks == 0, count / chunks <= pauses { try await pause() }
    }
    return sum
  }
}

extension SessionClient.Variant {
  /// The settings of the session. Its cookie is sent with every request.
  fileprivate func configuration(in folder: ScratchFolder) async throws -> SessionConfiguration {
    var settings = SessionConfiguration()
    switch self {
    case .default, .stored: return settings
    case .storedOnDisk:
      settings.cache = HTTPCache(store: try SQLiteCacheStore(at: folder.url.appending(component: "cache.sqlite")))
      return settings
    default: break
    }
    func has(_ feature: Self) -> Bool {
      switch feature {
      case .listener, .inspector, .strictTransport, .rate: self == feature
      case .interceptors: self == feature || self == .all
      default: self == feature || self == .all || self == .builtIn
      }
    }
    settings.cookies = nil
    settings.cache = has(.cache) ? HTTPCache() : nil
    if has(.cookies) {
      let jar = CookieJar()
      try await jar.set(Cookie(name: "session", value: "0123456789abcdef", domain: "127.0.0.1"))
      settings.cookies = jar
    }
    if has(.interceptors) { settings.interceptors = TaggingInterceptor.four }
    if has(.listener) { settings.listeners = [EventHandler { _, _ in }] }
    if has(.inspector) {
      var options = Inspector.Options()
      options.isAnnounced = false
      settings.listeners = [try Inspector(options)]
    }
    if has(.strictTransport) { settings.strictTransport = StrictTransportSecurity() }
    if has(.rate) { settings.options.maximumRate = RateShare(bytesPerSecond: 1 << 40) }
    if has(.correlation) { settings.interceptors.append(CorrelationInterceptor()) }
    if has(.deadline) { settings.options.deadline = .seconds(300) }
    if has(.retry) { settings.options.retryPolicy = .standard }
    if has(.authentication) {
      settings.credentials = [TokenSource(AccessToken("0123456789abcdef0123456789abcdef"), for: .any)]
    }
    return settings
  }
}

/// The same bytes again and again, up to a total.
private struct RepeatedChunk: AsyncSequence, AsyncIteratorProtocol, Sendable {
  private static let chunk = Data(count: 256 << 10)
  private var rest: Int64

  init(total: Int64) { rest = total }

  func makeAsyncIterator() -> Self { self }

  mutating func next() async -> Data? {
    guard rest > 0 else { return nil }
    let chunk = rest >= Int64(Self.chunk.count) ? Self.chunk : Self.chunk.prefix(Int(rest))
    rest -= Int64(chunk.count)
    return chunk
  }
}

/// A folder that exists as long as its client.
private final class ScratchFolder: Sendable {
  let url = FileManager.default.temporaryDirectory.appending(component: "martlet-bench-\(UUID().uuidString)")

  deinit { try? FileManager.default.removeItem(at: url) }
}
