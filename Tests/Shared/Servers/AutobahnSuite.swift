import Foundation
package import MartletEngine
import MartletSemantics
import MartletTesting
import MartletWebSocket

/// The cases of Autobahn's test suite, which kosoku runs as a server: RFC 6455 and permessage-deflate.
package final class AutobahnSuite: Sendable {
  package let port: Int
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
  ///   - excluded: the cases that are not run, such as `12.*`.
  package init(kosoku: String, without excluded: [String] = []) throws {
    port = try LocalPort.free()
    folder = try TemporaryFolder()
    process = try RealProcess(
      kosoku,
      ["-m", "fuzzingserver", "127.0.0.1:\(port)", "-o", folder.url.path] + excluded.flatMap { ["-x", $0] }, port: port)
  }

  /// Cases whose behaviour nothing prescribes.
  package static let informational: Set = ["7.1.6", "7.13.1", "7.13.2"]

  private static let agent = "martlet"

  /// Runs all cases, and returns what the server reports of each.
  ///
  /// - Parameters:
  ///   - session: makes the connections.
  ///   - front: a server that passes on WebSockets to this one; nil for none.
  package func run(_ session: HTTPSession, through front: String? = nil) async throws -> [String: Outcome] {
    let base = front ?? "ws://127.0.0.1:\(port)"
    guard case .string(let text) = try await Self.open("\(base)/getCaseCount", session).receive(),
      let count = Int(text), count > 0
    else { throw RealServerError("kosoku has no cases") }
    await withTaskGroup(of: Void.self) { group in
      for number in 1...count {
        if number > 4 { await group.next() }
        group.addTask { await Self.run("\(base)/runCase?case=\(number)&agent=\(Self.agent)", session) }
      }
    }
    var outcomes = try await report(of: count, at: base, session)
    for _ in 1...3 {
      let late = Self.late(outcomes)
      if late.isEmpty { break }
      for number in late { await Self.run("\(base)/runCase?case=\(number)&agent=\(Self.agent)", session) }
      outcomes = try await report(of: count, at: base, session)
    }
    return outcomes
  }

  /// The positions of cases that get another try, one by one: kosoku ends the cases of UTF-8 after half a second, which
  /// is too short on a busy machine.
  private static func late(_ outcomes: [String: Outcome]) -> [Int] {
    let numbers = outcomes.keys.sorted { $0.compare($1, options: .numeric) == .orderedAscending }
    return numbers.indices.filter { index in
      guard numbers[index].hasPrefix("6."), let outcome = outcomes[numbers[index]] else { return false }
      return outcome.behavior != "OK" || outcome.behaviorClose != "OK"
    }.map { $0 + 1 }
  }

  private func report(of count: Int, at base: String, _ session: HTTPSession) async throws -> [String: Outcome] {
    try? FileManager.default.removeItem(at: folder.file("index.json"))
    var failure: (any Error)?
    for _ in 1...3 {
      // It ends the connection when the report is complete.
      do {
        _ = try await Self.open("\(base)/updateReports?agent=\(Self.agent)", session).receive()
      } catch { failure = error }
      if let outcomes = try outcomes(count: count) { return outcomes }
    }
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.url.path).count) ?? 0
    throw RealServerError("kosoku has written no report, but \(files) files: \(failure.map { "\($0)" } ?? "no error")")
  }

  private static func open(_ url: String, _ session: HTTPSession) async throws -> WebSocket {
    var options = WebSocket.Options()
    options.messageLimit = 64 << 20
    options.compression?.resetsSentContext = true  // without this offer, 54 cases do not run
    return try await session.webSocket(for: HTTPRequest(.get, url), options: options)
  }

  /// Returns every message until the server ends the case, which often means that it is an error.
  private static func run(_ url: String, _ session: HTTPSession) async {
    guard let socket = try? await open(url, session) else { return }
    do { for try await message in socket { try await socket.send(message) } } catch {}
    await socket.close()
  }

  /// Waits for the report; nil if the server writes none.
  private func outcomes(count: Int) throws -> [String: Outcome]? {
    let limit = ContinuousClock.now + .seconds(20)
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
    return nil
  }
}
