import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

extension TransportContract {
  /// A body that was given up, or failed, never ends like a whole one, whoever goes on reading it.
  @Suite(.timeLimit(.minutes(5)))
  struct GivenUpBodyTests {
    @Test(arguments: Wire.real)
    func bodyThatWasGivenUpDoesNotEndAsAWholeOne(_ wire: Wire) async throws {
      let server = try LoopbackServer { _ in .data(pattern(1000)).stalled(after: 10) }
      let response = try await wire.makeTransport().send(guarded(.get, server.url("/")), in: Exchange())
      let copy = response.body.source
      #expect(try await copy.next() != nil)

      response.body.cancel()

      for _ in 0..<2 { await #expect(throws: (any Error).self) { try await copy.next() } }
    }

    @Test(arguments: Wire.real)
    func bodyWhoseReaderWasCancelledDoesNotEndAsAWholeOneForAnother(_ wire: Wire) async throws {
      let server = try LoopbackServer { _ in .data(pattern(1000)).stalled(after: 10) }
      let response = try await wire.makeTransport().send(guarded(.get, server.url("/")), in: Exchange())
      let first = Gate()
      let reader = Task { for try await _ in response.body { first.open() } }
      try await first.wait()
      reader.cancel()
      _ = await reader.result

      for _ in 0..<2 { await #expect(throws: (any Error).self) { try await response.body.source.next() } }
    }

    @Test(arguments: Wire.real)
    func bodyThatFellSilentFailsAgain(_ wire: Wire) async throws {
      let server = try LoopbackServer { _ in .data(pattern(1000)).stalled(after: 10) }
      var request = guarded(.get, server.url("/"))
      request.options.idleTimeout = .milliseconds(100)
      let source = try await wire.makeTransport().send(request, in: Exchange()).body.source
      #expect(try await source.next() != nil)

      for _ in 0..<2 { await #expect(throws: (any Error).self) { try await source.next() } }
    }

    @Test(arguments: Wire.real)
    func bodyThatBrokeOffFailsAgain(_ wire: Wire) async throws {
      let server = try LoopbackServer { _ in .data(pattern(1000)).chunked(size: 10).reset(after: 10) }
      let source = try await wire.makeTransport().send(guarded(.get, server.url("/")), in: Exchange()).body.source
      var count = 0
      await #expect(throws: (any Error).self) { while let chunk = try await source.next() { count += chunk.count } }
      #expect(count < 1000)

      for _ in 0..<2 { await #expect(throws: (any Error).self) { try await source.next() } }
    }

    @Test(arguments: Wire.real)
    func bodyThatEndedStaysAtItsEnd(_ wire: Wire) async throws {
      let server = try LoopbackServer { _ in .data(pattern(1000)) }
      let response = try await wire.makeTransport().send(guarded(.get, server.url("/")), in: Exchange())
      var count = 0
      while let chunk = try await response.body.source.next() { count += chunk.count }
      #expect(count == 1000)

      response.body.cancel()

      for _ in 0..<2 { #expect(try await response.body.source.next() == nil) }
    }
  }
}
