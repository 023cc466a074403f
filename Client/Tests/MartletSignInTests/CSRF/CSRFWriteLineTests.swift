import CallDoubles
import MartletEngine
import MartletSemantics
import MartletSignIn
import MartletSockets
@_spi(Toolkit) import MartletTesting
import TestServers
import TestSupport
import Testing

/// Servers whose tokens end with the writes that use them.
@Suite("CSRF tokens that writes use up", .timeLimit(.minutes(5)))
struct CSRFWriteLineTests {
  private func session(_ server: RotatingServer) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.interceptors = [CSRFInterceptor(root: server.root)]
    return HTTPSession(transport: SocketTransport(), configuration: configuration)
  }

  private func post(_ body: String, to server: RotatingServer) -> HTTPRequest {
    HTTPRequest(.post, server.root.appending(path: "orders"), body: .data(Data(body.utf8)))
  }

  /// Sends this number of writes at the same time, and returns the statuses of their responses.
  private func statuses(of count: Int, to server: RotatingServer, _ session: HTTPSession) async throws -> [Int] {
    try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<count {
        group.addTask { try await session.data(for: post("\(number)", to: server)).1.status.code }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
  }

  private static let rules: [@Sendable (inout RotatingServer.Rules) -> Void] = [
    { _ in }, { $0.returnsTokens = true }, { $0.fetchesChangeToken = true }, { $0.endsSessions = true },
    { $0.writesPerToken = 3 }, { ($0.writesPerToken, $0.endsSessions) = (3, true) },
    { ($0.returnsTokens, $0.fetchesChangeToken) = (true, true) },
  ]

  @Test(arguments: rules.indices) func twentyWritesAtOnceAreAllAcceptedOnce(rule: Int) async throws {
    let server = try RotatingServer {
      Self.rules[rule](&$0)
      $0.together = 20
    }

    let statuses = try await statuses(of: 20, to: server, session(server))

    #expect(statuses == Array(repeating: 201, count: 20))
    #expect(server.accepted.count == 20)
    #expect(Set(server.accepted).count == 20)
    #expect(server.sent.values.allSatisfy { $0 <= 5 }, "\(server.sent)")
    #expect(server.fetches.count <= 22)
  }

  @Test(arguments: [(false, 3), (true, 1)])
  func oneWriteAfterAnotherNeedsNoMoreRequestsThanBefore(returnsTokens: Bool, fetches: Int) async throws {
    let server = try RotatingServer { $0.returnsTokens = returnsTokens }
    let session = session(server)
    for number in 0..<3 { #expect(try await session.data(for: post("\(number)", to: server)).1.status == .created) }
    #expect(server.fetches.count == fetches)
    #expect(server.sent.values.reduce(0, +) == (returnsTokens ? 3 : 5))
  }

  @Test func twentyWritesThatAreAlwaysRefusedNeedNoMoreRequestsThanBefore() async throws {
    let server = CSRFServer { request in
      request.method == .post ? .text("no", status: .forbidden).with("X-CSRF-Token", "Required") : nil
    }
    let session = server.session()
    let sent = Counter()
    await withTaskGroup(of: Int?.self) { group in
      for number in 0..<20 {
        group.addTask {
          let response = try? await session.data(for: CSRFServer.post("\(number)")).1
          for _ in 0...(response?.history.count ?? 9) { sent.next() }
          return response?.status.code
        }
      }
      for await status in group { #expect(status == 403) }
    }
    #expect(sent.value == 40)
    #expect(server.fetches.count <= 21)
  }

  @Test func aRefusedWriteWaitsNoLongerThanTheResponseTimeoutForAnotherOne() async throws {
    let (gate, arrived, clock) = (Gate(), Gate(), ManualClock())
    let server = CSRFServer { request in
      guard request.method == .post else { return nil }
      guard request.url.lastPathComponent == "slow" else {
        return .text("no", status: .forbidden).with("X-CSRF-Token", "Required")
      }
      arrived.open()
      try await gate.wait()
      return nil
    }
    let session = server.session(clock: clock)
    async let slow = session.data(for: CSRFServer.post("slow", "slow"))
    try await arrived.wait()
    async let refused = session.data(for: CSRFServer.post("refused"))
    try await clock.sleepers(1)
    clock.advance(by: .seconds(60))

    let response = try await refused.1
    #expect(response.status == .forbidden)
    #expect(response.history.count == 1)
    #expect(server.log.lines.contains { $0.hasPrefix("note: sent beside other writes") })
    gate.open()
    _ = try await slow
  }
}

/// Servers that require tokens and return none.
@Suite("CSRF tokens that cannot be fetched", .timeLimit(.minutes(5)))
struct TokenlessServerTests {
  private let clock = ManualClock()
  private let cookie = Awaitable<String?>(nil)

  private func server() throws -> LoopbackServer {
    try LoopbackServer { [cookie] request in
      guard request.method == .post else { return .text("no token") }
      let refusal = Reply.text("no", status: .forbidden).with("X-CSRF-Token", "Required")
      return cookie.value.map { refusal.with(.setCookie, "user=\($0); Path=/") } ?? refusal
    }
  }

  /// Sends a write, and returns the number of requests that the server got for it.
  private func requests(_ session: HTTPSession, to server: LoopbackServer) async throws -> Int {
    let before = server.requests.count
    let request = HTTPRequest(.post, server.url.appending(path: "orders"))
    #expect(try await session.data(for: request).1.status == .forbidden)
    return server.requests.count - before
  }

  private func session(_ server: LoopbackServer) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.clock = clock
    configuration.interceptors = [CSRFInterceptor(root: server.url)]
    return HTTPSession(transport: SocketTransport(), configuration: configuration)
  }

  /// HEAD and GET for the token, then the write.
  @Test func thePausesBetweenFetchesGrow() async throws {
    let server = try server()
    let session = session(server)
    for seconds in [0, 0, 1, 2, 4, 8, 16, 30, 30] {
      if seconds > 0 {
        clock.advance(by: .seconds(seconds) - .milliseconds(1))
        #expect(try await requests(session, to: server) == 1, "\(seconds)")
        clock.advance(by: .milliseconds(1))
      }
      #expect(try await requests(session, to: server) == 3, "\(seconds)")
    }
  }

  @Test func aTokenServiceThatFailedOnceIsAskedForTheNextWrite() async throws {
    let hasToken = Awaitable(false)
    let server = try LoopbackServer { request in
      guard request.method == .post else {
        return hasToken.value ? Reply.text("").with("X-CSRF-Token", "t") : .text("no token")
      }
      return request.fields["X-CSRF-Token"] == "t"
        ? .text("written") : Reply.text("no", status: .forbidden).with("X-CSRF-Token", "Required")
    }
    let session = session(server)
    #expect(try await requests(session, to: server) == 3)
    hasToken.update { $0 = true }

    let (_, response) = try await session.data(for: HTTPRequest(.post, server.url.appending(path: "orders")))

    #expect(response.status == .ok)
    #expect(server.requests.suffix(2).map(\.method) == [.head, .post])
  }

  @Test func newCookiesAreAReasonToAskAgain() async throws {
    let server = try server()
    let session = session(server)
    for count in [3, 3, 1] { #expect(try await requests(session, to: server) == count) }
    cookie.update { $0 = "anna" }
    // Refused with a new cookie, then two fetches; the pauses begin again.
    for count in [3, 3, 1] { #expect(try await requests(session, to: server) == count) }
  }
}
