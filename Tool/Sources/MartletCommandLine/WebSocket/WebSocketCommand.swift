import MartletEngine
@_spi(Toolkit) import MartletSemantics
import MartletWebSocket
import Synchronization

/// Opens a WebSocket, sends the lines of standard input, and shows the messages that arrive: `martlet ws`.
struct WebSocketCommand {
  private let arguments: ParsedArguments
  private let environment: ToolEnvironment
  private let choice: OutputChoice
  /// The files to send first.
  private let files: [String]

  init(_ arguments: ParsedArguments, _ environment: ToolEnvironment) throws(UsageError) {
    var arguments = arguments
    files = arguments.removeWords { $0.hasPrefix("@") }.map { String($0.dropFirst()) }
    for file in files { try environment.inputFiles.check(file) }
    self.arguments = arguments
    self.environment = environment
    choice = try OutputChoice(arguments, environment)
  }

  /// Returns the code of a WebSocket that was closed; throws the error of any other.
  func run() async throws -> ExitCode {
    let call = try await PreparedCall(arguments, choice, environment)
    return try await call.finishing(reportingTo: environment) {
      var options = WebSocket.Options()
      if let interval = arguments.seconds(.ping) { options.pingInterval = interval }
      options.messageLimit = Self.messageLimit
      let socket = try await call.session.webSocket(
        for: call.request, protocols: arguments.all(.subprotocol), options: options)
      return try await converse(socket)
    }
  }

  /// The maximum number of bytes of a message that is shown.
  private static let messageLimit = 64 << 20

  private func converse(_ socket: WebSocket) async throws -> ExitCode {
    let inputError = Mutex<(any Error)?>(nil)
    // Reading standard input cannot be cancelled: the program may end before it.
    let sender = Task {
      do { try await send(to: socket) } catch {
        inputError.withLock { $0 = error }
        await socket.close(.goingAway)
      }
    }
    defer { sender.cancel() }
    do {
      try await receive(from: socket)
    } catch let error as HTTPError where !error.isCancelled {
      guard let code = socket.closeCode, code != .abnormalClosure else { throw error }
      await socket.close()  // The server gets an answer to its Close frame before the program ends.
      _ = CommandLineTool.report(Failure(error, of: arguments), environment)
      return ExitCode(code)
    } catch {
      await Task { await socket.close(.goingAway) }.value  // this task may be cancelled
      throw error
    }
    await socket.close()
    if let error = inputError.withLock({ $0 }) { throw error }
    return socket.closeCode.map { ExitCode($0) } ?? .success
  }

  // MARK: - Sending

  /// Sends the files, and then the lines of standard input. After the end of a terminal's input it closes the
  /// WebSocket; after that of a file or a pipe the answers are still to come.
  ///
  /// - Throws: an error of the input.
  private func send(to socket: WebSocket) async throws {
    for file in files {
      let message = try environment.inputFiles.bytes(of: file, remedy: "divide it into several files")
      guard await send(message, to: socket) else { return }
    }
    guard !arguments.has(.ignoreStandardInput) else { return }
    for try await line in environment.inputFiles.lines { guard await send(line, to: socket) else { return } }
    if environment.inputFiles.isTerminal { await socket.close() }
  }

  /// Sends bytes as a message; bytes that are no text are a binary one. Returns false if the WebSocket has ended: its
  /// receiver has the reason.
  private func send(_ bytes: Data, to socket: WebSocket) async -> Bool {
    let text = arguments.has(.binary) ? nil : String(validating: bytes, as: UTF8.self)
    do { try await socket.send(text.map { .string($0) } ?? .data(bytes)) } catch { return false }
    return true
  }

  // MARK: - Receiving

  private func receive(from socket: WebSocket) async throws {
    var rest = arguments.count(.count) ?? .max
    guard rest > 0 else { return await socket.close() }
    for try await message in socket {
      try show(message)
      rest -= 1
      if rest == 0 { return await socket.close() }
    }
  }

  private func show(_ message: WebSocket.Message) throws(OutputError) {
    guard !arguments.has(.quiet) else { return }
    if arguments.has(.json) { return try environment.output.write(message.json + "\n") }
    switch message {
    case .string(let text): try environment.output.write((choice.isForTerminal ? text.printable : text) + "\n")
    case .data(let data) where choice.isForTerminal: try environment.output.write("(\(data.count) bytes)\n")
    case .data(let data): try environment.output.write(Array(data))
    }
  }
}

extension WebSocket.Message {
  /// A line of JSON: `{"string": "…"}`, or `{"data": "…"}` in base64.
  fileprivate var json: String {
    switch self {
    case .string(let text): "{\"string\": \(JSONSyntax.quoted(text).escapedForTerminal)}"
    case .data(let data): "{\"data\": \"\(data.base64EncodedString())\"}"
    }
  }
}

extension ExitCode {
  /// The code for how a server closed a WebSocket (RFC 6455 §7.4.1).
  init(_ code: WebSocket.CloseCode) {
    switch code {
    case .normalClosure, .goingAway, .noStatusReceived: self = .success
    case .policyViolation: self = .clientError
    case .internalServerError, .serviceRestart, .tryAgainLater: self = .serverError
    case .abnormalClosure: self = .connection
    case .protocolError, .unsupportedData, .invalidFramePayloadData, .messageTooBig, .mandatoryExtensionMissing:
      self = .badResponse
    default: self = .failure
    }
  }
}
