#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Testing

/// Mutated replies, each from a server that closes the connection after it: our transport and clients that others wrote
/// make the same of it, or differ for a reason that has a name.
@Suite(.timeLimit(.minutes(5)))
struct DifferentialTests {
  /// The number of replies; `make interop` has more.
  static let rounds = ProcessInfo.processInfo.environment["MARTLET_DIFFERENTIAL_ROUNDS"].flatMap { Int($0) } ?? 2000

  @Test(arguments: OtherClient.installed)
  func everyDifferenceFromAnotherClientHasAName(client: OtherClient) async throws {
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
      guard let other = outcomes[reply.number], let difference = Difference(reply, client, other, own) else { continue }
      if difference.reason == nil { Issue.record("a difference without a name:\n\(difference)") }
      counts[difference.reason?.description ?? "no name", default: 0] += 1
    }
    if Self.rounds > 2000 {
      for (reason, count) in counts { print("\(client): \(count) of \(Self.rounds) replies: \(reason)") }
    }
    #expect(!counts.isEmpty, "no two clients read all of it alike: is anything compared?")
  }
}
#endif
