import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5)))
struct EventSourceTests {
  private let session = HTTPSession(transport: SocketTransport())

  private func stream(_ text: String) -> Reply { .data(Data(text.utf8), type: "text/event-stream") }

  @Test func eventArrivesBeforeTheStreamEnds() async throws {
    let gate = Gate()
    let first = "data: first\n\n"
    let server = try LoopbackServer { [stream = stream(first + "data: second\n\n")] _ in
      stream.chunked().stalled(after: Int64(first.utf8.count), until: gate)
    }
    var events = session.events(for: HTTPRequest(.get, server.url)).makeAsyncIterator()

    #expect(try await events.next()?.data == "first")
    gate.open()
    #expect(try await events.next()?.data == "second")
  }

  @Test func brokenConnectionsAreReopened() async throws {
    let server = try LoopbackServer { [stream = stream("retry: 1\nid: 7\ndata: a\n\ndata: never\n")] request in
      switch request.fields["Last-Event-ID"] {
      case nil: stream.truncated(after: 30)
      case "7" where request.connection < 3: .hangUp
      default: .status(.noContent)
      }
    }
    let seen = Mutex<[String]>([])
    var request = HTTPRequest(.get, server.url)
    request.options.retryPolicy.random = { 0 }
    for try await event in session.events(for: request) {
      seen.withLock { $0.append(event.data) }
    }

    #expect(seen.withLock { $0 } == ["a"])
    #expect(server.requests.map { $0.fields["Last-Event-ID"] }.first == .some(nil))
    #expect(server.requests.count > 2)
    #expect(server.requests.dropFirst().allSatisfy { $0.fields["Last-Event-ID"] == "7" })
  }

  @Test func aStreamSurvivesADeployment() async throws {
    let server = try LoopbackServer { [stream = stream("retry: 1\nid: 7\ndata: a\n\n")] request in
      switch request.connection {
      case 1: stream.with(.connection, "close")
      case 2, 3: Reply.text("deploying", status: .serviceUnavailable).with(.connection, "close")
      case 4: stream.with(.connection, "close")
      default: .status(.noContent)
      }
    }
    var request = HTTPRequest(.get, server.url)
    request.options.retryPolicy.random = { 0 }
    var events = session.events(for: request)
    events.reconnectStatuses = ServerSentEvents.temporaryStatuses
    var count = 0
    for try await _ in events { count += 1 }
    #expect(count == 2)
    #expect(server.requests.count == 5)
  }

  @Test func releasingTheEventsClosesTheConnection() async throws {
    let server = try LoopbackServer { [stream = stream("data: a\n\n")] _ in stream.chunked().stalled(after: 9) }
    for try await event in session.events(for: HTTPRequest(.get, server.url)) {
      #expect(event.data == "a")
      break
    }
    #expect(try await server.end(ofConnection: 1) == .client)
  }
}
