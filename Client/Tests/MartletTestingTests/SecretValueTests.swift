import Martlet
import MartletTesting
import TestSupport
import Testing

@testable import MartletServer

/// Values of servers and mocks. Messages of WebSockets are shown: they are the content that a program asked for.
@Suite(.timeLimit(.minutes(5))) struct SecretValueTests {
  private static let fields: HTTPFields = [.authorization: "hidden", .cookie: "a=hidden"]
  private static let body = Data("token=hidden".utf8)

  private static func request(to server: LoopbackServer) -> HTTPRequest {
    HTTPRequest(.post, server.url("/x?token=hidden"), fields: fields, body: .data(body))
  }

  private static func serverValues() async throws -> [(name: String, value: Any)] {
    let shownRequest = Log<Bool>()
    let server = try LoopbackServer { request in
      shownRequest.append(showsSecret(request))
      return .text("hidden")
    }
    _ = try await HTTPSession().data(for: request(to: server))
    #expect(shownRequest.entries == [false], "LoopbackRequest")
    let frame = LoopbackWebSocket.Frame(opcode: 1, payload: body, isFinal: true, isCompressed: false, mask: 0)
    return [
      ("LoopbackServer", server), ("HTTP2Frame", HTTP2Frame(0, payload: body)),
      ("Reply.sendingFrames", Reply.text("").sendingFrames([HTTP2Frame(0, payload: body)])),
      ("ReceivedRequest", try #require(server.requests.first)),
      ("Reply", Reply(fields: [.setCookie: "a=hidden"], content: body)), ("Reply.raw", Reply.raw("hidden")),
      ("Reply.repeating", Reply.repeating(body, length: 12)), ("LoopbackWebSocket.Frame", frame),
    ]
  }

  private static func mockValues() async throws -> [(name: String, value: Any)] {
    let shownRequest = Log<Bool>()
    let mock = MockTransport { request in
      shownRequest.append(showsSecret(request))
      return .text("hidden").with(.setCookie, "a=hidden")
    }
    let recording = RecordingTransport(around: mock)
    let request = HTTPRequest(.post, secretURL, fields: fields, body: .data(body))
    _ = try await HTTPSession(transport: recording).data(for: request)
    #expect(shownRequest.entries.allSatisfy { !$0 }, "MockRequest")
    return [
      ("MockTransport", mock), ("RecordingTransport", recording),
      ("RecordingTransport.Record", try #require(recording.records.first)),
      ("MockResponse", MockResponse(fields: [.setCookie: "a=hidden"], content: body)),
    ]
  }

  @Test func publicValuesShowNoSecrets() async throws {
    for (name, value) in try await Self.serverValues() + Self.mockValues() {
      #expect(!showsSecret(value), "\(name)")
    }
  }
}
