#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting
import MartletURLSession
import TestSupport
import Testing

/// The server of the table's messages, `server.py`, with a port for each message. It exits with this object or with the
/// process.
final class MessageServer: Sendable {
  private let process: ChildProcess
  private let start: Start
  private let control = URLSessionTransport()

  /// The first line of its output.
  private struct Start: Decodable {
    let control: Int
    let ports: [String: Int]
  }

  /// Starts a server and returns when it listens.
  init() throws {
    process = try ChildProcess("python3", [Message.folder.appending(path: "server.py").path], output: .read)
    var line = Data()
    while line.last != UInt8(ascii: "\n") {
      line += try #require(process.read(), "server.py ended before it listened: run it by hand")
    }
    start = try JSONDecoder().decode(Start.self, from: line)
  }

  /// Returns the URL of a message, or, with `next`, that of the next request.
  func url(_ message: Message, _ target: String = "") throws -> URL {
    let port = try #require(start.ports[message.name])
    return TestSupport.url("http://127.0.0.1:\(port)/\(target)")
  }

  /// Makes the server send the rest of a message to its idle connections, and returns when this process has received
  /// it.
  func sendIdleBytes(of message: Message) async throws {
    let index = try #require(Message.table.messages.firstIndex { $0.name == message.name })
    let url = TestSupport.url("http://127.0.0.1:\(start.control)/\(index)")
    _ = try await control.answer(to: guarded(.get, url))
  }
}
#endif
