import MartletEngine
@_spi(Toolkit) import MartletObservation
@_spi(Toolkit) import MartletSemantics
import MartletWebSocket

/// Replays the messages of a recorded WebSocket.
struct RecordedConversation: Sendable {
  let messages: [HAR.WebSocketMessage]
  /// The number of later messages that the recorder left out.
  let omitted: Int64
  /// The error with which it ended; nil if it was closed in order.
  let error: String?
  let redaction: Redaction
  /// The recording's name and age, for errors.
  let source: String

  /// Serves a WebSocket: sends the server's messages, and expects the program's.
  func serve(_ socket: MockWebSocket) async throws {
    for (index, recorded) in messages.enumerated() {
      if recorded.comment != nil {
        return socket.lose(with: wrong("its message \(index + 1) is incomplete (\(recorded.comment ?? ""))"))
      }
      switch (recorded.type, recorded.opcode) {
      case ("receive", 8): return close(socket, recorded)
      case ("receive", _): try await socket.send(message(recorded))
      default:
        guard let sent = try await socket.receive() else { return }
        guard recorded.opcode != 8, comparable(sent) == comparable(message(recorded)) else {
          return socket.lose(
            with: wrong("its message \(index + 1) differs from the program's \(sent.size)"))
        }
      }
    }
    if omitted > 0 {
      return socket.lose(with: wrong("its later messages were left out (\(omitted) after message \(messages.count))"))
    }
    if let error { return socket.lose(with: HTTPError(.connectionLost, "\(error), as recorded")) }
    guard let more = try await socket.receive() else { return }
    socket.lose(with: wrong("it ends before the program's \(more.size)"))
  }

  private func close(_ socket: MockWebSocket, _ recorded: HAR.WebSocketMessage) {
    let parts = recorded.data.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    let code = parts.first.flatMap { UInt16($0) }.map(WebSocket.CloseCode.init(rawValue:))
    socket.close(code ?? .noStatusReceived, reason: parts.count > 1 ? String(parts[1]) : "")
  }

  private func message(_ recorded: HAR.WebSocketMessage) -> WebSocket.Message {
    recorded.opcode == 2 ? .data(recorded.bytes ?? Data()) : .string(recorded.data)
  }

  /// The message without secrets. Texts of JSON are compared by value.
  private func comparable(_ message: WebSocket.Message) -> ComparableMessage {
    switch message {
    case .data(let data): return .other(.data(redaction.redacted(data, type: nil)))
    case .string(let text):
      let shown = redaction.redacted(Data(text.utf8), type: nil)
      if let json = try? JSONDecoder().decode(JSONValue.self, from: shown) { return .json(json) }
      return .other(.string(String(decoding: shown, as: UTF8.self)))
    }
  }

  private enum ComparableMessage: Equatable {
    case json(JSONValue)
    case other(WebSocket.Message)
  }

  private func wrong(_ why: String) -> HTTPError {
    HTTPError(.other, "\(source) does not fit the WebSocket: \(why): \(Recording.remedy)")
  }
}

extension WebSocket.Message {
  /// The type and the size, for errors.
  fileprivate var size: String {
    switch self {
    case .string(let text): "text of \(text.utf8.count) bytes"
    case .data(let data): "data of \(data.count) bytes"
    }
  }
}
