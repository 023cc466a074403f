import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// Responses from the cache while tokens cannot be renewed because there is no network.
@Suite(.timeLimit(.minutes(5)))
struct OfflineCredentialsTests {
  /// A network that a test can switch off, with an origin that requires tokens, each valid for 100 seconds.
  private final class Network: Sendable {
    struct State {
      var failure: HTTPError?
      var renewals = 0
      var refused: Set<String> = []
    }

    let state = Mutex(State())
    let wall = WallClock()

    var renewals: Int { state.withLock { $0.renewals } }

    func fail(_ kind: HTTPError.Kind?) {
      state.withLock { $0.failure = kind.map { HTTPError($0, "no network", phase: .connecting) } }
    }

    func check() throws { if let failure = state.withLock({ $0.failure }) { throw failure } }

    func renew() throws -> AccessToken {
      let number = state.withLock { state in
        state.renewals += 1
        return state.renewals
      }
      try check()
      return AccessToken("\(number)", expires: wall.now.addingTimeInterval(100))
    }

    func respond(_ request: MockRequest, _ control: String) throws -> MockResponse {
      try check()
      let token = request.fields[.authorization] ?? "none"
      if state.withLock({ $0.refused.contains(token) }) {
        return MockResponse(status: .unauthorized, fields: [.cacheControl: "private, max-age=60"])
      }
      return .cacheable(token, control, [.eTag: "\"a\""])
    }
  }

  private let network = Network()
  private let transport: RecordingTransport

  private init(_ control: String) {
    transport = RecordingTransport(around: MockTransport { [network] in try network.respond($0, control) })
  }

  init() { self.init("max-age=1000") }

