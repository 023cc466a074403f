import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import Testing

/// A wall clock that a test moves.
final class WallClock: Sendable {
  private let time = Mutex(Date(timeIntervalSince1970: 1_735_689_600))

  var now: Date { time.withLock { $0 } }
  /// The present, as a field writes it.
  var field: String { HTTPDate.format(now) }

  func advance(_ seconds: Double) { time.withLock { $0 += seconds } }
}

/// A session with a cache on a wire that is a closure, and everything that a test wants to see of it.
struct CacheFixture: Sendable {
  let wall = WallClock()
  let clock = ManualClock()
  let cache: HTTPCache
  let wire: RecordingTransport
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
    wire = RecordingTransport(around: transport)
    var configuration = SessionConfiguration()
    configuration.cache = cache
    configuration.clock = clock
    configuration.interceptors = interceptors
    session = HTTPSession(transport: wire, configuration: configuration)
  }

  /// A wire with its answers in order.
  init(store: any CacheStore = MemoryCacheStore(), _ script: MockResponse...) {
    self.init(store: store, transport: ScriptedTransport(script))
  }

  func get(
    _ path: String = "/", _ fields: HTTPFields = [:], policy: CachePolicy = .useProtocolCachePolicy,
    partition: String = ""
  ) async throws -> Answer {
    var request = HTTPRequest(.get, url("http://a.example\(path)"), fields: fields)
    request.options.cachePolicy = policy
    request.options.cachePartition = partition
    return try await send(request)
  }

  func send(_ request: HTTPRequest) async throws -> Answer {
    let (data, response) = try await session.data(for: request)
    return Answer(text: String(decoding: data, as: UTF8.self), response: response)
  }

  /// The requests that reached the wire.
  var sent: [HTTPRequest] { wire.records.map(\.request) }

  @dynamicMemberLookup
  struct Answer: Sendable {
    let text: String
    let response: HTTPResponse

    subscript<Value>(dynamicMember path: KeyPath<HTTPResponse, Value>) -> Value { response[keyPath: path] }
  }
}

extension MockResponse {
  /// A text with the fields that a cache goes by.
  static func cacheable(_ text: String, _ control: String, _ fields: HTTPFields = [:]) -> MockResponse {
    var response = MockResponse.text(text)
    response.fields[.cacheControl] = control
    for (name, value) in fields { response.fields.append(value, for: name) }
    return response
  }

  static func notModified(_ fields: HTTPFields) -> MockResponse { MockResponse(status: .notModified, fields: fields) }
}
