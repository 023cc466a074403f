import CallDoubles
import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// Bodies with a maximum and a minimum rate.
@Suite(.timeLimit(.minutes(5)))
struct BodyRateTests {
  private let clock = ManualClock()

  private func session(_ transport: any Transport) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.clock = clock
    configuration.cache = nil
    return HTTPSession(transport: transport, configuration: configuration)
  }

  private func request(_ change: (inout RequestOptions) -> Void) -> HTTPRequest {
    var request = HTTPRequest(.get, origin)
    change(&request.options)
    return request
  }

  /// The times, in tenths of a second, at which a reader has got the chunks.
  private func times(_ body: ResponseBody, count: Int) async throws -> [Duration] {
    let times = Mutex<[Duration]>([])
    let start = clock.now
    let reader = Task { [clock] in
      for try await _ in body { times.withLock { $0.append(start.duration(to: clock.now)) } }
    }
    for _ in 1..<count {
      try await clock.sleepers(1)
      clock.advance(by: clock.pendingWakeUps[0])
    }
    try await reader.value
    return times.withLock { $0 }
  }

  // MARK: - The maximum

  @Test func aResponseIsReadAtTheRate() async throws {
    let share = RateShare(bytesPerSecond: 1000, clock: clock)
    let session = session(ScriptedTransport(.data(Data(count: 350), type: "text/plain")))
    let (body, _) = try await session.bytes(for: request { $0.maximumRate = share })
    #expect(try await times(body, count: 4) == [.zero, .milliseconds(100), .milliseconds(200), .milliseconds(300)])
  }

  @Test func aRequestsBodyIsSentAtTheRate() async throws {
    let chunks = Mutex<[(Int, Duration)]>([])
    let start = clock.now
    let transport = TestTransport { [clock] request in
      let body = try await request.body.open()
      #expect(body.length == 250)
      while let chunk = try await body.source.next() {
        chunks.withLock { $0.append((chunk.count, start.duration(to: clock.now))) }
      }
      return .text("ok")
    }
    var request = request { $0.maximumRate = RateShare(bytesPerSecond: 1000, clock: clock) }
    request.body = .data(Data(count: 250))
    let call = Task { [session = session(transport), request] in try await session.bytes(for: request) }
    for _ in 0..<2 {
      try await clock.sleepers(1)
      clock.advance(by: .milliseconds(100))
    }
    _ = try await call.value
    #expect(chunks.withLock { $0.map(\.0) } == [100, 100, 50])
    #expect(chunks.withLock { $0.map(\.1) } == [.zero, .milliseconds(100), .milliseconds(200)])
  }

  /// Two requests have the rate together.
  @Test func aShareIsForAllItsRequests() async throws {
    let share = RateShare(bytesPerSecond: 1000, clock: clock)
    let answer = MockResponse.data(Data(count: 200), type: "text/plain")
    let session = session(ScriptedTransport(answer, answer))
    let request = request { $0.maximumRate = share }
    let calls = try await [session.bytes(for: request).0, session.bytes(for: request).0].map { body in
      Task { try await body.collect(upTo: 1000).count }
    }
    for _ in 0..<3 {
      try await clock.sleepers(1)
      clock.advance(by: .milliseconds(100))
    }
    for call in calls { #expect(try await call.value == 200) }
    #expect(clock.now.elapsed == .milliseconds(300))
  }

  @Test func cancellationEndsTheWait() async throws {
    let share = RateShare(bytesPerSecond: 1, clock: clock)
    let session = session(ScriptedTransport(.data(Data(count: 100), type: "text/plain")))
    let call = Task { [request = request { $0.maximumRate = share }] in try await session.data(for: request) }
    try await clock.sleepers(1)
    call.cancel()
    #expect(await #expect(throws: HTTPError.self) { try await call.value }?.kind == .cancelled)
  }

  @Test func aDeadlineEndsTheWait() async throws {
    let session = session(ScriptedTransport(.data(Data(count: 100), type: "text/plain")))
    let request = request {
      $0.maximumRate = RateShare(bytesPerSecond: 1, clock: clock)
      $0.deadline = .seconds(5)
    }
    let call = Task { try await session.data(for: request) }
    for _ in 0..<5 {
      try await clock.sleepers(2)
      clock.advance(by: .seconds(1))
    }
    #expect(await #expect(throws: HTTPError.self) { try await call.value }?.kind == .deadlineExceeded)
  }

  // MARK: - The minimum

  @Test func aBodyThatStallsFailsAfterTheSpan() async throws {
    let (gate, never) = (Gate(), Gate())
    let transport = TestTransport { _ in
      HTTPResponse(status: .ok, body: ResponseBody(from: GatedBody([gate, never])), url: origin)
    }
    let request = request { $0.minimumRate = MinimumRate(bytesPerSecond: 100, over: .seconds(10)) }
    let call = Task { [session = session(transport)] in try await session.data(for: request) }
    try await clock.sleepers(1)
    #expect(clock.pendingWakeUps == [.seconds(10)])
    clock.advance(by: .seconds(9))
    gate.open()  // 1000 bytes
    try await clock.sleepers(1)
    try await until { clock.pendingWakeUps == [.seconds(10)] }
    clock.advance(by: .seconds(10))
    let error = await #expect(throws: HTTPError.self) { try await call.value }
    #expect(error?.kind == .tooSlow)
    #expect(error?.message == "the body arrived with fewer than 100 bytes a second for 10 s: see minimumRate")
    #expect(error?.phase == .receiving)
  }

  /// The time of a slow reader does not count.
  @Test func aSlowReaderDoesNotMakeATransferTooSlow() async throws {
    let gates = [Gate(), Gate(), Gate()]
    for gate in gates { gate.open() }
    let transport = TestTransport { _ in
      HTTPResponse(status: .ok, body: ResponseBody(from: GatedBody(gates)), url: origin)
    }
    let request = request { $0.minimumRate = MinimumRate(bytesPerSecond: 100, over: .seconds(10)) }
    let (body, _) = try await session(transport).bytes(for: request)
    var count = 0
    for try await chunk in body {
      count += chunk.count
      clock.advance(by: .seconds(60))
    }
    #expect(count == 3000)
  }

  @Test func anUploadThatStallsFailsAfterTheSpan() async throws {
    let never = Gate()
    let transport = TestTransport { request in
      let body = try await request.body.open()
      _ = try await body.source.next()
      try await never.wait()
      return .text("ok")
    }
    var request = request { $0.minimumRate = MinimumRate(bytesPerSecond: 100, over: .seconds(10)) }
    request.body = .data(Data(count: 500))
    let call = Task { [session = session(transport), request] in try await session.data(for: request) }
    let error = HTTPError(
      wrapping: try await #require(
        #expect(throws: (any Error).self) {
          try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { _ = try await call.value }
            group.addTask { [clock] in
              while true {
                try await clock.sleepers(1)
                clock.advance(by: clock.pendingWakeUps.first ?? .zero)
              }
            }
            defer { group.cancelAll() }
            try await group.next()
          }
        }))
    #expect(error.kind == .tooSlow)
    #expect(error.phase == .sending)
    #expect(clock.now.elapsed >= .seconds(10) && clock.now.elapsed <= .seconds(22))
  }

  /// The server's time before its response does not count.
  @Test func aSlowAnswerToAnUploadIsNotTooSlow() async throws {
    let answer = Gate()
    let transport = TestTransport { request in
      let body = try await request.body.open()
      while try await body.source.next() != nil {}
      try await answer.wait()
      return .text("ok")
    }
    var request = request { $0.minimumRate = MinimumRate(bytesPerSecond: 100, over: .seconds(10)) }
    request.body = .data(Data(count: 500))
    let call = Task { [session = session(transport), request] in try await session.data(for: request) }
    clock.advance(by: .seconds(600))
    answer.open()
    #expect(try await String(decoding: call.value.0, as: UTF8.self) == "ok")
  }

  // MARK: - Over the network

  /// A slow download continues over another connection.
  @Test func aDownloadThatIsTooSlowIsResumed() async throws {
    let content = Data((0..<4000).map { UInt8(truncatingIfNeeded: $0) })
    let server = try LoopbackServer { request in
      let fields: HTTPFields = [.eTag: "\"1\"", .acceptRanges: "bytes"]
      guard request.fields[.range] == "bytes=1000-" else {
        return Reply(fields: fields, content: content).stalled(after: 1000)
      }
      return Reply(status: .partialContent, fields: fields, content: content.dropFirst(1000))
        .with(.contentRange, "bytes 1000-3999/4000")
    }
    let folder = try TemporaryFolder()
    var request = HTTPRequest(.get, server.url)
    request.options.minimumRate = MinimumRate(bytesPerSecond: 10_000, over: .seconds(1))
    request.options.downloadResumptions = 1
    let session = HTTPSession(transport: SocketTransport())
    _ = try await session.download(for: request, to: folder.file("file"))
    #expect(try Data(contentsOf: folder.file("file")) == content)
    #expect(server.requests.count == 2)
  }

  @Test func aLargeBodyIsReadAtTheRate() async throws {
    let server = try LoopbackServer { _ in Reply(content: Data(count: 8 << 20)) }
    var request = HTTPRequest(.get, server.url)
    request.options.maximumRate = RateShare(bytesPerSecond: 100_000)
    let start = ContinuousClock.now
    let (body, _) = try await HTTPSession(transport: SocketTransport()).bytes(for: request)
    var count = 0
    for try await chunk in body {
      count += chunk.count
      if count >= 50_000 { break }
    }
    #expect(count <= 60_000)
    #expect(ContinuousClock.now - start >= .milliseconds(390))
  }
}

/// A body of a thousand bytes for each gate, when it is open.
private final class GatedBody: BodySource {
  private let gates: Mutex<[Gate]>

  init(_ gates: [Gate]) { self.gates = Mutex(gates) }

  func next() async throws -> Data? {
    guard let gate = gates.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return nil }
    try await gate.wait()
    return Data(count: 1000)
  }
}
