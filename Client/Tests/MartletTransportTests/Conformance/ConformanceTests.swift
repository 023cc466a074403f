#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Testing

/// The 39 cases of Apple's conformance tests for HTTP clients (apple/swift-http-api-proposal, `HTTPClientConformance`),
/// as calls of a session.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct ConformanceTests {
  @Test func thereAre39Cases() {
    #expect(ConformanceCase.all.flatMap { Array($0.numbers) } == Array(1...39))
  }

  @Test(arguments: ConformanceCase.all)
  func caseHolds(_ conformance: ConformanceCase) async throws {
    try await conformance.run(ConformanceClient())
  }
}

/// A session and its server.
struct ConformanceClient {
  let session: HTTPSession
  let transport = SocketTransport()
  let server: LoopbackServer

  init() throws {
    session = HTTPSession(transport: transport)
    server = try LoopbackServer.forConformance()
  }

  func call(
    _ target: String, _ method: HTTPMethod = .get, _ fields: HTTPFields = [:], body: RequestBody = .empty
  ) async throws -> (HTTPResponse, Data) {
    let (data, response) = try await session.data(for: guarded(method, server.url(target), fields: fields, body: body))
    return (response, data)
  }

  /// The server's view of a request.
  func seen(
    _ target: String, _ method: HTTPMethod = .get, _ fields: HTTPFields = [:], body: RequestBody = .empty
  ) async throws -> LoopbackServer.Seen {
    try await JSONDecoder().decode(LoopbackServer.Seen.self, from: call(target, method, fields, body: body).1)
  }

  func expectError(_ target: String) async {
    await #expect(throws: (any Error).self) { try await call(target) }
  }
}

/// One case, or several that differ only in a value.
struct ConformanceCase: Sendable, CustomTestStringConvertible {
  let numbers: ClosedRange<Int>
  let name: String
  let run: @Sendable (ConformanceClient) async throws -> Void

  var testDescription: String { "\(numbers.lowerBound) \(name)" }

  init(
    _ numbers: ClosedRange<Int>, _ name: String, run: @escaping @Sendable (ConformanceClient) async throws -> Void
  ) {
    (self.numbers, self.name, self.run) = (numbers, name, run)
  }

  static let all = (raw + messages + streams).sorted { $0.numbers.lowerBound < $1.numbers.lowerBound }
}
#endif
