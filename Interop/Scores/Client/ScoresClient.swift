import Foundation
import Martlet

/// Makes the requests of a suite, given as one line of JSON each, and answers each with one line. `scores.mjs`
/// describes the content. A session starts like a freshly started program. It has its own cookies and
/// cache, with a session's default settings.
@main
enum ScoresClient {
  static func main() async throws {
    let sessions = Sessions(addresses: try addresses(CommandLine.arguments.dropFirst()))
    try await withThrowingTaskGroup(of: Void.self) { group in
      while let line = readLine() {
        let question = try JSONDecoder().decode(Question.self, from: Data(line.utf8))
        group.addTask { Answer.write(await sessions.answer(question)) }
      }
    }
  }

  /// Reads `NAME=ADDRESS` arguments.
  private static func addresses(_ arguments: ArraySlice<String>) throws -> [String: [String]] {
    var addresses: [String: [String]] = [:]
    for argument in arguments {
      let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2 else { throw CocoaError(.formatting, userInfo: [NSDebugDescriptionErrorKey: argument]) }
      addresses[parts[0]] = [parts[1]]
    }
    return addresses
  }
}

/// A request of a suite.
struct Question: Decodable, Sendable {
  var id: Int
  /// Requests with the same name share cookies and cache.
  var session: String
  var method: String
  var url: URL
  var fields: [[String]]
  var body: String?
  var followsRedirects: Bool
  /// The cache mode of the Fetch standard.
  var cache: String?
}

/// The result of the request.
struct Answer: Encodable, Sendable {
  var id: Int
  var status: Int?
  var fields: [[String]]?
  var body: String?
  var error: String?

  static func write(_ answer: Answer) {
    guard var line = try? JSONEncoder().encode(answer) else { return }
    line.append(UInt8(ascii: "\n"))
    try? FileHandle.standardOutput.write(contentsOf: line)
  }
}

/// The sessions of a run, each made on its first use.
actor Sessions {
  private var sessions: [String: HTTPSession] = [:]
  private let transport: SocketTransport

  init(addresses: [String: [String]]) {
    var options = SocketTransport.Options()
    options.addresses = addresses
    transport = SocketTransport(options: options)
  }

  private func session(_ name: String) -> HTTPSession {
    if let session = sessions[name] { return session }
    let session = HTTPSession(transport: transport)
    sessions[name] = session
    return session
  }

  nonisolated func answer(_ question: Question) async -> Answer {
    guard let method = HTTPMethod(rawValue: question.method) else {
      return Answer(id: question.id, error: "'\(question.method)' is no method")
    }
    var request = HTTPRequest(method, question.url)
    for field in question.fields where field.count == 2 { request.fields.append(field[1], forName: field[0]) }
    if let body = question.body { request.body = .data(Data(body.utf8)) }
    if !question.followsRedirects { request.options.redirectPolicy = .manual }
    switch question.cache {
    case "no-cache": request.options.cachePolicy = .reloadRevalidatingCacheData
    case "no-store", "reload": request.options.cachePolicy = .reloadIgnoringCacheData
    default: break
    }
    do {
      let (data, response) = try await session(question.session).data(for: request)
      return Answer(
        id: question.id, status: response.status.code, fields: response.fields.map { [$0.name.rawName, $0.value] },
        body: String(decoding: data, as: UTF8.self))
    } catch { return Answer(id: question.id, error: "\(error)") }
  }
}
