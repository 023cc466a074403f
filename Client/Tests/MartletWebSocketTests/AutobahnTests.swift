import Foundation
import MartletEngine
import MartletSockets
import MartletTesting
import TestServers
import TestSupport
import Testing

/// The quick cases of Autobahn's test suite. `make interop` also runs those of compression; with `AUTOBAHN=all`, also
/// thousands of large messages.
@Suite(.timeLimit(.minutes(5)))
struct AutobahnTests {
  /// Where `make interop` has installed it, or in PATH.
  private static let kosoku: String? = {
    let installed = projectFolder.appending(path: "Interop/.build/python/bin/kosoku").path
    return access(installed, X_OK) == 0 ? installed : try? ChildProcess.path(of: "kosoku")
  }()

  @Test(.enabled(if: kosoku != nil, "kosoku is missing: run `make interop` once, or `pip install kosoku`"))
  func everyQuickCasePassesStrictly() async throws {
    let suite = try AutobahnSuite(kosoku: try #require(Self.kosoku), without: ["12.*", "13.*"])
    let outcomes = try await suite.run(HTTPSession(transport: SocketTransport()))
    #expect(outcomes.count == 301)
    for (number, outcome) in outcomes {
      let expected = AutobahnSuite.informational.contains(number) ? ["OK", "INFORMATIONAL"] : ["OK"]
      #expect(expected.contains(outcome.behavior), "case \(number)")
      #expect(expected.contains(outcome.behaviorClose), "the end of case \(number)")
    }
  }
}
