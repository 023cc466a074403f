import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import MartletWebSocket
import SAPFoundation
import Synchronization
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("WebSocket tasks", .timeLimit(.minutes(5)))
struct WebSocketTaskTests {
  private static let echo = Reply.webSocket { socket in
    while let message = try socket.receive() { try socket.send(message) }
  }

  private func url(_ server: LoopbackServer) throws -> URL {
    try #require(URL(string: "ws://127.0.0.1:\(server.port)/room"))
  }

  private func completed(_ task: SAPURLSessionTask) async {
    while task.state != .completed { await Task.yield() }
  }

  @Test func messagesGoToAndFro() async throws {
    let server = try LoopbackServer { _ in Self.echo }
    let task = SAPURLSession.uncached().webSocketTask(with: try url(server), protocols: ["chat"])
    async let sent: Void = task.send(.string("early"))  // waits for the handshake
    task.resume()
    try await sent
    guard case .string("early") = try await task.receive() else { throw URLError(.unknown) }
    try await task.send(.data(Data([1, 2])))
    guard case .data(Data([1, 2])) = try await task.receive() else { throw URLError(.unknown) }
    #expect(task.closeCode == .invalid)
    #expect(server.requests[0].fields["Sec-WebSocket-Protocol"] == "chat")

    task.cancel(with: .goingAway, reason: Data("bye".utf8))
    await completed(task)
    #expect(task.error == nil)
    #expect(task.closeCode == .goingAway)
    #expect(task.closeReason == Data("bye".utf8))
    await #expect(throws: URLError.self) { try await task.send(.string("late")) }
  }

  @Test func handlersAreCalledInOrder() async throws {
    let server = try LoopbackServer { _ in Self.echo }
    let task = SAPURLSession.uncached().webSocketTask(with: try url(server))
    let received = Mutex<[String]>([])
    await withCheckedContinuation { continuation in
      for number in 0..<20 {
        task.send(.string("\(number)")) { #expect($0 == nil) }
        task.receive { result in
          guard case .success(.string(let text)) = result else { return }
          received.withLock { $0.append(text) }
        }
        task.sendPing { error in
          #expect(error == nil)
          received.withLock { $0.append("pong") }
        }
      }
      task.receive { _ in continuation.resume() }
      task.resume()
      task.sendPing { _ in task.send(.string("last")) { _ in } }
    }
    let all = received.withLock { $0 }
    #expect(all.filter { $0 != "pong" } == (0..<20).map { "\($0)" })
    #expect(all.count { $0 == "pong" } == 20)
    task.cancel()
    await completed(task)
    #expect((task.error as? URLError)?.code == .cancelled)
    try await server.end(ofConnection: 1)
  }

  @Test func observersTakePartInTheHandshake() async throws {
    let server = try LoopbackServer { request in
      request.fields["X-CorrelationID"] == nil ? .status(.badRequest) : Self.echo
    }
    let session = SAPURLSession.uncached()
    session.register(CorrelationObserver())
    let task = session.webSocketTask(with: try url(server))
    task.resume()
    try await task.send(.string("hello"))
    guard case .string("hello") = try await task.receive() else { throw URLError(.unknown) }
    #expect((task.response as? HTTPURLResponse)?.statusCode == 101)
    session.invalidateAndCancel()
    await completed(task)
  }

  @Test func aRefusalFailsTheTask() async throws {
    let server = try LoopbackServer { _ in .text("no", status: .forbidden) }
    let task = SAPURLSession.uncached().webSocketTask(with: try url(server))
    task.resume()
    await #expect(throws: URLError.self) { try await task.receive() }
    await completed(task)
    #expect((task.error as? URLError)?.underlyingHTTPError?.kind == .unexpectedResponse)
    #expect((task.response as? HTTPURLResponse)?.statusCode == 403)
  }

  @Test func aMessageOverTheLimitFailsTheTask() async throws {
    let server = try LoopbackServer { _ in Self.echo }
    let task = SAPURLSession.uncached().webSocketTask(with: URLRequest(url: try url(server)))
    task.maximumMessageSize = 10
    task.resume()
    try await task.send(.data(Data(count: 11)))
    let error = await #expect(throws: URLError.self) { try await task.receive() }
    #expect(error?.code == .dataLengthExceedsMaximum)
    await completed(task)
  }
}
