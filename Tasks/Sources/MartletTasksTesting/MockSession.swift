// Tests that use mocks use tasks as well.
@_exported public import MartletTasks
import Synchronization

/// A session that answers requests from a table, without a network, for tests. Use it wherever a
/// `StandardNetworkSession` is expected.
///
/// ```swift
/// MockSession.install()  // once, before the code under test asks for its session
/// MockSession.shared["category/some-title"] = .response(from: .module, json: "Category")
/// MockSession.shared["cart", method: .POST] = .response(status: 503)
/// MockSession.shared.mocks = ["shop": .response(json: "{}")]
///
/// #expect(MockSession.shared.requests(to: "cart").count == 1)
/// ```
///
/// A key matches the requests whose path contains it. If several match, the longest one answers; of equally long ones,
/// the one with more conditions, and of those the one that was set last. If no key matches, the request fails with an
/// `HTTPError` of kind `.file` that says "file not found" and lists the keys.
///
/// Only the network is replaced: headers, signature, authorization, the one authentication on a 401 and redirects work
/// as in production, and so do retries if the configuration enables them. Without an environment, the base URL is
/// `https://mock.invalid`.
///
/// ``shared`` is shared by all tests of a process. Tests that run concurrently make one each:
///
/// ```swift
/// let mock = MockSession()
/// await Container.withOverrides { $0.networkSession = .single { mock } } perform: {
///   let response = await shop().execute()
///   #expect(response.statusCode == 200)
/// }
/// ```
// SAFETY: the table is behind a lock, and the superclass has constants only.
public final class MockSession: StandardNetworkSession, @unchecked Sendable {
  /// The session that ``install()`` puts into the container.
  public static let shared = MockSession()

  /// Makes ``shared`` the session of `Container.shared`, and returns it.
  ///
  /// Call it where the tests begin. It replaces the container's session until another is set or `Container.reset()`
  /// removes it. Within `Container.withOverrides` it applies only there. Code that already holds another session keeps
  /// it.
  @discardableResult
  public static func install() -> MockSession {
    Container.shared.networkSession = .single { shared }
    return shared
  }

  private let table: MockSessionTransport

  /// Makes a session without mocks.
  ///
  /// - Parameters:
  ///   - decoder: decodes responses, as in `StandardNetworkSession`.
  ///   - environment: the base URL and headers; the container's by default.
  ///   - authenticator: authorizes requests; the container's by default.
  ///   - configuration: the engine's; by default without cache and cookies, so that tests are independent.
  public init(
    decoder: any NetworkResponseDecoder = JSONResponseDecoder(),
    environment: @escaping @Sendable () -> NetworkEnvironment = { Container.shared.environment() },
    authenticator: @escaping @Sendable () -> (any Authenticator)? = { Container.shared.authenticator() },
    configuration: SessionConfiguration? = nil
  ) {
    var memoryless = SessionConfiguration()
    (memoryless.cache, memoryless.cookies) = (nil, nil)
    table = MockSessionTransport()
    super.init(
      decoder: decoder,
      environment: {
        var environment = environment()
        environment.baseURL = environment.baseURL ?? URL(string: "https://mock.invalid")
        return environment
      }, authenticator: authenticator, configuration: configuration ?? memoryless, transport: table)
  }

  /// The response to requests whose path contains the text and which meet all other conditions; nil removes it.
  ///
  /// - Parameters:
  ///   - path: a part of the path, percent-encoded or not; the empty string matches every path.
  ///   - method: the method; any by default.
  ///   - query: names and values that the query must contain; none by default.
  ///   - body: a text that the body must contain; none by default.
  public subscript(
    path: String, method method: HTTPMethod? = nil, query query: [String: String] = [:], body body: String? = nil
  ) -> MockResponder? {
    get { table.state.withLock { $0[MockKey(path: path, method: method, query: query, body: body)] } }
    set {
      let key = MockKey(path: path, method: method, query: query, body: body)
      table.state.withLock { $0[key] = newValue }
    }
  }

  /// The responses without other conditions, by a part of the path. Setting it removes the missing ones; an unchanged
  /// one keeps its position in a sequence.
  ///
  /// Changing one key reads and sets all of them: if several threads do that concurrently, use the subscript.
  public var mocks: [String: MockResponder] {
    get { table.state.withLock { $0.byPath } }
    set { table.state.withLock { $0.byPath = newValue } }
  }

  /// All requests so far, in order; each attempt counts.
  public var requests: [SentRequest] { table.state.withLock { $0.requests } }

  /// Returns the requests whose path contains the text, in order.
  public func requests(to path: String, method: HTTPMethod? = nil) -> [SentRequest] {
    let key = MockKey(path: path, method: method, query: [:], body: nil)
    return requests.filter { key.matches($0) }
  }

  /// The keys that answered no request; empty if all expected requests were made.
  public var unused: [String] { table.state.withLock { $0.unused } }

  /// Removes all mocks and recorded requests.
  public func reset() { table.state.withLock { $0 = MockTable() } }
}

/// The transport of a mock session.
private final class MockSessionTransport: Transport {
  let state = Mutex(MockTable())

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    let body = try await request.body.open().source
    var data = Data()
    while let chunk = try await body.next() { data.append(chunk) }
    let sent = SentRequest(request: request, body: data)
    let (responder, earlier) = try state.withLock { try $0.answer(to: sent) }
    return try await responder.respond(sent, earlier)
  }
}
