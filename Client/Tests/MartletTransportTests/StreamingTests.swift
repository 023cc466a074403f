import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

extension TransportContract {
  /// Bodies are streamed, with backpressure.
  @Suite(.timeLimit(.minutes(5)))
  struct StreamingTests {
    @Test(arguments: TestedTransport.real)
    func responseIsReturnedBeforeItsBodyHasCome(_ tested: TestedTransport) async throws {
      let gate = Gate()
      let server = try LoopbackServer { _ in .data(pattern(100)).stalled(after: 0, until: gate) }
      let response = try await tested.makeTransport().send(guarded(.get, server.url("/")), in: Call())
      #expect(response.status == .ok)
      #expect(!gate.isOpen)
      gate.open()
      #expect(try await response.body.collect(upTo: 1000) == pattern(100))
    }

    @Test(arguments: TestedTransport.real)
    func chunksAreDeliveredAsTheyCome(_ tested: TestedTransport) async throws {
      let gates = [Gate(), Gate()]
      let server = try LoopbackServer { _ in
        .data(pattern(30)).stalled(after: 10, until: gates[0]).stalled(after: 20, until: gates[1])
      }
      let response = try await tested.makeTransport().send(guarded(.get, server.url("/")), in: Call())
      var iterator = response.body.makeAsyncIterator()
      #expect(try await iterator.next() == pattern(10))
      gates[0].open()
      #expect(try await iterator.next() == pattern(10, from: 10))
      gates[1].open()
      #expect(try await iterator.next() == pattern(10, from: 20))
      #expect(try await iterator.next() == nil)
      #expect(try await iterator.next() == nil)
    }

    @Test(arguments: TestedTransport.real)
    func slowReaderPausesTheSender(_ tested: TestedTransport) async throws {
      let size: Int64 = 96 << 20
      let written = Counter()
      let block = pattern(256 << 10)
      let server = try LoopbackServer { request in
        guard request.path == "/slow" else { return .repeating(block, length: 8 << 20) }
        return .generated(length: size) { offset in
          written.raise(to: Int(offset))
          return offset < size ? block : nil
        }
      }
      let transport = tested.makeTransport()

      // 96 MiB of other responses arrive in the meantime, and the unread one does not exceed the buffers
      let response = try await transport.send(guarded(.get, server.url("/slow")), in: Call())
      for _ in 0..<12 { _ = try await transport.answer(to: guarded(.get, server.url("/fast"))) }
      withKnownIssue("URLSession on Linux has no backpressure") {
        #expect(written.value < 32 << 20)
      } when: {
        tested.isURLSession
      }

      var count: Int64 = 0
      for try await chunk in response.body { count += Int64(chunk.count) }
      #expect(count == size)
    }

    @Test(arguments: TestedTransport.real)
    func aLongBodyArrivesWholeAndInOrder(_ tested: TestedTransport) async throws {
      let block = pattern(1_000_003)
      let server = try LoopbackServer { _ in .repeating(block, length: 20_000_000) }
      let response = try await tested.makeTransport().send(guarded(.get, server.url("/")), in: Call())

      var position = 0
      for try await chunk in response.body {
        var rest = chunk[...]
        while !rest.isEmpty {
          let part = rest.prefix(block.count - position % block.count)
          guard part == block[(position % block.count)...].prefix(part.count) else {
            Issue.record("other bytes than were sent, in the \(part.count) from \(position)")
            return
          }
          position += part.count
          rest = rest.dropFirst(part.count)
        }
      }
      #expect(position == 20_000_000)
    }

    @Test(arguments: TestedTransport.real)
    func releasedBodyStopsTheTransfer(_ tested: TestedTransport) async throws {
      let server = try LoopbackServer { _ in .repeating(pattern(1000), length: 256 << 20).stalled(after: 1 << 20) }
      let transport = tested.makeTransport()
      _ = try await transport.send(guarded(.get, server.url("/")), in: Call())
      #expect(try await server.end(ofConnection: 1) == .client)
    }

    @Test(arguments: TestedTransport.real)
    func cancelledBodyStopsTheTransfer(_ tested: TestedTransport) async throws {
      let server = try LoopbackServer { _ in .repeating(pattern(1000), length: 256 << 20).stalled(after: 1 << 20) }
      let response = try await tested.makeTransport().send(guarded(.get, server.url("/")), in: Call())
      var iterator = response.body.makeAsyncIterator()
      #expect(try await iterator.next() != nil)
      response.body.cancel()
      #expect(try await server.end(ofConnection: 1) == .client)
    }

    @Test(arguments: TestedTransport.real)
    func bodyOutlivesItsTransport(_ tested: TestedTransport) async throws {
      let gate = Gate()
      let server = try LoopbackServer { _ in .data(pattern(100)).stalled(after: 10, until: gate) }
      let response = try await tested.makeTransport().send(guarded(.get, server.url("/")), in: Call())
      gate.open()
      #expect(try await response.body.collect(upTo: 1000) == pattern(100))
    }

    @Test(arguments: TestedTransport.allCases)
    func receivedProgressIncreasesToTheTotal(_ tested: TestedTransport) async throws {
      let recorder = Recorder()
      let fixture = try TransportFixture(tested) { _ in .data(pattern(1_000_000)).with(.contentLength, "1000000") }
      var configuration = SessionConfiguration()
      configuration.listeners = [recorder]
      let session = HTTPSession(transport: fixture.transport, configuration: configuration)
      let (body, _) = try await session.bytes(for: guarded(.get, fixture.url("/")))
      for try await _ in body {}
      let progress = recorder.progress(.received)
      #expect(progress.map(\.completed) == progress.map(\.completed).sorted())
      #expect(progress.last?.completed == 1_000_000)
      #expect(progress.last?.total == 1_000_000)
    }

    @Test(arguments: TestedTransport.real)
    func metricsComeAtTheEnd(_ tested: TestedTransport) async throws {
      let server = try LoopbackServer { _ in .text("hello") }
      let recorder = Recorder()
      _ = try await tested.makeTransport().answer(to: guarded(.get, server.url("/")), in: recorder.call)
      withKnownIssue("URLSession on Linux never delivers metrics") {
        #expect(recorder.metrics.count == 1)
        #expect(recorder.metrics.allSatisfy { $0.total > .zero })
      } when: {
        tested.isURLSession
      }
    }

    @Test(arguments: TestedTransport.real)
    func listenerOfSomeEventsReceivesTheseAsOneOfAllDoes(_ tested: TestedTransport) async throws {
      let server = try LoopbackServer { _ in .text("hello") }
      let session = HTTPSession(transport: tested.makeTransport())
      func kinds(for events: Event.Kinds) async throws -> Event.Kinds {
        let recorder = Recorder(events)
        var request = guarded(.post, server.url("/"), body: .data(Data("hello".utf8)))
        request.options.listeners = [recorder]
        #expect(try await session.data(for: request).0 == Data("hello".utf8))
        return recorder.kinds
      }

      let all = try await kinds(for: .all)

      #expect(all.isSuperset(of: [.started, .attempt, .sending, .bytes, .progress, .response, .finished]))
      for events in [.metrics, .progress, .bytes, .response, [.progress, .metrics], .finished] as [Event.Kinds] {
        #expect(try await kinds(for: events) == all.intersection(events))
      }
    }
  }
}
