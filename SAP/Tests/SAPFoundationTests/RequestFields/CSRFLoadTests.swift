import Foundation
import SAPFoundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Rounds of writes and reads that begin at the same time.
struct LoadRounds: CustomStringConvertible {
  /// The number of rounds in `CSRF_ROUNDS`; if it is set, their results are printed.
  static let asked = ProcessInfo.processInfo.environment["CSRF_ROUNDS"].flatMap { Int($0) }

  var rounds: Int
  var writes: Int
  var reads: Int
  /// Each round finds sessions expired; otherwise it begins with a new session, without cookies and tokens.
  var isAfterExpiry: Bool
  /// The targets of the writes, in turn; each of these services has its own tokens.
  var services = ["/backend/"]

  var description: String {
    "\(writes) writes and \(reads) reads \(isAfterExpiry ? "after expiry" : "cold"), \(services.count) services"
  }

  struct Tally: CustomStringConvertible {
    var rounds = 0
    var failedRounds = 0
    var failedWrites = 0
    var failedReads = 0
    /// The number of times that the most repeated write was sent.
    var mostSendings = 0

    var description: String {
      "\(failedRounds) of \(rounds) rounds failed (\(failedWrites) writes, \(failedReads) reads); a write was sent "
        + "\(mostSendings) times at most"
    }
  }

  func run(against server: any SessionServer) async throws -> Tally {
    var tally = Tally()
    var session = makeSession(server)
    if isAfterExpiry { for service in services { await session.post(server.url(service + "Orders?first")) } }
    for round in 0..<rounds {
      if isAfterExpiry { try await server.expireSessions() } else { session = makeSession(server) }
      let (failedWrites, failedReads) = await self.round(round, session, server)
      tally.rounds += 1
      tally.failedRounds += failedWrites > 0 ? 1 : 0
      tally.failedWrites += failedWrites
      tally.failedReads += failedReads
      tally.mostSendings = max(tally.mostSendings, try await server.mostRepetitions())
    }
    if Self.asked != nil { print("\(type(of: server)), \(self): \(tally)") }
    return tally
  }

  private func makeSession(_ server: any SessionServer) -> SAPURLSession {
    let session = SAPURLSession.observed(by: BasicAuthenticationObserver(credentialDiscovery: Anna()))
    for service in services { session.register(CSRFTokenObserver(rootUrl: server.url(service))) }
    return session
  }

  private func round(
    _ round: Int, _ session: SAPURLSession, _ server: any SessionServer
  ) async -> (failedWrites: Int, failedReads: Int) {
    await withTaskGroup(of: (isWrite: Bool, status: Int?).self) { group in
      for number in 0..<max(writes, reads) {
        if number < reads {
          group.addTask { (false, await session.get(server.url("/backend/?\(round).\(number)")).status) }
        }
        if number < writes {
          let service = services[number % services.count]
          group.addTask { (true, await session.post(server.url("\(service)Orders?\(round).\(number)")).status) }
        }
      }
      var failures = (failedWrites: 0, failedReads: 0)
      for await (isWrite, status) in group {
        if isWrite, status != 201 { failures.failedWrites += 1 }
        if !isWrite, status != 200 { failures.failedReads += 1 }
      }
      return failures
    }
  }
}

/// The user of servers with users.
private final class Anna: BasicCredentialDiscovery {
  func provideBasicCredential(
    for url: URL, challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (BasicCredential?, (any Error)?) -> Void
  ) { completionHandler(BasicCredential(username: "anna", password: "secret"), nil) }
}

/// The owner of the server.
enum ServerKind: String, CaseIterable, Sendable {
  case double, python

  func start() throws -> any SessionServer {
    switch self {
    case .double: try DoubleServer(latency: .milliseconds(3))
    case .python: try PythonSessions(latency: .milliseconds(3))
    }
  }
}

/// Servers that open a session for every request without one, and answer parallel requests in any order.
///
/// `CSRF_ROUNDS=1000 make test ARGS="--filter CSRFLoadTests"` runs this number of rounds, and prints their results; 10
/// by default.
@Suite("CSRF tokens under load", .timeLimit(.minutes(LoadRounds.asked == nil ? 5 : 60)))
struct CSRFLoadTests {
  private static let rounds = LoadRounds.asked ?? 10

  @Test(arguments: ServerKind.allCases, [false, true])
  func twelveWritesBesideEightReadsAreAllAccepted(kind: ServerKind, isAfterExpiry: Bool) async throws {
    let tally = try await LoadRounds(rounds: Self.rounds, writes: 12, reads: 8, isAfterExpiry: isAfterExpiry)
      .run(against: kind.start())
    #expect(tally.failedWrites == 0 && tally.failedReads == 0, "\(tally)")
    #expect(tally.mostSendings <= 2)
  }

  @Test(arguments: [(2, 0), (3, 0), (5, 0), (12, 0), (1, 5)], [false, true])
  func smallerMixesAreAllAccepted(mix: (writes: Int, reads: Int), isAfterExpiry: Bool) async throws {
    for kind in ServerKind.allCases {
      let tally = try await LoadRounds(
        rounds: Self.rounds, writes: mix.writes, reads: mix.reads, isAfterExpiry: isAfterExpiry
      ).run(against: kind.start())
      #expect(tally.failedWrites == 0 && tally.failedReads == 0, "\(kind): \(tally)")
      #expect(tally.mostSendings <= 2)
    }
  }

  @Test(arguments: [false, true]) func allRequestsOfUsersWithPasswordsAreAccepted(isAfterExpiry: Bool) async throws {
    let tally = try await LoadRounds(rounds: Self.rounds, writes: 12, reads: 8, isAfterExpiry: isAfterExpiry)
      .run(against: DoubleServer(latency: .milliseconds(3), users: ["anna": "secret"]))
    #expect(tally.failedWrites == 0 && tally.failedReads == 0, "\(tally)")
    #expect(tally.mostSendings <= 2)  // a password that was accepted goes along without a challenge
  }

  @Test(arguments: [false, true]) func servicesOfOneHostShareItsSession(isAfterExpiry: Bool) async throws {
    let rounds = LoadRounds(
      rounds: Self.rounds, writes: 12, reads: 4, isAfterExpiry: isAfterExpiry,
      services: ["/backend/a/", "/backend/b/", "/backend/c/"])
    let tally = try await rounds.run(against: ServerKind.double.start())
    #expect(tally.failedWrites == 0 && tally.failedReads == 0, "\(tally)")
    #expect(tally.mostSendings <= 2)
  }
}
