import Foundation
import Martlet
import MartletTesting
import Testing

/// Cases of Autobahn's test suite; those of compression run only here.
@Suite("Autobahn", .timeLimit(.minutes(20)))
struct AutobahnTests {
  /// The cases that send a thousand messages of 8 KiB or more, compressed: many minutes in debug.
  /// `make interop AUTOBAHN=all` runs them, too.
  private static let longCases: [String] =
    ProcessInfo.processInfo.environment["AUTOBAHN"] == "all"
    ? []
    : [(12, 5), (13, 7)].flatMap { part, groups in
      (1...groups).flatMap { group in (6...18).map { "\(part).\(group).\($0)" } }
    }

  /// Over HTTP/2, HAProxy translates for the server.
  @Test(arguments: [false, true]) func casesPassStrictly(overHTTP2: Bool) async throws {
    let kosoku = URL(filePath: try Python.path()).deletingLastPathComponent().appending(path: "kosoku").path
    let suite = try AutobahnSuite(kosoku: kosoku, without: Self.longCases)
    let authority = try TestAuthority()
    let front = overHTTP2 ? try HTTP2Front(.haproxy, to: suite.port, with: authority) : nil
    let (session, transport) = try await Self.session(to: front, trusting: authority)
    let outcomes = try await suite.run(session, through: front.map { "wss://127.0.0.1:\($0.port)" })
    if overHTTP2 { #expect(await transport.statistics().values.map(\.opened) == [1]) }
    withExtendedLifetime(front) {}

    #expect(outcomes.count == 517 - Self.longCases.count)
    for (number, outcome) in outcomes {
      let expected = AutobahnSuite.informational.contains(number) ? ["OK", "INFORMATIONAL"] : ["OK"]
      #expect(expected.contains(outcome.behavior), "case \(number)")
      // HAProxy sometimes ends its connection to the server before the server has read the client's Close frame
      let ends = overHTTP2 ? expected + ["UNCLEAN"] : expected
      #expect(ends.contains(outcome.behaviorClose), "the end of case \(number)")
    }
  }

  /// Over HTTP/2, WebSockets use a connection that is there.
  private static func session(
    to front: HTTP2Front?, trusting authority: TestAuthority
  ) async throws -> (HTTPSession, SocketTransport) {
    var connection = ConnectionConfiguration()
    connection.tls.authorities = authority.certificate
    let transport = SocketTransport(connection)
    if let front, let url = URL(string: "https://127.0.0.1:\(front.port)") { try await transport.preconnect(to: url) }
    return (HTTPSession(transport: transport), transport)
  }
}
