import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import Testing

/// The actions of every surface and their expected results, the same for all: the rows of the table.
///
/// A surface is a column: a list of ``ParityWay``s. This file and the table do not depend on any surface. So the tests
/// of another surface can share both, with links.
struct ParityScenario: Sendable, CustomTestStringConvertible {
  let name: String
  var method = HTTPMethod.get
  /// The pieces of the path; a slash in them is data.
  var segments = ["item"]
  var query: [(name: String, value: String)] = []
  /// Sent as JSON.
  var body: [String: String]?
  /// The time for everything.
  var deadline: Duration?
  /// How often the request is made, in one session. The outcome is that of the last time.
  var runs = 1
  /// Whether it is cancelled once the server has the request.
  var isCancelled = false
  /// Whether the session has a token, `old`, and requests a new one at `/token` when it is refused.
  var hasToken = false
  var configure: @Sendable (inout SessionConfiguration) -> Void = { _ in }
  let outcome: ParityOutcome
  /// The outcome for ways that read the body as a value, if it differs.
  var decoded: ParityOutcome?
  /// The requests that the server gets.
  let traffic: [String]
  /// Answers the request; the number is that of earlier ones.
  let respond: @Sendable (ReceivedRequest, _ earlier: Int) -> Reply

  var testDescription: String { name }

  var target: String {
    segments.map { "/" + PercentEncoding.pathSegment.encode($0) }.joined()
      + (query.isEmpty ? "" : "?" + PercentEncoding.queryComponent.encode(query))
  }
}

/// The outcome that a surface reports.
enum ParityOutcome: Hashable, Sendable {
  /// A response. Ways that return only the value omit the status; no body is the empty text.
  case answer(HTTPStatus?, String)
  /// A response whose body is not a valid value.
  case undecodable
  /// No response: the kind of the `HTTPError`.
  case failure(String)

  func agrees(with other: ParityOutcome) -> Bool {
    guard case (.answer(let status?, let body), .answer(nil, let same)) = (other, self) else { return self == other }
    return status.isSuccessful && body == same
  }
}

/// One way to do something in a surface.
struct ParityWay: Sendable {
  let name: String
  /// Whether it reads the body, as `String?`.
  let decodes: Bool
  /// Makes a session for the server, and makes the request once.
  let open: @Sendable (ParityScenario, URL, SessionConfiguration) -> @Sendable () async -> ParityOutcome
}

extension ParityWay {
  /// The requests over the network, and the surface's outcome.
  func run(_ scenario: ParityScenario) async throws -> (ParityOutcome, [ReceivedRequest]) {
    let arrivals = Arrivals()
    let server = try LoopbackServer { scenario.respond($0.received, arrivals.next()) }
    var configuration = SessionConfiguration()
    scenario.configure(&configuration)
    let perform = open(scenario, server.url, configuration)
    var outcome = ParityOutcome.failure("not run")
    for _ in 1...scenario.runs {
      let running = Task { await perform() }
      if scenario.isCancelled {
        _ = try await server.request(1)
        running.cancel()
      }
      outcome = await running.value
    }
    if scenario.isCancelled { #expect(try await server.end(ofConnection: 1) == .client) }
    return (outcome, server.requests)
  }

  /// The requests in a form for comparison: everything except the port and the connection.
  static func comparable(_ requests: [ReceivedRequest]) -> [String] {
    requests.map { request in
      let fields = request.fields.filter { $0.name != .host }.map { "\($0.name): \($0.value)" }.sorted()
      return (["\(request.method) \(request.target)"] + fields + [request.text]).joined(separator: "\n")
    }
  }
}

/// Numbers the requests, from 0.
private final class Arrivals: Sendable {
  private let count = Atomic(0)

  func next() -> Int { count.add(1, ordering: .relaxed).oldValue }
}
