#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

/// A client that reads HTTP/1.1 with a parser of its own.
enum OtherClient: String, Sendable, CaseIterable {
  /// The `curl` program.
  case curl
  /// Python's httpx, on h11, which was written after the RFC.
  case httpx
  /// Python's aiohttp, on llhttp, the parser of Node.
  case aiohttp

  /// The Python with the packages of `Interop/requirements.txt`; nil outside `make interop`.
  private static let python = ProcessInfo.processInfo.environment["MARTLET_INTEROP_PYTHON"]

  /// The clients that are installed: `make interop` has all of them.
  static let installed: [OtherClient] = python == nil ? [.curl] : allCases

  /// What a client makes of a reply.
  enum Outcome: Sendable, Equatable {
    /// An error with this text. `isCutOff` says whether the connection ended too early; nil if the client doesn't say.
    case refused(String, isCutOff: Bool?)
    case response(status: Int, fields: [String], body: Data)
  }

  /// Asks a server for replies, and returns the outcomes by the replies' numbers.
  func outcomes(of replies: [MutatedReply], at url: URL) throws -> [Int: Outcome] {
    switch self {
    case .curl: try CurlProgram().outcomes(of: replies, at: url)
    case .httpx, .aiohttp: try outcomesInPython(of: replies, at: url)
    }
  }

  /// A line of what `python_clients.py` prints.
  private struct Line: Decodable {
    let number: Int
    let refused: String?
    let status: Int?
    let fields: [String]?
    let body: Data?

    var outcome: Outcome? {
      if let refused { return .refused(refused, isCutOff: nil) }
      guard let status, let fields, let body else { return nil }
      return .response(status: status, fields: fields, body: body)
    }
  }

  private func outcomesInPython(of replies: [MutatedReply], at url: URL) throws -> [Int: Outcome] {
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
#endif
