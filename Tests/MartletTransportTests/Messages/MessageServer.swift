#if os(Linux)
import MartletCurl
import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

/// The server that plays the table, `server.py`: each message on a port of its own. It ends when this object goes, or the
/// process does.
final class MessageServer: Sendable {
  private let process: ChildProcess
  private let start: Start
  private let control = CurlTransport()

  /// The first line of what it says.
  private struct Start: Decodable {
    let control: Int
    let ports: [String: Int]
  }

  /// Starts one and returns when it listens.
  init() throws {
    process = try ChildProcess(
      "/usr/bin/env", ["python3", Message.folder.appending(path: "server.py").path], output: .read)
    var line = Data()
    while line.last != UInt8(ascii: "\n") {
      line += try #require(process.read(), "server.py ended before it listened: run it by hand")
    }
    start = try JSONDecoder().decode(Start.self, from: line)
  }

  /// Where a message is played, or with `next` what is asked afterwards.
  func url(_ message: Message, _ target: String = "") throws -> URL {
    let port = try #require(start.ports[message.name])
    return try #require(URL(string: "http://127.0.0.1:\(port)/\(target)"))
  }

  /// Lets the server send to the message's idle connections what it has for them; returns when this process has received it.
  func sendIdleBytes(of message: Message) async throws {
    let index = try #require(Message.table.messages.firstIndex { $0.name == message.name })
    let url = try #require(URL(string: "http://127.0.0.1:\(start.control)/\(index)"))
    _ = try await control.answer(to: guarded(.get, url))
  }
}
#endif
