import Foundation
import Martlet
import MartletTesting
import MartletWebSocket
import Testing

/// The cases of Autobahn's test suite, which kosoku runs as a server: RFC 6455 and permessage-deflate.
@Suite("Autobahn", .timeLimit(.minutes(20)))
struct AutobahnTests {
  /// What the server reports of a case.
  private struct Outcome: Decodable {
    let behavior: String
    let behaviorClose: String
  }

  private static let agent = "martlet"
  /// Cases whose behaviour nothing prescribes.
  private static let informational: Set = ["7.1.6", "7.13.1", "7.13.2"]

  /// Over HTTP/2, HAProxy translates for the server.
  @Test(arguments: [false, true]) func everyCasePassesStrictly(overHTTP2: Bool) async throws {
    let folder = try TemporaryFolder()
    let port = try LocalPort.free()
    let arguments = ["-m", "fuzzingserver", "127.0.0.1:\(port)", "-o", folder.url.path]
    let kosoku = URL(filePath: try Python.path()).deletingLastPathComponent().appending(path: "kosoku").path
    let server = try RealProcess(kosoku, arguments, port: port)
    let authority = try TestAuthority()
    let front = overHTTP2 ? try HTTP2Front(.haproxy, to: port, with: authority) : nil
    let base = front.map { "wss://127.0.0.1:\($0.port)" } ?? "ws://127.0.0.1:\(port)"
    let (session, transport) = try await Self.session(to: front, trusting: authority)
    let count = try await Self.caseCount(at: base, session)
    #expect(count == 517)
    await withTaskGroup(of: Void.self) { group in
      for number in 1...count {
        if number > 4 { await group.next() }
        group.addTask { await Self.run("\(base)/runCase?case=\(number)&agent=\(Self.agent)", session) }
      }
    }
    // it ends the connection when the report is complete
    _ = try? await Self.open("\(base)/updateReports?agent=\(Self.agent)", session).receive()
    if overHTTP2 { #expect(await transport.statistics().values.map(\.opened) == [1]) }
    withExtendedLifetime((server, front)) {}

    let outcomes = try Self.outcomes(in: folder.file("index.json"))
    #expect(outcomes.count == count)
    for (number, outcome) in outcomes {
      let expected = Self.informational.contains(number) ? ["OK", "INFORMATIONAL"] : ["OK"]
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

  private static func open(_ url: String, _ session: HTTPSession) async throws -> WebSocket {
    var options = WebSocket.Options()
    options.maximumMessageSize = 64 << 20
    options.compression?.resetsSentContext = true  // without this offer, 54 cases do not run
    return try await session.webSocket(for: HTTPRequest(.get, url), options: options)
  }

  private static func caseCount(at base: String, _ session: HTTPSession) async throws -> Int {
    guard case .string(let text) = try await open("\(base)/getCaseCount", session).receive() else { return 0 }
    return Int(text) ?? 0
  }

  /// Returns every message until the server ends the case, which often means that it is an error.
  private static func run(_ url: String, _ session: HTTPSession) async {
    guard let socket = try? await open(url, session) else { return }
    do { for try await message in socket { try await socket.send(message) } } catch {}
    await socket.close()
  }

  private static func outcomes(in file: URL) throws -> [String: Outcome] {
    let limit = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < limit {
      if let data = try? Data(contentsOf: file),
        let index = try? JSONDecoder().decode([String: [String: Outcome]].self, from: data)
      {
        return index[agent] ?? [:]
      }
      usleep(50_000)  // the server writes its report after it has ended the connection
    }
    return [:]
  }
}
