import CallDoubles
@_spi(Credentials) import MartletEngine
import MartletSemantics
@_spi(Toolkit) import MartletTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct EarlyRenewalTests {
  /// The server refuses a token that another request renews because it expires soon, and the renewal fails.
  @Test func aTokenThatWasRefusedDuringItsEarlyRenewalIsNotSentAgain() async throws {
    let start = Date(timeIntervalSince1970: 1_000_000_000)
    let (time, renewing, gate) = (Awaitable(start), Gate(), Gate())
    let source = TokenSource(
      AccessToken("old", expires: start.addingTimeInterval(100)), for: .origin(of: origin), now: { time.value }
    ) { _ in
      renewing.open()
      try await gate.wait()
      throw HTTPError(.connectionLost, "lost")
    }
    let (request, call) = (HTTPRequest(.get, url("http://a.example/x")), Call())
    let sent = try await source.authorize(request, in: call)
    time.update { $0 += 80 }
    let early = Task { try await source.authorize(request, in: Call()) }
    try await renewing.wait()
    let executor = WatchedExecutor()
    let refused = Task(executorPreference: executor) {
      let rejection = try #require(Rejection(of: sent, by: ResponseHead(status: .unauthorized)))
      return try await source.authenticate(after: rejection, in: call)
    }
    try await executor.idle()
    gate.open()

    #expect(await #expect(throws: HTTPError.self) { try await refused.value }?.kind == .connectionLost)
    #expect(await #expect(throws: HTTPError.self) { try await early.value }?.kind == .connectionLost)
  }

  /// Many requests wait for the early renewal that fails, and the first to go on causes the next one.
  @Test func theNextEarlyRenewalFailsNoneOfTheWaiters() async throws {
    let start = Date(timeIntervalSince1970: 1_000_000_000)
    let (time, rounds, gate, last) = (Awaitable(start), Awaitable(0), Gate(), Gate())
    let source = TokenSource(
      AccessToken("old", expires: start.addingTimeInterval(100)), for: .origin(of: origin), now: { time.value }
    ) { _ in
      var isFirst = false
      rounds.update {
        $0 += 1
        isFirst = $0 == 1
      }
      try await (isFirst ? gate : last).wait()
      throw HTTPError(.connectionLost, "lost")
    }
    time.update { $0 += 80 }
    let request = HTTPRequest(.get, url("http://a.example/x"))
    let executor = WatchedExecutor()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<100 {
        group.addTask(executorPreference: executor) {
          let sent = try await source.authorize(request, in: Call())
          #expect(sent.fields[.authorization] == "Bearer old")
          // It starts the next renewal, which goes on while the others continue.
          Task { _ = try? await source.authorize(request, in: Call()) }
        }
      }
      try await executor.idle()
      gate.open()
      try await group.waitForAll()
    }
    last.open()
  }
}
