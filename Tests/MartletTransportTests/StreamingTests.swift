import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

extension TransportContract {
  /// Bodies are pulled: nothing waits for the end, and whoever takes nothing makes the sender wait.
  @Suite(.timeLimit(.minutes(5)))
  struct StreamingTests {
    @Test(arguments: Wire.real)
    func returnsAtTheHeadWhileTheBodyIsStillToCome(_ wire: Wire) async throws {
      let gate = Gate()
      let server = try LoopbackServer { _ in .data(pattern(100)).stalled(after: 0, until: gate) }
      let response = try await wire.makeTransport().send(guarded(.get, server.url("/")), in: Exchange())
      #expect(response.status == .ok)
      #expect(!gate.isOpen)
      gate.open()
      #expect(try await response.body.collect(upTo: 1000) == pattern(100))
    }

    @Test(arguments: Wire.real)
    func chunksArePulledAsTheyCome(_ wire: Wire) async throws {
      let gates = [Gate(), Gate()]
      let server = try LoopbackServer { _ in
        .data(pattern(30)).stalled(after: 10, until: gates[0]).stalled(after: 20, until: gates[1])
      }
      let response = try await wire.makeTransport().send(guarded(.get, server.url("/")), in: Exchange())
      var iterator = response.body.makeAsyncIterator()
      #expect(try await iterator.next() == pattern(10))
      gates[0].open()
      #expect(try await iterator.next() == pattern(10, from: 10))
      gates[1].open()
      #expect(try await iterator.next() == pattern(10, from: 20))
      #expect(try await iterator.next() == nil)
      #expect(try await iterator.next() == nil)
    }

    @Test(arguments: Wire.real)
    func slowReaderPausesTheSender(_ wire: Wire) async throws {
      let size: Int64 = 96 << 20
      let written = Counter()
      let block = pattern(256 << 10)
      let server = try LoopbackServer { request in
        guard request.path == "/slow" else { return .repeating(block, length: 8 << 20) }
        return .generated(length: size) { offset in
          written.raise(to: offset)
          return offset < size ? block : nil
        }
      }
      let transport = wire.makeTransport()

      // As many bytes as the unread body has go past it, and it does not move beyond what the buffers on the way take.
      let response = try await transport.send(guarded(.get, server.url("/slow")), in: Exchange())
      for _ in 0..<12 { _ = try await transport.answer(to: guarded(.get, server.url("/fast"))) }
      withKnownIssue("URLSession on Linux reads on, whether anybody takes it or not") {
        #expect(written.value < 32 << 20)
      } when: {
        wire.isURLSession
      }

      var count: Int64 = 0
      for try await chunk in response.body { count += Int64(chunk.count) }
      #expect(count == size)
    }

    @Test(arguments: Wire.real)
    func bodyThatNobodyKeepsStopsTheTransfer(_ wire: Wire) async throws {
      let server = try LoopbackServer { _ in .repeating(pattern(1000), length: 256 << 20).stalled(after: 1 << 20) }
      let transport = wire.makeTransport()
      _ = try await transport.send(guarded(.get, server.url("/")), in: Exchange())
      #expect(try await server.end(ofConnection: 1) == .client)
    }

    @Test(arguments: Wire.real)
    func bodyThatIsGivenUpStopsTheTransfer(_ wire: Wire) async throws {
      let server = try LoopbackServer { _ in .repeating(pattern(1000), length: 256 << 20).stalled(after: 1 << 20) }
      let response = try await wire.makeTransport().send(guarded(.get, server.url("/")), in: Exchange())
      var iterator = response.body.makeAsyncIterator()
      #expect(try await iterator.next() != nil)
      response.body.cancel()
      #expect(try await server.end(ofConnection: 1) == .client)
    }

    @Test(arguments: Wire.real)
    func bodyOutlivesItsTransport(_ wire: Wire) async throws {
      let gate = Gate()
      let server = try LoopbackServer { _ in .data(pattern(100)).stalled(after: 10, until: gate) }
      let response = try await wire.makeTransport().send(guarded(.get, server.url("/")), in: Exchange())
      gate.open()
      #expect(try await response.body.collect(upTo: 1000) == pattern(100))
    }

    @Test(arguments: Wire.allCases)
    func receivedProgressRisesToTheTotal(_ wire: Wire) async throws {
      let recorder = Recorder()
      let world = try World(wire) { _ in .data(pattern(1_000_000)).with(.contentLength, "1000000") }
      var configuration = SessionConfiguration()
      configuration.listeners = [recorder]
      let session = HTTPSession(transport: world.transport, configuration: configuration)
      let (body, _) = try await session.bytes(for: guarded(.get, world.url("/")))
      for try await _ in body {}
      let progress = recorder.progress(.received)
      #expect(progress.map(\.completed) == progress.map(\.completed).sorted())
      #expect(progress.last?.completed == 1_000_000)
      #expect(progress.last?.total == 1_000_000)
    }

    @Test(arguments: Wire.real)
    func metricsComeAtTheEnd(_ wire: Wire) async throws {
      let server = try LoopbackServer { _ in .text("hello") }
      let recorder = Recorder()
      _ = try await wire.makeTransport().answer(to: guarded(.get, server.url("/")), in: recorder.exchange)
      withKnownIssue("URLSession on Linux never delivers metrics") {
        #expect(recorder.metrics.count == 1)
        #expect(recorder.metrics.allSatisfy { $0.total > .zero })
      } when: {
        wire.isURLSession
      }
    }
  }
}
