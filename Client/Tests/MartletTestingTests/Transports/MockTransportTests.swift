import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct MockTransportTests {
  private func request(_ path: String = "/", body: RequestBody = .empty) throws -> HTTPRequest {
    HTTPRequest(.post, url("http://example.com\(path)"), body: body)
  }

  @Test func aClosureAnswers() async throws {
    let transport = MockTransport { .text("hello \($0.url.path)").with(.setCookie, "a=1").with(.setCookie, "b=2") }
    let response = try await transport.send(request("/there"), in: Call())
    #expect(response.status == 200)
    #expect(response.url.absoluteString == "http://example.com/there")
    #expect(response.networkHead?.fields[values: .setCookie] == ["a=1", "b=2"])
    #expect(try await response.body.collect(upTo: 100) == Data("hello /there".utf8))
  }

  @Test func theTransportRethrowsTheClosuresError() async throws {
    let transport = MockTransport { _ in throw HTTPError(.connectionLost, "gone") }
    let failure = await #expect(throws: HTTPError.self) { _ = try await transport.send(request(), in: Call()) }
    #expect(failure?.kind == .connectionLost)
  }

  @Test func theResponseTimeoutEndsAClosureThatIgnoresCancellation() async throws {
    let clock = ManualClock()
    let gate = Gate()
    let transport = MockTransport(clock: clock) { _ in
      await Task { try? await gate.wait() }.value
      return .text("late")
    }
    var late = try request()
    late.options.responseTimeout = .seconds(30)
    let call = Task { [late] in try await transport.send(late, in: Call()) }
    try await clock.sleepers(1)

    clock.advance(by: .seconds(30))

    let failure = await #expect(throws: HTTPError.self) { _ = try await call.value }
    #expect(failure?.kind == .responseTimeout)
    gate.open()
  }

  @Test func cancellingEndsTheCallAtOnce() async throws {
    let gate = Gate()
    let (started, finished) = (Gate(), Gate())
    let transport = MockTransport { _ in
      started.open()
      await Task { try? await gate.wait() }.value
      finished.open()
      return .text("late")
    }
    let call = Task { try await transport.send(request(), in: Call()) }
    try await started.wait()

    call.cancel()

    await #expect(throws: CancellationError.self) { _ = try await call.value }
    #expect(!finished.isOpen)
    gate.open()
    try await finished.wait()
  }

  @Test func theBodyIsReadOnDemandAndReportedAsProgress() async throws {
    let sent = Mutex<[Int64]>([])
    let call = Call(listeners: [
      EventHandler { event, _ in
        guard case .progress(let progress) = event, progress.direction == .sent, progress.total == 5 else { return }
        sent.withLock { $0.append(progress.completed) }
      }
    ])
    let transport = MockTransport { .data(try await $0.readBody()) }
    let body = RequestBody.stream(length: 5) {
      AsyncStream { continuation in
        for chunk in ["he", "llo"] { continuation.yield(Data(chunk.utf8)) }
        continuation.finish()
      }
    }

    let response = try await transport.send(request(body: body), in: call)

    #expect(try await response.body.collect(upTo: 100) == Data("hello".utf8))
    #expect(sent.withLock { $0 } == [2, 5])
  }

  @Test func everyChunkOfTheBodyRestartsTheTimeout() async throws {
    let clock = ManualClock()
    let (first, second) = (Gate(), Gate())
    let body = RequestBody.stream {
      AsyncStream { continuation in
        let feeding = Task {
          try await first.wait()
          continuation.yield(Data("a".utf8))
          try await second.wait()
          continuation.finish()
        }
        continuation.onTermination = { _ in feeding.cancel() }
      }
    }
    let moved = Gate()
    let call = Call(listeners: [
      EventHandler { event, _ in if case .progress = event { moved.open() } }
    ])
    let transport = MockTransport(clock: clock) { .data(try await $0.readBody()) }
    var slow = try request(body: body)
    slow.options.responseTimeout = .seconds(10)
    let sending = Task { [slow] in try await transport.send(slow, in: call) }
    try await clock.sleepers(1)

    clock.advance(by: .seconds(9))
    first.open()
    try await moved.wait()
    clock.advance(by: .seconds(9))
    try await clock.sleepers(1)
    second.open()

    #expect(try await sending.value.body.collect(upTo: 10) == Data("a".utf8))
  }

  @Test func aBodyOverTheLimitIsAnError() async throws {
    let transport = MockTransport { .data(try await $0.readBody(upTo: 2)) }
    let failure = await #expect(throws: HTTPError.self) {
      _ = try await transport.send(request(body: .data(Data("abc".utf8))), in: Call())
    }
    #expect(failure?.kind == .bodyTooLarge)
  }

  @Test func informationalResponsesAreEvents() async throws {
    let seen = Mutex<[HTTPStatus]>([])
    let call = Call(listeners: [
      EventHandler { event, _ in if case .informational(let head) = event { seen.withLock { $0.append(head.status) } } }
    ])
    let transport = MockTransport { _ in
      var response = MockResponse.text("x")
      response.interim = [ResponseHead(status: .earlyHints)]
      return response
    }
    _ = try await transport.send(request(), in: call)
    #expect(seen.withLock { $0 } == [.earlyHints])
  }

  @Test func aScriptAnswersInOrderAndThrowsWhenItIsUsedUp() async throws {
    let script = ScriptedTransport(.status(503), .failure(HTTPError(.connectionLost, "gone")), .text("at last"))
    #expect(try await script.send(request(), in: Call()).status == 503)
    await #expect(throws: HTTPError.self) { _ = try await script.send(request(), in: Call()) }
    #expect(script.remaining == 1)
    #expect(try await script.send(request(), in: Call()).status == 200)

    let failure = await #expect(throws: HTTPError.self) {
      _ = try await script.send(request("/more?secret=1"), in: Call())
    }

    #expect(failure?.message.contains("request 4, POST http://example.com/more?…") == true)
    #expect(script.remaining == 0)
    #expect(script.requests.count == 4)
  }

  @Test func aRecordingTransportRecordsRequestsAndOutcomes() async throws {
    let recording = RecordingTransport(around: ScriptedTransport(.status(204), .failure(HTTPError(.tlsFailed, "no"))))
    _ = try await recording.send(request("/1"), in: Call())
    await #expect(throws: HTTPError.self) { _ = try await recording.send(request("/2"), in: Call()) }

    #expect(recording.records.map(\.request.url.path) == ["/1", "/2"])
    #expect(recording.records[0].response?.status == 204)
    #expect((recording.records[1].error as? HTTPError)?.kind == .tlsFailed)
    #expect(try await recording.request(2).url.path == "/2")
  }
}
