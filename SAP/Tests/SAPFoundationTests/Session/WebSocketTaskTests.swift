import Foundation
import MartletEngine
import MartletSemantics
@_spi(Toolkit) import MartletTesting
import MartletWebSocket
import SAPFoundation
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Tasks with a WebSocket", .timeLimit(.minutes(5)))
struct WebSocketTaskTests {
  private static let echo: @Sendable (LoopbackWebSocket) throws -> Void = { socket in
    while let message = try socket.receive() { try socket.send(message) }
  }

  private func url(_ server: LoopbackServer) throws -> URL {
    try #require(URL(string: "ws://127.0.0.1:\(server.port)/chat"))
  }

  /// Returns a task whose events an observer keeps.
  private func watchedTask(at server: LoopbackServer) throws -> (SAPURLSessionWebSocketTask, WebSocketWitness) {
    let observer = WebSocketWitness()
    let session = SAPURLSession(configuration: .ephemeral)
    session.register(observer)
    return (session.webSocketTask(with: try url(server)), observer)
  }

  /// A server that reads until the client closes, and the code and the reason with which it did.
  private func closeNotingServer() throws -> (LoopbackServer, Awaitable<String?>) {
    let closed = Awaitable<String?>(nil)
    let server = try LoopbackServer { _ in
      .webSocket { socket in
        while try socket.receive() != nil {}
        closed.update { $0 = socket.clientClose.map { "\($0.code.rawValue) \($0.reason)" } }
      }
    }
    return (server, closed)
  }

  @Test func messagesGoToAndFroWithFoundationsTypes() async throws {
    let server = try LoopbackServer { _ in .webSocket(Self.echo) }
    let task = SAPURLSession(configuration: .ephemeral).webSocketTask(with: try url(server))
    task.resume()
    try await task.send(.string("grüß dich"))
    #expect(try await task.text() == "grüß dich")
    try await task.send(.data(Data([0, 255])))
    guard case .data(let bytes) = try await task.receive() else { throw TestFailure(name: "a text instead of bytes") }
    #expect(bytes == Data([0, 255]))
    #expect(task.closeCode == .invalid)
    #expect((task.response as? HTTPURLResponse)?.statusCode == 101)
    task.cancel()
  }

  @Test func whatIsSentAndReceivedBeforeTheTaskBeginsWaitsInOrder() async throws {
    let server = try LoopbackServer { _ in .webSocket(Self.echo) }
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let session = SAPURLSession(configuration: .ephemeral, delegateQueue: queue)
    let task = session.webSocketTask(with: try url(server))
    let journal = Awaitable<[String]>([])
    for number in 1...20 {
      task.send(.string("\(number)")) { error in
        journal.update { $0.append("sent \(number) \(error == nil) \(OperationQueue.current === queue)") }
      }
      task.receive { result in
        guard case .success(.string(let text)) = result else { return }
        journal.update { $0.append("received \(text) \(OperationQueue.current === queue)") }
      }
    }
    #expect(journal.value.isEmpty)
    task.resume()
    let lines = try await journal.wait { $0.count == 40 ? $0 : nil }
    #expect(lines.filter { $0.hasPrefix("sent") } == (1...20).map { "sent \($0) true true" })
    #expect(lines.filter { $0.hasPrefix("received") } == (1...20).map { "received \($0) true" })
    task.cancel()
  }

  /// As many as `httpMaximumConnectionsPerHost` allows connections.
  @Test func openTasksTakeNoPlaceOfRequests() async throws {
    let server = try LoopbackServer { request in
      request.path == "/chat" ? .webSocket(Self.echo) : .text("here")
    }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = 6
    let session = SAPURLSession(configuration: configuration)
    let tasks = try (0..<7).map { _ in session.webSocketTask(with: try url(server)) }
    for task in tasks {
      task.resume()
      try await task.send(.string("a"))
      #expect(try await task.text() == "a")
    }
    let (data, _) = try await session.data(from: server.url("/other"))
    #expect(String(decoding: data, as: UTF8.self) == "here")
    for task in tasks { task.cancel() }
  }

  @Test func theHandlersOfPingsAreCalledInTheirOrder() async throws {
    let server = try LoopbackServer { _ in .webSocket(Self.echo) }
    let task = SAPURLSession(configuration: .ephemeral).webSocketTask(with: try url(server))
    task.resume()
    let pongs = Awaitable<[Int]>([])
    for number in 1...10 { task.sendPing { error in if error == nil { pongs.update { $0.append(number) } } } }
    #expect(try await pongs.wait { $0.count == 10 ? $0 : nil } == Array(1...10))
    task.cancel()
  }

