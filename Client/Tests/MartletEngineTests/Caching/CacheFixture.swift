import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// A wall clock that a test moves.
final class WallClock: Sendable {
  private let time = Mutex(Date(timeIntervalSince1970: 1_735_689_600))

  var now: Date { time.withLock { $0 } }
  /// The current time as the value of a field.
  var field: String { HTTPDate.format(now) }

  func advance(_ seconds: Double) { time.withLock { $0 += seconds } }
}

/// A session with a cache, with a closure as its transport, and the observations of a test.
struct CacheFixture: Sendable {
  private let notes = AsyncStream<Void>.makeStream()
  let wall = WallClock()
  let clock = ManualClock()
  let cache: HTTPCache
  let transport: RecordingTransport
  let session: HTTPSession

  init(
    store: any CacheStore = MemoryCacheStore(), interceptors: [any Interceptor] = [],
    _ respond: @escaping @Sendable (MockRequest) async throws -> MockResponse
  ) {
    self.init(store: store, interceptors: interceptors, transport: MockTransport(clock: ManualClock(), respond))
  }

  init(
    store: any CacheStore = MemoryCacheStore(), interceptors: [any Interceptor] = [], transport: any Transport
  ) {
    cache = HTTPCache(store: store) { [wall] in wall.now }
    self.transport = RecordingTransport(around: transport)
    var configuration = SessionConfiguration()
    configuration.cache = cache
    configuration.clock = clock
    configuration.options.retryPolicy.random = { 0 }  // Replacements are not delayed.
    configuration.interceptors = interceptors
    configuration.listeners = [
      EventHandler { [notes] event, _ in if case .note = event { notes.continuation.yield() } }
    ]
    session = HTTPSession(transport: self.transport, configuration: configuration)
  }

  /// A session whose transport returns these responses in order.
  init(store: any CacheStore = MemoryCacheStore(), _ script: MockResponse...) {
    self.init(store: store, transport: ScriptedTransport(script))
  }

  func get(
    _ path: String = "/", _ fields: HTTPFields = [:], policy: CachePolicy = .useProtocolCachePolicy,
    partition: String = ""
  ) async throws -> Answer {
    var request = HTTPRequest(.get, url("http://a.example\(path)"), fields: fields)
    request.options.cachePolicy = policy
    request.options.partition = partition
    return try await send(request)
  }

  func send(_ request: HTTPRequest) async throws -> Answer {
    let (data, response) = try await session.data(for: request)
    return Answer(text: String(decoding: data, as: UTF8.self), response: response)
  }

  /// The requests that were sent.
  var sent: [HTTPRequest] { transport.records.map(\.request) }

  /// Suspends until this number of requests have waited for an identical one. The cache counts them before it records
  /// that.
  func collapsed(_ count: Int) async {
    guard cache.statistics.collapsed < count else { return }
    for await _ in notes.stream where cache.statistics.collapsed >= count { return }
  }

  @dynamicMemberLookup
  struct Answer: Sendable {
    let text: String
    let response: HTTPResponse

    subscript<Value>(dynamicMember path: KeyPath<HTTPResponse, Value>) -> Value { response[keyPath: path] }
  }
}

extension MockResponse {
  /// A text with `Cache-Control` and other fields.
  static func cacheable(_ text: String, _ control: String, _ fields: HTTPFields = [:]) -> MockResponse {
    var response = MockResponse.text(text)
    response.fields[.cacheControl] = control
    for (name, value) in fields { response.fields.append(value, for: name) }
    return response
  }

  static func notModified(_ fields: HTTPFields) -> MockResponse { MockResponse(status: .notModified, fields: fields) }
}
