import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Testing

/// The problem of an error (RFC 9457).
@Suite(.timeLimit(.minutes(5)))
struct ProblemTests {
  private static func failure(_ reply: Reply, _ expecting: StatusExpectation? = .successful) async throws -> HTTPError {
    let server = try LoopbackServer { _ in reply }
    let session = HTTPSession(transport: SocketTransport())
    let error = await #expect(throws: HTTPError.self) {
      try await session.data(for: HTTPRequest(.get, server.url), expecting: expecting)
    }
    return try #require(error)
  }

  private static func reply(_ type: MediaType, _ text: String) -> Reply {
    Reply(status: .forbidden, fields: [.contentType: type.description], content: Data(text.utf8))
  }

  @Test func anErrorHasTheProblemThatTheServerDescribes() async throws {
    let error = try await Self.failure(Self.reply(.problemJSON, #"{"type":"urn:x","title":"No credit","balance":30}"#))
    #expect(error.problem?.type == "urn:x" && error.problem?.title == "No credit")
    #expect(error.problem?.member("balance", as: Int.self) == 30)
    #expect(!"\(error)".contains("balance"))
  }

  @Test func anotherErrorHasNone() async throws {
    #expect(try await Self.failure(Self.reply(.json, "{}")).problem == nil)
    let long = #"{"title":"\#(String(repeating: "a", count: 70_000))"}"#
    #expect(try await Self.failure(Self.reply(.problemJSON, long)).problem == nil)
    #expect(HTTPError(.other, "").problem == nil)
  }
}