  @Test func observersSeeTheHandshakeAndTheLifeOfTheWebSocket() async throws {
    let server = try LoopbackServer { request in
      request.path == "/chat"
        ? .redirect(to: "/room", status: 307)
        : .webSocket(subprotocol: "chat") { socket in
          _ = try socket.receive()
          try socket.close(.goingAway, reason: "bye")
        }
    }
    let observer = WebSocketWitness()
    let session = SAPURLSession(configuration: .ephemeral)
    session.register(observer)
    let task = session.webSocketTask(with: try url(server), protocols: ["chat", "talk"])
    task.resume()
    try await task.send(.string("hello"))
    #expect(
      try await observer.linesToCompletion() == [
        "willSend /chat added", "willSend /room added", "response 101", "open chat", "closed 1001 bye", "completed nil",
      ])
    #expect(server.requests.map { $0.fields["X-Added"] } == ["by an observer", "by an observer"])
    #expect(Set(server.requests.map { $0.fields["Sec-WebSocket-Key"] }).count == 2)
    #expect(task.closeCode == .goingAway)
    #expect(task.closeReason == Data("bye".utf8))
    await #expect(throws: URLError.self) { try await task.send(.string("late")) }
  }

  @Test func aRefusalFailsTheTaskAndAllThatWaits() async throws {
    let server = try LoopbackServer { _ in Reply(status: .forbidden, content: Data("no".utf8)) }
    let (task, observer) = try watchedTask(at: server)
    let failures = Awaitable<[URLError?]>([])
    task.send(.string("a")) { error in failures.update { $0.append(error as? URLError) } }
    task.receive { result in
      if case .failure(let error) = result { failures.update { $0.append(error as? URLError) } }
    }
    task.sendPing { error in failures.update { $0.append(error as? URLError) } }
    task.resume()
    let errors = try await failures.wait { $0.count == 3 ? $0 : nil }
    #expect(errors.allSatisfy { $0?.underlyingHTTPError?.body == Data("no".utf8) })
    let lines = try await observer.linesToCompletion()
    #expect(lines.contains("response 403"))
    #expect(!lines.contains { $0.hasPrefix("open") || $0.hasPrefix("closed") })
    #expect((task.response as? HTTPURLResponse)?.statusCode == 403)
  }

  /// Why a task fails before its handshake begins.
  enum EarlyFailure: CaseIterable {
    case invalidatedSession, invalidMethod, noURL, cancelledBeforeItsDate, refusedAtItsDate
  }

  @Test(arguments: EarlyFailure.allCases)
  func aTaskThatFailsBeforeItsHandshakeFailsAllThatWaits(_ cause: EarlyFailure) async throws {
    let refuses = ObserverProbe { $0.onDelayed = { _ in .cancel(TestFailure(name: "refused")) } }
    let session = SAPURLSession.uncached(refuses)
    var request = URLRequest(url: try #require(URL(string: "ws://127.0.0.1/chat")))
    if cause == .invalidMethod { request.httpMethod = "GET IT" }
    if cause == .noURL { request.url = nil }
    let task = session.webSocketTask(with: request)
    if cause == .cancelledBeforeItsDate { task.earliestBeginDate = .distantFuture }
    if cause == .refusedAtItsDate { task.earliestBeginDate = .now }
    let failures = Awaitable<[(any Error)?]>([])
    task.send(.string("a")) { error in failures.update { $0.append(error) } }
    task.receive { result in
      if case .failure(let error) = result { failures.update { $0.append(error) } }
    }
    task.sendPing { error in failures.update { $0.append(error) } }

    if cause == .invalidatedSession { session.invalidateAndCancel() }
    task.resume()
    if cause == .cancelledBeforeItsDate { task.cancel() }

    let errors = try await failures.wait { $0.count == 3 ? $0 : nil }
    #expect(errors.allSatisfy { Self.isExpected($0, of: cause) }, "\(errors)")
    await #expect(throws: (any Error).self) { try await task.send(.string("late")) }
  }

  private static func isExpected(_ error: (any Error)?, of cause: EarlyFailure) -> Bool {
    switch cause {
    case .invalidatedSession: error as? SAPURLSessionError == .invalidURLSession
    case .invalidMethod: error as? SAPURLSessionError == .unexpectedHTTPMethod
    case .noURL: error as? SAPURLSessionError == .invalidRequest
    case .cancelledBeforeItsDate: (error as? URLError)?.code == .cancelled
    case .refusedAtItsDate: error as? TestFailure == TestFailure(name: "refused")
    }
  }

  @Test func aTaskThatIsCancelledWithACodeTellsItToTheServer() async throws {
    let (server, closed) = try closeNotingServer()
    let (task, observer) = try watchedTask(at: server)
    task.resume()
    try await task.send(.string("a"))
    task.cancel(with: .policyViolation, reason: Data("rules".utf8))
    #expect(try await closed.wait { $0 } == "1008 rules")
    let lines = try await observer.linesToCompletion()
    #expect(lines.last == "completed nil")
  }

  /// How a task is cancelled, and when.
  enum EarlyEnd: CaseIterable { case cancelBeforeResume, closeBeforeResume, cancelBeforeAnswer, closeBeforeAnswer }

  @Test(arguments: EarlyEnd.allCases)
  func aTaskThatIsCancelledBeforeItIsOpenFailsAllThatWaits(_ end: EarlyEnd) async throws {
    let gate = Gate()
    let server = try LoopbackServer { request in
      try? request.wait(for: gate)
      return .webSocket(Self.echo)
    }
    let (task, observer) = try watchedTask(at: server)
    let failures = Awaitable<[URLError.Code?]>([])
    task.receive { result in
      if case .failure(let error) = result { failures.update { $0.append((error as? URLError)?.code) } }
    }
    task.send(.string("a")) { error in failures.update { $0.append((error as? URLError)?.code) } }
    let isSent = [.cancelBeforeAnswer, .closeBeforeAnswer].contains(end)
    if isSent {
      task.resume()
      _ = try await server.request(1)
    }

    switch end {
    case .cancelBeforeResume, .cancelBeforeAnswer: task.cancel()
    case .closeBeforeResume, .closeBeforeAnswer: task.cancel(with: .goingAway, reason: nil)
    }

    #expect(try await failures.wait { $0.count == 2 ? $0 : nil } == [.cancelled, .cancelled])
    #expect(try await observer.linesToCompletion().last == "completed -999")
    try await until { task.state == .completed }
    task.resume()
    #expect(task.webSocket == nil && server.requests.count == (isSent ? 1 : 0))
    gate.open()
  }

  @Test func cancellingClosesTheWebSocketAndFailsTheTask() async throws {
    let (server, closed) = try closeNotingServer()
    let (task, observer) = try watchedTask(at: server)
    task.resume()
    try await task.send(.string("a"))
    task.cancel()
    let lines = try await observer.linesToCompletion()
    #expect(lines.last == "completed -999")
    #expect(try await closed.wait { $0 } == "1001 ")
    await #expect(throws: URLError.self) { try await task.receive() }
  }

  @Test func aMessageAboveTheLimitFailsTheTask() async throws {
    let server = try LoopbackServer { _ in .webSocket(Self.echo) }
    let task = SAPURLSession(configuration: .ephemeral).webSocketTask(with: try url(server))
    task.maximumMessageSize = 10
    task.resume()
    try await task.send(.string("0123456789"))
    #expect(try await task.text() == "0123456789")
    try await task.send(.string("0123456789a"))
    let error = await #expect(throws: URLError.self) { try await task.receive() }
    #expect(error?.underlyingHTTPError?.kind == .bodyTooLarge)
  }

  @Test func aRequestNamesItsSubprotocolsInItsField() async throws {
    let server = try LoopbackServer { _ in .webSocket(subprotocol: "talk", Self.echo) }
    var request = URLRequest(url: try url(server))
    request.setValue("chat, talk", forHTTPHeaderField: "Sec-WebSocket-Protocol")
    let observer = WebSocketWitness()
    let session = SAPURLSession(configuration: .ephemeral)
    session.register(observer)
    let task = session.webSocketTask(with: request)
    task.resume()
    let lines = try await observer.journal.wait { $0.last?.hasPrefix("open") == true ? $0 : nil }
    #expect(lines.last == "open talk")
    #expect(server.requests[0].fields["Sec-WebSocket-Protocol"] == "chat, talk")
    task.cancel()
  }
}

