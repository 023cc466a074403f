import Glibc
import MartletEngine
import MartletObservation
import MartletSemantics
import MartletSockets
import MartletTesting
import TestSupport
import Testing

/// A shell runs `curlCommand`, and the server receives the same request as from a session.
@Suite("curl commands and sessions send the same request", .timeLimit(.minutes(5)))
struct CommandComparisonTests {
  private static let text = Data("it's \"quoted\" $HOME `id` \\ !\n%s & ä=ö\r\n\ttab".utf8)
  private static let binary = Data((0...255).map { UInt8($0) })

  @Test(arguments: [
    HTTPRequest(.get, URL(filePath: "/a?b=c&d=%20'")),
    HTTPRequest(.head, URL(filePath: "/")),
    HTTPRequest(.delete, URL(filePath: "/a/../b/./c;p=1")),
    HTTPRequest(.get, URL(filePath: "/"), fields: [.accept: "text/html", "X-A": "1", "X-A": "it's 2", "X-Empty": ""]),
    HTTPRequest(.get, URL(filePath: "/"), fields: [.userAgent: "m/1", .range: "bytes=0-3"]),
    HTTPRequest(.post, URL(filePath: "/")),
    HTTPRequest(.post, URL(filePath: "/"), body: .data(text)),
    HTTPRequest(.put, URL(filePath: "/"), fields: [.contentType: "text/plain"], body: .data(text)),
    HTTPRequest(.get, URL(filePath: "/"), body: .data(text)),
    HTTPRequest(.post, URL(filePath: "/"), fields: [.contentType: "application/x-own"], body: .data(binary)),
    HTTPRequest(.post, URL(filePath: "/"), body: .data(Data("--boundary\r\n".utf8) + binary)),
    HTTPRequest(.post, URL(filePath: "/"), body: .data(Data(repeating: 65, count: 300_000))),
    HTTPRequest(.patch, URL(filePath: "/"), fields: [.acceptEncoding: "identity"], body: .data(Data("@x".utf8))),
  ])
  func theCommandSendsTheSameRequest(request: HTTPRequest) async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let arrived = try await arrivals(of: request, at: server)

    #expect(arrived[0] == arrived[1])
  }

  @Test func theCommandSendsTheSameFile() async throws {
    let folder = try TemporaryFolder()
    try folder.write(Data(repeating: 66, count: 2 << 20), to: "it's a file")
    let server = try LoopbackServer { _ in .text("hello") }
    let request = HTTPRequest(.put, URL(filePath: "/"), body: .file(folder.file("it's a file")))
    let arrived = try await arrivals(of: request, at: server)

    #expect(arrived[0] == arrived[1] && arrived[0].body.count == 2 << 20)
  }

  @Test func theCommandFollowsTheSameRedirects() async throws {
    let server = try LoopbackServer { request in
      request.path == "/" ? .redirect(to: "/new", status: 303) : .text("there")
    }
    let request = HTTPRequest(.post, server.url("/"), body: .data(Data("x".utf8)))
    _ = try await HTTPSession(transport: SocketTransport()).data(for: request)
    _ = try run(request.curlCommand(redaction: .off))

    #expect(server.requests.map { "\($0.method) \($0.path)" } == ["POST /", "GET /new", "POST /", "GET /new"])
  }

  @Test func theUserInTheURLIsAuthenticated() async throws {
    let server = try LoopbackServer { request in
      request.fields.contains(.authorization)
        ? .text("hello") : .status(.unauthorized, fields: [.wwwAuthenticate: "Basic realm=\"a\""])
    }
    let target = url("http://anna:it's%20secret@127.0.0.1:\(server.port)/")
    let request = HTTPRequest(.get, target)
    let (_, response) = try await session.data(for: request)
    _ = try run(request.curlCommand(redaction: .off))

    let answers = server.requests.compactMap { $0.fields[.authorization] }
    #expect(response.status == .ok && answers.count == 2 && answers[0] == answers[1])
  }

  /// A session that adds no fields of its own to the request.
  private var session: HTTPSession {
    var configuration = SessionConfiguration()
    configuration.userAgent = nil
    return HTTPSession(transport: SocketTransport(), configuration: configuration)
  }

  private struct Arrival: Equatable {
    let method: HTTPMethod
    let target: String
    let fields: [String]
    let body: Data

    init(_ request: ReceivedRequest) {
      method = request.method
      target = request.target
      // RFC 9110 §12.5.3: without weights, the order of codings means nothing
      let codings = request.fields.list(.acceptEncoding).sorted().joined(separator: ", ")
      var fields = request.fields
      if !codings.isEmpty { fields[.acceptEncoding] = codings }
      self.fields = fields.map { "\($0.name.canonicalName): \($0.value)" }.sorted()
      body = request.body
    }
  }

  /// Sends the request to the server, once with a session and once with the shell. The file URL's path is the target.
  private func arrivals(of request: HTTPRequest, at server: LoopbackServer) async throws -> [Arrival] {
    var request = request
    let target = request.url.path
    let encoded = target.replacing("'", with: "%27")
    request.url = try #require(
      URL(string: "http://127.0.0.1:\(server.port)\(encoded)"))
    _ = try await session.data(for: request)
    #expect(try run(request.curlCommand(redaction: .off)) == 0)
    let received = server.requests
    try #require(received.count == 2)
    return received.map(Arrival.init)
  }

  private func run(_ command: String) throws -> Int32? {
    let quiet = command.replacing("curl ", with: "curl -q -s --noproxy '*' -o /dev/null ", maxReplacements: 1)
    let folder = try TemporaryFolder()
    let script = try folder.write(Data(quiet.utf8), to: "command")
    let shell = try ChildProcess("sh", [script.path], output: .read)
    _ = shell.readToEnd()
    return shell.exitCode()
  }
}
