@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics
public import MartletWebSocket

/// A task that opens a WebSocket and carries its messages in both directions, with the interface of Foundation's
/// `URLSessionWebSocketTask`.
///
/// ```swift
/// let task = session.webSocketTask(with: URL(string: "wss://chat.example.com/room")!)
/// task.resume()
/// try await task.send(.string("hello"))
/// if case .string(let text) = try await task.receive() { print(text) }
/// task.cancel(with: .goingAway, reason: nil)
/// ```
///
/// The opening handshake runs through the session's observers, like the request of any other task. Messages may be sent
/// and received before it is complete: they wait. The task completes when the WebSocket is closed: without an error if
/// either side closed it in order. A server that refuses the handshake fails the task; its answer is the task's
/// ``SAPURLSessionTask/response``. Handlers are called on the session's `delegateQueue`.
///
/// SAFETY: like its superclass, it has constants only.
public final class SAPURLSessionWebSocketTask: SAPURLSessionTask, @unchecked Sendable {
  /// The state of the WebSocket.
  private struct Connection {
    var maximumMessageSize = WebSocket.Options().messageLimit
    /// The WebSocket or why there is none; nil before the handshake is complete.
    var result: Result<WebSocket, any Error>?
    /// The tasks that wait for the handshake.
    var waiting: [OneShot<WebSocket>] = []
    /// How the app closed it.
    var closing: (code: WebSocket.CloseCode, reason: String)?
    /// The work for handlers, of each kind: handlers are called in order.
    var sends = WorkLine()
    var receives = WorkLine()
    var pings = WorkLine()
  }

  private let protocols: [String]
  private let connection = Locked(Connection())

  init(_ request: URLRequest, protocols: [String], of session: SAPURLSession) {
    self.protocols = protocols
    super.init(request, of: session, to: .events)
  }

  /// The maximum number of bytes of a message that is received; 1 MiB by default. It is read when the task begins.
  public var maximumMessageSize: Int {
    get { connection.withLock { $0.maximumMessageSize } }
    set { connection.withLock { $0.maximumMessageSize = newValue } }
  }

  /// The code with which the server closed the WebSocket; `.invalid` while it is open, and for the codes of
  /// applications, which Foundation's type cannot express: see ``webSocket``.
  public var closeCode: URLSessionWebSocketTask.CloseCode {
    webSocket?.closeCode.flatMap { .init(rawValue: Int($0.rawValue)) } ?? .invalid
  }

  /// The reason that the server gave for closing, in UTF-8; nil if there is none.
  public var closeReason: Data? { webSocket?.closeReason.map { Data($0.utf8) } }

  /// The engine's WebSocket, which also sends and receives messages in pieces; nil before the handshake is complete.
  public var webSocket: WebSocket? { try? connection.withLock { $0.result }?.get() }

  // MARK: - Messages

  /// Sends a message. It returns when there is room for more.
  ///
  /// - Throws: a `URLError` if the connection was lost or the WebSocket was closed; the task's error if that failed
  ///   before the handshake was complete.
  public func send(_ message: URLSessionWebSocketTask.Message) async throws {
    do { try await opened().send(.init(message)) } catch { throw HTTPError(wrapping: error).taskError }
  }

  /// Sends a message, after the messages of earlier calls, and calls the handler with the error if it cannot be sent.
  @preconcurrency public func send(
    _ message: URLSessionWebSocketTask.Message, completionHandler: @escaping @Sendable ((any Error)?) -> Void
  ) {
    inOrder(\.sends) { [self] in
      let error = await Self.error { try await send(message) }
      session.callbacks.add { completionHandler(error) }
    }
  }

  /// Receives the next message; waits until there is one.
  ///
  /// - Throws: the same errors as ``send(_:)``.
  public func receive() async throws -> URLSessionWebSocketTask.Message {
    do { return .init(try await opened().receive()) } catch { throw HTTPError(wrapping: error).taskError }
  }

  /// Receives the next message, after those for earlier calls, and calls the handler with it or with the error.
  public func receive(
    completionHandler: @escaping @Sendable (Result<URLSessionWebSocketTask.Message, any Error>) -> Void
  ) {
    inOrder(\.receives) { [self] in
      let result: Result<URLSessionWebSocketTask.Message, any Error>
      do { result = .success(try await receive()) } catch { result = .failure(error) }
      session.callbacks.add { completionHandler(result) }
    }
  }

  /// Sends a ping, and calls the handler when its pong has arrived, or with the error. A pong that takes longer than 30
  /// seconds is a `timedOut` error, after which the task goes on. Handlers are called in the order of the pings.
  public func sendPing(pongReceiveHandler: @escaping @Sendable ((any Error)?) -> Void) {
    inOrder(\.pings) { [self] in
      let error = await Self.error {
        do { _ = try await opened().sendPing() } catch { throw HTTPError(wrapping: error).taskError }
      }
      session.callbacks.add { pongReceiveHandler(error) }
    }
  }

