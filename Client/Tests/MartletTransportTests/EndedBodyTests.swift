@_spi(Transports) import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

extension TransportContract {
  /// After it was cancelled or has failed, a body never ends like a complete one, even for other readers.
  @Suite(.timeLimit(.minutes(5)))
  struct EndedBodyTests {
    @Test(arguments: TestedTransport.real)
    func cancelledBodyThrows(_ tested: TestedTransport) async throws {
      let server = try LoopbackServer { _ in .data(pattern(1000)).stalled(after: 10) }
      let response = try await tested.makeTransport().send(guarded(.get, server.url("/")), in: Call())
      let copy = response.body.source
      #expect(try await copy.next() != nil)

      response.body.cancel()

      for _ in 0..<2 { await #expect(throws: (any Error).self) { try await copy.next() } }
    }

    @Test(arguments: TestedTransport.real)
    func bodyOfACancelledReaderThrowsForAnotherReader(_ tested: TestedTransport) async throws {
      let server = try LoopbackServer { _ in .data(pattern(1000)).stalled(after: 10) }
      let response = try await tested.makeTransport().send(guarded(.get, server.url("/")), in: Call())
      let first = Gate()
      let reader = Task { for try await _ in response.body { first.open() } }
      try await first.wait()
      reader.cancel()
      _ = await reader.result

      for _ in 0..<2 { await #expect(throws: (any Error).self) { try await response.body.source.next() } }
    }

    @Test(arguments: TestedTransport.real)
    func bodyAfterAnIdleTimeoutThrowsAgain(_ tested: TestedTransport) async throws {
      let server = try LoopbackServer { _ in .data(pattern(1000)).stalled(after: 10) }
      var request = guarded(.get, server.url("/"))
      request.options.idleTimeout = .milliseconds(100)
      let source = try await tested.makeTransport().send(request, in: Call()).body.source
      #expect(try await source.next() != nil)

      for _ in 0..<2 { await #expect(throws: (any Error).self) { try await source.next() } }
    }

    @Test(arguments: TestedTransport.real)
    func incompleteBodyThrowsAgain(_ tested: TestedTransport) async throws {
      let server = try LoopbackServer { _ in .data(pattern(1000)).chunked(size: 10).reset(after: 10) }
      let source = try await tested.makeTransport().send(guarded(.get, server.url("/")), in: Call()).body.source
      var count = 0
      await #expect(throws: (any Error).self) { while let chunk = try await source.next() { count += chunk.count } }
      #expect(count < 1000)

      for _ in 0..<2 { await #expect(throws: (any Error).self) { try await source.next() } }
    }

    @Test(arguments: TestedTransport.real)
    func completeBodyStaysAtItsEnd(_ tested: TestedTransport) async throws {
      let server = try LoopbackServer { _ in .data(pattern(1000)) }
      let response = try await tested.makeTransport().send(guarded(.get, server.url("/")), in: Call())
      var count = 0
      while let chunk = try await response.body.source.next() { count += chunk.count }
      #expect(count == 1000)

      response.body.cancel()

      for _ in 0..<2 { #expect(try await response.body.source.next() == nil) }
    }
  }
}
