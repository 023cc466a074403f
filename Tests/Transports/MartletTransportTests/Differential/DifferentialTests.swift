#if os(Linux)
import MartletCurl
import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Testing

/// Mutated replies, each from a server that closes the connection after it: the two transports of Linux make the same
/// of it, or differ for a reason that has a name.
@Suite(.timeLimit(.minutes(5)))
struct DifferentialTests {
  /// How many replies; `make interop` has more.
  static let rounds = ProcessInfo.processInfo.environment["MARTLET_DIFFERENTIAL_ROUNDS"].flatMap { Int($0) } ?? 2000

  @Test func everyDifferenceBetweenTheTransportsHasAName() async throws {
    let server = try LoopbackServer(recording: .nothing) { MutatedReply.reply(to: $0.target) }
    let (curl, sockets) = (CurlTransport(), SocketTransport())
    let next = Counter()
    let counts = try await withThrowingTaskGroup(of: [String: Int].self) { group in
      for _ in 0..<4 {
        group.addTask {
          var counts: [String: Int] = [:]
          while case let number = next.next(), number <= Self.rounds {
            let reply = try #require(MutatedReply(number))
            let request = guarded(reply.method, server.url("/\(number)"))
            let outcomes = (await ReplyOutcome(of: curl, request), await ReplyOutcome(of: sockets, request))
            guard outcomes.0 != outcomes.1 else { continue }
            let difference = Difference(reply: reply, curl: outcomes.0, sockets: outcomes.1)
            counts[await Self.reason(of: difference, request), default: 0] += 1
          }
          return counts
        }
      }
      return try await group.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
    }
    if Self.rounds > 2000 { for (reason, count) in counts { print("\(count) of \(Self.rounds) replies: \(reason)") } }
    #expect(!counts.isEmpty, "libcurl refuses minor versions that it does not know: is anything compared?")
  }

  @Test(.enabled(if: PythonClient.python != nil, "make interop has the clients"), arguments: PythonClient.allCases)
  func everyDifferenceFromAClientOfPythonHasAName(client: PythonClient) async throws {
    let server = try LoopbackServer(recording: .nothing) { MutatedReply.reply(to: $0.target) }
    let replies = (1...Self.rounds).compactMap(MutatedReply.init)
    let outcomes = try client.outcomes(of: replies, at: server.url("/"))
    #expect(outcomes.count == Self.rounds)
    var connection = ConnectionConfiguration()
    connection.decompresses = false
    let sockets = SocketTransport(connection)
    var counts: [String: Int] = [:]
    for reply in replies {
      let own = await ReplyOutcome(of: sockets, guarded(reply.method, server.url("/\(reply.number)")))
      guard let python = outcomes[reply.number], let difference = PythonDifference(reply, client, python, own) else {
        continue
      }
      if difference.reason == nil { Issue.record("a difference without a name:\n\(difference)") }
      counts[difference.reason?.description ?? "no name", default: 0] += 1
    }
    for (reason, count) in counts { print("\(client): \(count) of \(Self.rounds) replies: \(reason)") }
    #expect(!counts.isEmpty, "no two clients read all of it alike: is anything compared?")
  }

  /// Records an issue if the difference has no name.
  private static func reason(of difference: Difference, _ request: HTTPRequest) async -> String {
    if let reason = difference.reason { return "\(reason.name) (\(reason.section); right: \(reason.right.rawValue))" }
    // libcurl takes bytes that came on an idle connection for an answer, if it has not seen them yet
    let again = (await ReplyOutcome(of: CurlTransport(), request), await ReplyOutcome(of: SocketTransport(), request))
    if again.1 == difference.sockets, again.0 != difference.curl {
      let repeated = Difference(reply: difference.reply, curl: again.0, sockets: again.1)
      if again.0 == again.1 || repeated.reason != nil {
        return "what follows a response is no answer to another request (RFC 9112 §9.2; right: sockets)"
      }
    }
    Issue.record("a difference without a name:\n\(difference)")
    return "no name"
  }
}
#endif