  /// A session like in a new process, whose first request needs a token.
  private func session(_ cache: HTTPCache, retry: RetryPolicy = RetryPolicy()) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.cache = cache
    configuration.options.retryPolicy = retry
    configuration.credentials = [
      TokenSource(for: .origin(of: origin), now: { [network] in network.wall.now }) { [network] _ in
        try network.renew()
      }
    ]
    return HTTPSession(transport: transport, configuration: configuration)
  }

  private var cache: HTTPCache { HTTPCache(now: { [network] in network.wall.now }) }

  private func get(
    _ session: HTTPSession, _ policy: CachePolicy = .returnCacheDataIfOffline, partition: String = "anna",
    method: HTTPMethod = .get
  ) async throws(HTTPError) -> (text: String, source: HTTPResponse.Source) {
    var request = HTTPRequest(method, origin)
    request.options.cachePolicy = policy
    request.options.partition = partition
    let (data, response) = try await session.data(for: request)
    return (String(decoding: data, as: UTF8.self), response.source)
  }

  private func failure(_ work: () async throws(HTTPError) -> Void) async throws -> HTTPError {
    try #require(await #expect(throws: HTTPError.self) { try await work() })
  }

  @Test(arguments: [CachePolicy.returnCacheDataIfOffline, .useProtocolCachePolicy, .returnCacheDataDontLoad])
  func aProcessWithoutNetworkUsesTheFreshResponsesOfItsPartition(_ policy: CachePolicy) async throws {
    let cache = cache
    #expect(try await get(session(cache)).source == .network)
    network.fail(.cannotResolveHost)

    let answer = try await get(session(cache), policy)

    #expect(answer.text == "Bearer 1")
    #expect(answer.source == .cache)
    #expect(transport.records.count == 1)
  }

  @Test func aStaleResponseIsUsedOfflineIfThePolicyAllowsIt() async throws {
    let cache = cache
    _ = try await get(session(cache))
    network.wall.advance(5_000)
    network.fail(.cannotConnect)

    #expect(try await get(session(cache)).source == .offline)
    let error = try await failure { () async throws(HTTPError) in
      _ = try await get(session(cache), .useProtocolCachePolicy)
    }
    #expect(error.kind == .cannotConnect)
    #expect(transport.records.count == 1, "nothing goes out without its token")
  }

  @Test(arguments: ["ben", ""])
  func theResponsesOfAnotherPartitionAreNotUsedOffline(_ partition: String) async throws {
    let cache = cache
    _ = try await get(session(cache))
    _ = try await get(session(cache), partition: "")
    network.fail(.cannotConnect)

    let error = try await failure { () async throws(HTTPError) in
      _ = try await get(session(cache), partition: partition)
    }

    #expect(error.kind == .cannotConnect)
    #expect(transport.records.count == 2)
  }

  @Test func responsesWithoutCredentialsAreNotUsedForAUserOffline() async throws {
    let cache = cache
    var configuration = SessionConfiguration()
    configuration.cache = cache
    let guest = HTTPSession(transport: transport, configuration: configuration)
    #expect(try await get(guest, partition: "").text == "none")
    network.fail(.cannotConnect)

    #expect(try await get(guest, partition: "").source == .cache)
    let error = try await failure { () async throws(HTTPError) in _ = try await get(session(cache), partition: "") }

    #expect(error.kind == .cannotConnect)
  }

  @Test func publicResponsesAreUsedOfflineWithoutCredentials() async throws {
    let test = Self("public, max-age=1000")
    let cache = test.cache
    #expect(try await test.get(test.session(cache), partition: "").text == "Bearer 1")
    test.network.fail(.cannotConnect)

    #expect(try await test.get(test.session(cache), partition: "").source == .cache)
  }

  @Test(arguments: ["anna", ""])
  func aStoredRefusalIsNotUsedForTheRenewedToken(_ partition: String) async throws {
    let session = session(cache)
    _ = try await get(session, partition: "ben")
    network.state.withLock { $0.refused = ["Bearer 1"] }

    let answer = try await get(session, .useProtocolCachePolicy, partition: partition)

    #expect(answer.text == "Bearer 2")
    #expect(answer.source == .network)
    #expect(transport.records.count == 3)
  }

  @Test func storedResponsesAreUsedAfterTheTokenHasExpired() async throws {
    let session = session(cache)
    _ = try await get(session)
    network.wall.advance(90)
    #expect(try await get(session).text == "Bearer 1")
    #expect(network.renewals == 2)
    #expect(transport.records.count == 1)
  }

  @Test(arguments: [
    HTTPError.Kind.cannotResolveHost, .cannotConnect, .connectTimeout, .responseTimeout, .connectionLost,
    .untrustedCertificate,
  ])
  func aRenewalThatFailsWithoutANetworkKeepsItsKind(_ kind: HTTPError.Kind) async throws {
    network.fail(kind)
    let error = try await failure { () async throws(HTTPError) in _ = try await get(session(cache)) }
    #expect(error.kind == kind)
    #expect(error.message.hasPrefix("the access token could not be renewed"))
    #expect(error.underlying is HTTPError)
    #expect(transport.records.isEmpty)
  }

  @Test func aRenewalThatIsRefusedIsAFailedAuthentication() async throws {
    network.fail(.unexpectedResponse)
    let error = try await failure { () async throws(HTTPError) in _ = try await get(session(cache)) }
    #expect(error.kind == .authenticationFailed)
  }

  @Test(arguments: [HTTPMethod.get, .post])
  func aRenewalThatFailsWithoutANetworkIsRetriedByPolicy(_ method: HTTPMethod) async throws {
    network.fail(.connectionLost)
    var policy = RetryPolicy(limit: 3)
    policy.random = { [network] in
      if network.renewals == 2 { network.fail(nil) }
      return 0
    }

    #expect(try await get(session(cache, retry: policy), method: method).text == "Bearer 3")
    #expect(transport.records.count == 1)
  }

  @Test func aRefusedTokenThatCannotBeRenewedOfflineIsNotALogout() async throws {
    let session = session(cache)
    _ = try await get(session)
    network.state.withLock { $0.refused = ["Bearer 1"] }
    let wasLost = Mutex(false)
    var request = HTTPRequest(.get, origin)
    request.options.cachePolicy = .reloadIgnoringCacheData
    request.options.listeners = [
      EventHandler { [network] event, _ in
        guard case .response = event else { return }
        wasLost.withLock { $0 = true }
        network.fail(.cannotConnect)
      }
    ]

    let error = try await failure { () async throws(HTTPError) in _ = try await session.data(for: request) }

    #expect(wasLost.withLock { $0 })
    #expect(error.kind == .cannotConnect)
    #expect(error.isUnreachable)
    #expect(error.history.map { $0.response?.status } == [.unauthorized])
    #expect(transport.records.count == 2)
    network.fail(nil)
    network.state.withLock { $0.refused = ["Bearer 1"] }
    #expect(try await session.data(for: HTTPRequest(.get, origin)).1.status == .ok)
  }
}