extension SAPURLSessionWebSocketTask {
  /// Receives a text; nil for bytes.
  fileprivate func text() async throws -> String? {
    if case .string(let text) = try await receive() { text } else { nil }
  }
}

/// Keeps a line for each event of a task with a WebSocket, and adds a field to its requests.
private final class WebSocketWitness: SAPURLSessionObserver {
  let journal = Awaitable<[String]>([])

  /// Waits until the task has completed.
  func linesToCompletion() async throws -> [String] {
    try await journal.wait { $0.last?.hasPrefix("completed") == true ? $0 : nil }
  }

  private func note(_ line: String) { journal.update { $0.append(line) } }

  override func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
  ) {
    var request = request
    request.setValue("by an observer", forHTTPHeaderField: "X-Added")
    note("willSend \(request.url?.path() ?? "") added")
    completionHandler(.allow(request))
  }

  override func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (SAPURLSession.ResponseDisposition) -> Void
  ) {
    let status = (response as? HTTPURLResponse)?.statusCode ?? 0
    if !(300..<400).contains(status) { note("response \(status)") }
    completionHandler(.allow(response))
  }

  override func sapURLSession(
    _ session: SAPURLSession, webSocketTask task: SAPURLSessionWebSocketTask, didOpenWithProtocol protocol: String?
  ) { note("open \(`protocol` ?? "")") }

  override func sapURLSession(
    _ session: SAPURLSession, webSocketTask task: SAPURLSessionWebSocketTask,
    didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
  ) { note("closed \(closeCode.rawValue) \(String(decoding: reason ?? Data(), as: UTF8.self))") }

  override func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didCompleteWithError error: (any Error)?,
    completionHandler: @escaping @Sendable (SAPURLSession.CancellableDisposition) -> Void
  ) {
    note("completed \((error as? URLError).map { "\($0.code.rawValue)" } ?? error.map { "\($0)" } ?? "nil")")
    completionHandler(.allow)
  }
}
