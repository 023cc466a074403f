import Foundation
package import MartletEngine
import MartletSemantics
import MartletTesting
import MartletWebSocket

/// The cases of Autobahn's test suite, which kosoku runs as a server: RFC 6455 and permessage-deflate.
package final class AutobahnSuite: Sendable {
  package let port: Int
  private let kosoku: String
  private let folder: TemporaryFolder
  private let process: RealProcess

  /// What the server reports of a case.
  package struct Outcome: Decodable, Sendable {
    package let behavior: String
    package let behaviorClose: String
  }

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - kosoku: the path of the program.
  ///   - included: the cases that are run; all if there are none.
  ///   - excluded: the cases that are not run, such as `12.*`.
  package init(kosoku: String, only included: [String] = [], without excluded: [String] = []) throws {
    self.kosoku = kosoku
    port = try LocalPort.free()
    folder = try TemporaryFolder()
    process = try RealProcess(
      kosoku,
      ["-m", "fuzzingserver", "127.0.0.1:\(port)", "-o", folder.url.path] + included.flatMap { ["-i", $0] }
        + excluded.flatMap { ["-x", $0] }, port: port)
  }

  /// Cases whose behaviour nothing prescribes.
  package static let informational: Set = ["7.1.6", "7.13.1", "7.13.2"]

  private static let agent = "martlet"

  /// Runs the cases, and returns what the server reports of each. The server exits afterwards.
  ///
  /// - Parameters:
  ///   - session: makes the connections.
  ///   - front: a server that passes on WebSockets to this one; nil for none.
  package func run(_ session: HTTPSession, through front: String? = nil) async throws -> [String: Outcome] {
    var outcomes = try await runOnce(session, at: front ?? "ws://127.0.0.1:\(port)")
    guard front == nil else { return outcomes }
    for _ in 1...3 {
      let late = outcomes.keys.filter { Self.isLate($0, outcomes) }
      if late.isEmpty { break }
      let again = try AutobahnSuite(kosoku: kosoku, only: late)
      outcomes.merge(try await again.runOnce(session, at: "ws://127.0.0.1:\(again.port)")) { $1 }
    }
    return outcomes
  }

  /// Whether a case gets another try: kosoku ends the cases of UTF-8 after half a second, which is too short on a busy
  /// machine.
  private static func isLate(_ number: String, _ outcomes: [String: Outcome]) -> Bool {
    guard number.hasPrefix("6."), let outcome = outcomes[number] else { return false }
    return outcome.behavior != "OK" || outcome.behaviorClose != "OK"
  }

  private func runOnce(_ session: HTTPSession, at base: String) async throws -> [String: Outcome] {
    guard case .string(let text) = try await Self.open("\(base)/getCaseCount", session).receive(),
      let count = Int(text), count > 0
    else { throw RealServerError("kosoku has no cases") }
    await withTaskGroup(of: Void.self) { group in
      for number in 1...count {
        if number > 4 { await group.next() }
        group.addTask { await Self.run("\(base)/runCase?case=\(number)&agent=\(Self.agent)", session) }
      }
    }
    // It ends the connection when the report is complete.
    _ = try? await Self.open("\(base)/updateReports?agent=\(Self.agent)", session).receive()
    return try outcomes(count: count)
  }

  private static func open(_ url: String, _ session: HTTPSession) async throws -> WebSocket {
    var options = WebSocket.Options()
    options.messageLimit = 64 << 20
    options.dropTimeout = options.closeTimeout  // On a busy machine, the suite may take long to end a connection.
    options.compression?.resetsSentContext = true  // without this offer, 54 cases do not run
    return try await session.webSocket(for: HTTPRequest(.get, url), options: options)
  }

  /// Returns every message until the server ends the case, which often means that it is an error.
  private static func run(_ url: String, _ session: HTTPSession) async {
    guard let socket = try? await open(url, session) else { return }
    do { for try await message in socket { try await socket.send(message) } } catch {}
    await socket.close()
  }

  private func outcomes(count: Int) throws -> [String: Outcome] {
    let limit = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < limit {
      if let data = try? Data(contentsOf: folder.file("index.json")),
        let index = try? JSONDecoder().decode([String: [String: Outcome]].self, from: data),
        let outcomes = index[Self.agent]
      {
        guard outcomes.count == count else {
          throw RealServerError("kosoku reports \(outcomes.count) of \(count) cases")
        }
        return outcomes
      }
      usleep(50_000)  // the server writes its report after it has ended the connection
    }
    throw RealServerError("kosoku has written no report")
  }
}
