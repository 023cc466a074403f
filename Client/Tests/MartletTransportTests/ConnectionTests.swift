import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

extension TransportContract {
  /// Connections are reused, and a stale one is replaced without an error.
  @Suite(.timeLimit(.minutes(5)))
  struct ConnectionTests {
    @Test(arguments: TestedTransport.real)
    func requestsInSequenceShareAConnection(_ tested: TestedTransport) async throws {
      let server = try LoopbackServer { request in .text(request.path) }
      let transport = tested.makeTransport()
      for number in 0..<50 {
        let (_, data) = try await transport.answer(to: guarded(.get, server.url("/\(number)")))
        #expect(String(decoding: data, as: UTF8.self) == "/\(number)")
      }
      #expect(server.connectionCount == 1)
    }

    @Test(arguments: TestedTransport.real)
    func smallUnreadBodyKeepsTheConnection(_ tested: TestedTransport) async throws {
      let server = try LoopbackServer { request in
        request.path == "/" ? .text("moved", status: 302).with(.location, "/there") : .text("there")
      }
      let transport = tested.makeTransport()
      for _ in 0..<10 {
        let response = try await transport.send(guarded(.get, server.url("/")), in: Call())
        response.body.cancel()
        _ = try await transport.answer(to: guarded(.get, server.url("/there")))
      }
      #expect(server.connectionCount == 1)
    }

    @Test(arguments: TestedTransport.real)
    func errorStatusKeepsTheConnection(_ tested: TestedTransport) async throws {
      let server = try LoopbackServer { _ in .text("no", status: 500) }
      let transport = tested.makeTransport()
      for _ in 0..<10 { _ = try await transport.answer(to: guarded(.get, server.url("/"))) }
      #expect(server.connectionCount == 1)
    }

    @Test(arguments: TestedTransport.real)
    func connectionClosedByTheServerIsReplaced(_ tested: TestedTransport) async throws {
      let server = try LoopbackServer { _ in .text("ok").closingSilently() }
      let transport = tested.makeTransport()
      for number in 1...5 {
        let (_, data) = try await transport.answer(to: guarded(.get, server.url("/")))
        #expect(data == Data("ok".utf8))
        try await server.end(ofConnection: number)
      }
      #expect(server.connectionCount == 5)
    }

    @Test(arguments: TestedTransport.real)
    func connectionClosedOnReuseIsReplaced(_ tested: TestedTransport) async throws {
      let seen = Counter()
      let server = try LoopbackServer { request in
        let isReused = request.connection == 1 && seen.value == 1
        seen.raise(to: 1)
        return isReused ? .hangUp : .text("ok")
      }
      let transport = tested.makeTransport()
      for _ in 0..<2 {
        let (_, data) = try await transport.answer(to: guarded(.get, server.url("/")))
        #expect(data == Data("ok".utf8))
      }
      #expect(server.connectionCount == 2)
    }

    @Test(arguments: TestedTransport.allCases)
    func concurrentRequestsGetTheirOwnResponses(_ tested: TestedTransport) async throws {
      let fixture = try TransportFixture(tested) { request in .text("answer to \(request.target)") }
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<200 {
          let request = guarded(.get, try fixture.url("/\(number)"))
          group.addTask {
            let (_, data) = try await fixture.transport.answer(to: request)
            return String(decoding: data, as: UTF8.self) == "answer to /\(number)"
          }
        }
        var right = 0
        for try await isRight in group where isRight { right += 1 }
        #expect(right == 200)
      }
    }
  }
}
