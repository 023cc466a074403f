#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import TestSupport
import Testing

/// A call over sockets ends at its deadline, whatever it waits for.
@Suite(.timeLimit(.minutes(5)))
struct CallDeadlineTests {
  enum Place: String, CaseIterable, Sendable { case connection, head, body }

  @Test(arguments: Place.allCases)
  func theDeadlineEndsTheCallAndTheNextOneIsAnswered(_ place: Place) async throws {
    let go = Gate()
    let hasBegun = Gate()
    let server = try LoopbackServer { request in
      switch request.path {
      case "/head":
        hasBegun.open()
        return .text("late").held(by: go)
      case "/body": return .text("part and rest").stalled(after: 4, until: go)
      default: return .text("here")
      }
    }
    var connection = ConnectionConfiguration()
    if place == .connection { connection.connectionLimitPerHost = 1 }
    let session = HTTPSession(transport: SocketTransport(connection))
    let first = Task {
      if place == .connection { _ = try await session.data(for: HTTPRequest(.get, server.url("/head"))) }
    }
    if place == .connection { try await hasBegun.wait() }
    var request = HTTPRequest(.get, server.url(place == .body ? "/body" : place == .head ? "/head" : "/other"))
    request.options.deadline = .milliseconds(200)

    let error = await #expect(throws: HTTPError.self) { try await session.data(for: request) }

    #expect(error?.kind == .deadlineExceeded)
    go.open()
    try await first.value
    #expect(try await session.data(for: HTTPRequest(.get, server.url("/next"))).0 == Data("here".utf8))
  }
}
#endif
