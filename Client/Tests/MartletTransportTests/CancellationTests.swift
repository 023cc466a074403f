@testable import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

extension TransportContract {
  /// A cancelled task ends at once, and the server notices the end of the connection.
  @Suite(.timeLimit(.minutes(5)))
  struct CancellationTests {
    @Test(arguments: TestedTransport.real)
    func cancellingBeforeTheHeadEndsTheTransfer(_ tested: TestedTransport) async throws {
      let server = try LoopbackServer { _ in .never }
      let transport = tested.makeTransport()
      let task = Task { [request = guarded(.get, server.url("/"))] in try await transport.answer(to: request) }
      _ = try await server.request(1)
      task.cancel()
      try await expectCancelled(task)
      #expect(try await server.end(ofConnection: 1) == .client)
    }

    @Test(arguments: TestedTransport.real)
    func cancellingWithinTheBodyEndsTheTransfer(_ tested: TestedTransport) async throws {
      let server = try LoopbackServer { _ in .data(pattern(1000)).stalled(after: 10) }
      let transport = tested.makeTransport()
      let first = Gate()
      let task = Task { [request = guarded(.get, server.url("/"))] in
        let response = try await transport.send(request, in: Call())
        for try await _ in response.body { first.open() }
      }
      try await first.wait()
      task.cancel()
      try await expectCancelled(task)
      #expect(try await server.end(ofConnection: 1) == .client)
    }

    @Test(arguments: TestedTransport.real)
    func bodyThatHasComeIsNotGivenToACancelledReader(_ tested: TestedTransport) async throws {
      let server = try LoopbackServer { _ in .data(pattern(10)) }
      let call = Call(runner: nil, asked: nil, Call.Use(collectsBody: true), listeners: [], deadline: nil)
      let response = try await tested.makeTransport().send(guarded(.get, server.url("/")), in: call)

      response.body.cancel()

      let error = await #expect(throws: HTTPError.self) { try await response.body.collect(upTo: 100) }
      #expect(error?.isCancelled == true)
    }

    @Test(arguments: TestedTransport.real)
    func cancellingWithinTheUploadEndsTheTransfer(_ tested: TestedTransport) async throws {
      let arrived = Gate()
      let cancelled = Gate()
      let server = try LoopbackServer(bodies: .streamed) { request in
        _ = try request.nextChunk()
        arrived.open()
        try request.wait(for: cancelled)
        return .text(String(try request.drainBody()))
      }
      let transport = tested.makeTransport()
      let body = RequestBody.stream { Endless(chunk: pattern(64 << 10), count: 1600) }
      let task = Task { [request = guarded(.post, server.url("/"), body: body)] in
        try await transport.answer(to: request)
      }
      try await arrived.wait()
      task.cancel()
      try await expectCancelled(task)
      cancelled.open()  // what the client's system has buffered is read before the end of the connection
      #expect(try await server.end(ofConnection: 1) == .client)
    }

    @Test(arguments: TestedTransport.real)
    func cancelledTaskSendsNothing(_ tested: TestedTransport) async throws {
      let server = try LoopbackServer { _ in .never }
      let transport = tested.makeTransport()
      for _ in 0..<100 {  // a request that is sent only now and then has to be noticed
        let start = Gate()
        let task = Task { [request = guarded(.get, server.url("/"))] in
          try? await start.wait()
          return try await transport.answer(to: request)
        }
        task.cancel()
        #expect(try await expectCancelled(task).isUnsent)
      }
      #expect(server.requests.isEmpty)
    }

    @Test(arguments: TestedTransport.real)
    func cancelledTransferDoesNotAffectOthers(_ tested: TestedTransport) async throws {
      let gate = Gate()
      let server = try LoopbackServer { request in request.path == "/never" ? .never : .text("ok").held(by: gate) }
      let transport = tested.makeTransport()
      let kept = Task { [request = guarded(.get, server.url("/kept"))] in try await transport.answer(to: request) }
      let dropped = Task { [request = guarded(.get, server.url("/never"))] in try await transport.answer(to: request) }
      _ = try await server.request(2)
      dropped.cancel()
      try await expectCancelled(dropped)
      gate.open()
      #expect(try await kept.value.1 == Data("ok".utf8))
    }

    @discardableResult
    private func expectCancelled<Value>(_ task: Task<Value, any Error>) async throws -> HTTPError {
      let error = await #expect(throws: (any Error).self) { _ = try await task.value }
      let cancellation = HTTPError(wrapping: try #require(error))
      #expect(cancellation.kind == .cancelled)
      return cancellation
    }
  }
}

/// One chunk, repeated.
struct Endless: AsyncSequence, Sendable {
  let chunk: Data
  let count: Int

  func makeAsyncIterator() -> Iterator { Iterator(chunk: chunk, rest: count) }

  struct Iterator: AsyncIteratorProtocol {
    let chunk: Data
    var rest: Int

    mutating func next() async throws -> Data? {
      rest -= 1
      return rest >= 0 ? chunk : nil
    }
  }
}
