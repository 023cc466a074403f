public import MartletTasks
import Synchronization

/// A session whose answers come from a table: what tasks run on while tests run. It stands wherever a
/// `StandardNetworkSession` does.
///
/// ```swift
/// MockSession.shared["category/some-title"] = .response(from: .module, json: "Category")
/// MockSession.shared["cart", method: .POST] = .response(status: 503)
/// MockSession.shared.mocks = ["shop": .response(json: "{}")]
///
/// #expect(MockSession.shared.requests(to: "cart").count == 1)
/// ```
///
/// A key stands for the requests whose path contains it. Where several do, the longest one answers; of equally long
/// ones, that with more conditions, and at last the one that was set later. A request that none stands for fails with an
/// `HTTPError` of kind `.file` that says "file not found" and lists the keys.
///
/// Everything above the wire is real: headers, signature, authorization, the one authentication on a 401, redirects, and
/// retries where the configuration has them. Without an environment, paths begin at `https://mock.invalid`.
///
/// ``shared`` is one for all tests of a process. Tests that run at the same time take one each:
///
/// ```swift
/// let mock = MockSession()
/// await Container.withOverrides { $0.networkSession = .single { mock } } perform: {
///   let response = await shop().execute()
///   #expect(response.statusCode == 200)
/// }
/// ```
// SAFETY: the table is behind a lock, and the superclass has constants alone.
public final class MockSession: StandardNetworkSession, @unchecked Sendable {
  /// The session that `Container.shared.networkSession()` is while tests run.
  public static let shared = MockSession()

  private let table: MockTransport

  /// Makes a session without answers.
  ///
  /// - Parameters:
  ///   - decoder: as that of `StandardNetworkSession`.
  ///   - environment: where paths begin; the container's by default.
  ///   - authenticator: who authorizes; the container's by default.
  ///   - configuration: what the engine does besides; by default with neither cache nor cookies, so that no test sees
  ///     another's.
  public init(
    decoder: any NetworkResponseDecoder = JSONResponseDecoder(),
    environment: @escaping @Sendable () -> NetworkEnvironment = { Container.shared.environment() },
    authenticator: @escaping @Sendable () -> (any Authenticator)? = { Container.shared.authenticator() },
    configuration: SessionConfiguration? = nil
  ) {
    var memoryless = SessionConfiguration()
    (memoryless.cache, memoryless.cookies) = (nil, nil)
    table = MockTransport()
    super.init(
      decoder: decoder,
      environment: {
        var environment = environment()
        environment.baseURL = environment.baseURL ?? URL(string: "https://mock.invalid")
        return environment
      }, authenticator: authenticator, configuration: configuration ?? memoryless, transport: table)
  }

  /// The answer to requests whose path contains the text, and which fulfil all other conditions; nil takes it away.
  ///
  /// - Parameters:
  ///   - path: a piece of the path, encoded or not; the empty text is in every path.
  ///   - method: the method; any by default.
  ///   - query: names and values that the query must have; none by default.
  ///   - body: a text that must be in the body; none by default.
  public subscript(
    path: String, method method: HTTPMethod? = nil, query query: [String: String] = [:], body body: String? = nil
  ) -> MockResponder? {
    get { table.state.withLock { $0[MockKey(path: path, method: method, query: query, body: body)] } }
    set {
      let key = MockKey(path: path, method: method, query: query, body: body)
      table.state.withLock { $0[key] = newValue }
    }
  }

  /// The answers by a piece of the path, those without other conditions. Setting it takes away what is missing in it; an answer
  /// that stays goes on where it was in a sequence.
  ///
  /// Changing one key of it reads and sets all of them: where several threads do that at the same time, use the subscript.
  public var mocks: [String: MockResponder] {
    get { table.state.withLock { $0.byPath } }
    set { table.state.withLock { $0.byPath = newValue } }
  }

  /// Everything that was asked, in order; each attempt counts.
  public var requests: [AskedRequest] { table.state.withLock { $0.requests } }

  /// What was asked of paths that contain the text, in order.
  public func requests(to path: String, method: HTTPMethod? = nil) -> [AskedRequest] {
    let key = MockKey(path: path, method: method, query: [:], body: nil)
    return requests.filter { key.matches($0) }
  }

  /// The keys that no request was answered by: empty, if everything that was expected came.
  public var unasked: [String] { table.state.withLock { $0.unasked } }

  /// Forgets answers and requests.
  public func reset() { table.state.withLock { $0 = MockTable() } }
}

extension MockSession: TestSessionProvider {
  /// The switch: where this module is linked, the container's session is ``shared`` while tests run.
  package static var session: (any NetworkSession)? { TestRun.isActive ? shared : nil }
}

/// The wire of a mock session.
private final class MockTransport: Transport {
  let state = Mutex(MockTable())

  func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse {
    let body = try await request.body.open().source
    var data = Data()
    while let chunk = try await body.next() { data.append(chunk) }
    let asked = AskedRequest(request: request, body: data)
    let (responder, earlier) = try state.withLock { try $0.answer(to: asked) }
    return try await responder.respond(asked, earlier)
  }
}
