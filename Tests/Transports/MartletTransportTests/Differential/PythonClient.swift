#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

/// A client of Python's, which nobody here wrote.
enum PythonClient: String, Sendable, CaseIterable {
  /// On h11, which is written after the RFC.
  case httpx
  /// On llhttp, the parser of Node.
  case aiohttp

  /// The Python with the packages of `Interop/requirements.txt`; nil outside `make interop`.
  static let python = ProcessInfo.processInfo.environment["MARTLET_INTEROP_PYTHON"]

  /// What a client makes of a reply.
  enum Outcome: Sendable, Equatable {
    case refused(String)
    case response(status: Int, fields: [String], body: Data)
  }

  private struct Line: Decodable {
    let number: Int
    let refused: String?
    let status: Int?
    let fields: [String]?
    let body: Data?

    var outcome: Outcome? {
      if let refused { return .refused(refused) }
      guard let status, let fields, let body else { return nil }
      return .response(status: status, fields: fields, body: body)
    }
  }

  /// Asks a server for replies, and returns the outcomes by the replies' numbers.
  func outcomes(of replies: [MutatedReply], at url: URL) throws -> [Int: Outcome] {
    let python = try #require(Self.python)
    let folder = try TemporaryFolder()
    let lines = replies.map { "\($0.number) \($0.method.rawValue)\n" }.joined()
    try folder.write(Data(lines.utf8), to: "requests")
    let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "python_clients.py").path
    let process = try ChildProcess(
      python, [program, rawValue, url.absoluteString, folder.file("requests").path], output: .read)
    let output = process.readToEnd()
    let decoder = JSONDecoder()
    let answers = try output.split(separator: 10).map { try decoder.decode(Line.self, from: $0) }
    return Dictionary(uniqueKeysWithValues: answers.compactMap { line in line.outcome.map { (line.number, $0) } })
  }
}

/// A reply of which a client of Python's and sockets have different outcomes.
struct PythonDifference: Sendable, CustomStringConvertible {
  let reply: MutatedReply
  let client: PythonClient
  let python: PythonClient.Outcome
  let sockets: ReplyOutcome

  /// nil if the outcomes are the same: refused by both, or equal status, fields and body.
  init?(_ reply: MutatedReply, _ client: PythonClient, _ python: PythonClient.Outcome, _ sockets: ReplyOutcome) {
    switch (python, sockets) {
    case (.refused, .refused): return nil
    case (.response(let status, let fields, let body), .response(let own)):
      if status == own.status, body == own.body, fields.map(Self.normalized) == own.fields.map(Self.normalized) {
        return nil
      }
    default: break
    }
    (self.reply, self.client, self.python, self.sockets) = (reply, client, python, sockets)
  }

  /// A field line with its name in lower case, without the white space around its value; h11 writes a
  /// `Transfer-Encoding` in lower case.
  static func normalized(_ line: String) -> String {
    let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return line }
    let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    let value = String(parts[1].drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    let name = parts[0].lowercased()
    return name + ":" + (name == "transfer-encoding" ? value.lowercased() : value)
  }

  var description: String {
    "reply \(reply.number) to \(reply.method.rawValue): \(MutatedReply.text(reply.bytes).debugDescription)\n"
      + "  \(client): \(python)\n  sockets: \(sockets)"
  }
}
#endif
