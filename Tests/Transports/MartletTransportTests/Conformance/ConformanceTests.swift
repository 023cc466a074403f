#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

/// The 39 cases of Apple's conformance tests for HTTP clients (apple/swift-http-api-proposal, `HTTPClientConformance`),
/// as calls of a session.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct ConformanceTests {
  @Test func thereAre39Cases() {
    #expect(ConformanceCase.all.flatMap { Array($0.numbers) } == Array(1...39))
  }

  @Test(arguments: ConformanceCase.all, [TestedTransport.curl, .sockets])
  func caseHolds(_ conformance: ConformanceCase, over tested: TestedTransport) async throws {
    let client = try ConformanceClient(tested)
    let missing = conformance.missing[tested]
    try await withKnownIssue(Comment(rawValue: missing ?? "")) {
      try await conformance.run(client)
    } when: {
      missing != nil
    }
  }
}

/// A session and its server.
struct ConformanceClient {
  let tested: TestedTransport
  let session: HTTPSession
  let transport: any Transport
  let server: LoopbackServer

  init(_ tested: TestedTransport) throws {
    self.tested = tested
    transport = tested.makeTransport()
    session = HTTPSession(transport: transport)
    server = try LoopbackServer.forConformance()
  }

  func call(
    _ target: String, _ method: HTTPMethod = .get, _ fields: HTTPFields = [:], body: RequestBody = .empty
  ) async throws -> (HTTPResponse, Data) {
    let (data, response) = try await session.data(for: guarded(method, server.url(target), fields: fields, body: body))
    return (response, data)
  }

  /// What the server saw of a request.
  func seen(
    _ target: String, _ method: HTTPMethod = .get, _ fields: HTTPFields = [:], body: RequestBody = .empty
  ) async throws -> LoopbackServer.Seen {
    try await JSONDecoder().decode(LoopbackServer.Seen.self, from: call(target, method, fields, body: body).1)
  }

  func expectError(_ target: String) async {
    await #expect(throws: (any Error).self) { try await call(target) }
  }
}

/// One case, or several that differ in a value only.
struct ConformanceCase: Sendable, CustomTestStringConvertible {
  let numbers: ClosedRange<Int>
  let name: String
  /// Why it cannot hold over a transport: a known issue.
  var missing: [TestedTransport: String] = [:]
  let run: @Sendable (ConformanceClient) async throws -> Void

  var testDescription: String { "\(numbers.lowerBound) \(name)" }

  init(
    _ numbers: ClosedRange<Int>, _ name: String, missing: [TestedTransport: String] = [:],
    run: @escaping @Sendable (ConformanceClient) async throws -> Void
  ) {
    (self.numbers, self.name, self.missing, self.run) = (numbers, name, missing, run)
  }

  static let all = (raw + messages + streams).sorted { $0.numbers.lowerBound < $1.numbers.lowerBound }
}
#endif