  /// Closes the WebSocket with a code and a reason, of which the first 123 bytes are sent. The task completes without
  /// an error when the server has closed the connection. Before the handshake is complete, this is `cancel()`.
  public func cancel(with closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?) {
    let code = WebSocket.CloseCode(rawValue: UInt16(clamping: closeCode.rawValue))
    let text = String(decoding: reason ?? Data(), as: UTF8.self)
    let result = connection.withLock { connection in
      // The handshake may be completing now.
      connection.closing = connection.closing ?? (code, text)
      return connection.result
    }
    guard let result else { return cancel() }
    if let socket = try? result.get() { Task { await socket.close(code, reason: text) } }
  }

  private static func error(of work: () async throws -> Void) async -> (any Error)? {
    do { try await work() } catch { return error }
    return nil
  }

  private func inOrder(_ line: WritableKeyPath<Connection, WorkLine>, _ work: @escaping @Sendable () async -> Void) {
    let turn = connection.withLock { $0[keyPath: line].takeTurn() }
    Task { await turn.run(work) }
  }

  // MARK: - The handshake

  /// Waits until the handshake is complete.
  private func opened() async throws -> WebSocket {
    let opening = OneShot<WebSocket>()
    let result = connection.withLock { connection in
      if connection.result == nil { connection.waiting.append(opening) }
      return connection.result
    }
    if let result { return try result.get() }
    return try await opening.wait()
  }

  /// Completes the handshake unless it is already complete, and ends the waits for it. Returns how the app has closed
  /// the WebSocket before.
  @discardableResult
  private func complete(_ result: Result<WebSocket, any Error>) -> (code: WebSocket.CloseCode, reason: String)? {
    let (waiting, closing) = connection.withLock { connection in
      connection.result = connection.result ?? result
      defer { connection.waiting = [] }
      return (connection.waiting, connection.closing)
    }
    for opening in waiting { opening.answer(result) }
    return closing
  }

  /// Ends all waits for the handshake, because the task has failed. Most failures before it never reach `run`.
  func didFail(_ error: any Error) { complete(.failure(error)) }

  /// Opens the WebSocket, and returns when it is closed.
  func run(_ request: HTTPRequest) async throws {
    var options = WebSocket.Options()
    options.messageLimit = maximumMessageSize
    let result: Result<WebSocket, any Error>
    do {
      result = .success(try await session.engine.webSocket(for: request, protocols: protocols, options: options))
    } catch { result = .failure(error) }
    let closing = complete(result)
    let socket = try result.get()
    session.notify { [self] in
      $0.sapURLSession(session, webSocketTask: self, didOpenWithProtocol: socket.negotiatedProtocol)
    }
    defer {
      session.notify { [self] in
        $0.sapURLSession(session, webSocketTask: self, didCloseWith: closeCode, reason: closeReason)
      }
    }
    if let closing { await socket.close(closing.code, reason: closing.reason) }
    try await socket.waitUntilClosed()
  }
}

extension WebSocket.Message {
  fileprivate init(_ message: URLSessionWebSocketTask.Message) throws(HTTPError) {
    switch message {
    case .string(let text): self = .string(text)
    case .data(let data): self = .data(data)
    @unknown default: throw HTTPError(.invalidRequest, "a message is neither text nor data", phase: .preparing)
    }
  }
}

extension URLSessionWebSocketTask.Message {
  fileprivate init(_ message: WebSocket.Message) {
    switch message {
    case .string(let text): self = .string(text)
    case .data(let data): self = .data(data)
    }
  }
}

// MARK: - Tasks of a session

extension SAPURLSession {
  /// Makes a task that opens a WebSocket. It begins with `resume()`.
  public func webSocketTask(with url: URL) -> SAPURLSessionWebSocketTask { webSocketTask(with: url, protocols: []) }

  /// Makes a task that opens a WebSocket.
  ///
  /// - Parameters:
  ///   - url: a URL with the scheme ws or wss, or http or https.
  ///   - protocols: the subprotocols that the app speaks, in order of preference.
  public func webSocketTask(with url: URL, protocols: [String]) -> SAPURLSessionWebSocketTask {
    SAPURLSessionWebSocketTask(URLRequest(url: url), protocols: protocols, of: self)
  }

  /// Makes a task that opens a WebSocket with a request, to which the fields of the handshake are added. Its field
  /// `Sec-WebSocket-Protocol` has the subprotocols, separated by commas.
  public func webSocketTask(with request: URLRequest) -> SAPURLSessionWebSocketTask {
    let names = request.value(forHTTPHeaderField: "Sec-WebSocket-Protocol") ?? ""
    let protocols = names.split(separator: ",").map { String(ASCII.trimmed($0)) }
    return SAPURLSessionWebSocketTask(request, protocols: protocols, of: self)
  }
}
