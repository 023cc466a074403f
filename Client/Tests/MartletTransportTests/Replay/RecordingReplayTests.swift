import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// A recording made over sockets gives the same responses without the server.
@Suite(.timeLimit(.minutes(5)))
struct RecordingReplayTests {
  private let folder: TemporaryFolder
  private let file: URL

  init() throws {
    folder = try TemporaryFolder()
    file = folder.url.appending(path: "deep/er/test.har")
  }

  /// Runs the same steps with the server, and then with the recording after the server was stopped.
  private func twice<Result: Equatable>(
    _ server: LoopbackServer, credentials: () -> [any CredentialSource] = { [] },
    _ steps: (HTTPSession) async throws -> Result
  ) async throws -> Result {
    func run(_ mode: Recording.Mode) async throws -> Result {
      let recording = try Recording(file: file, mode: mode, around: SocketTransport())
      #expect(recording.isRecording == (mode == .record))
      var configuration = SessionConfiguration()
      configuration.credentials = credentials()  // they remember what a server wants
      let result = try await steps(HTTPSession(transport: recording, configuration: configuration))
      try recording.save()
      #expect(recording.replay?.unused.isEmpty != false)
      return result
    }
    let recorded = try await run(.record)
    server.stop()
    let count = server.requests.count
    #expect(try await run(.replay) == recorded)
    #expect(server.requests.count == count)
    return recorded
  }

  private func text(_ session: HTTPSession, _ request: HTTPRequest) async throws -> String {
    let (data, response) = try await session.data(for: request)
    return "\(response.status.code) \(String(decoding: data, as: UTF8.self))"
  }

  @Test func requestsOfEveryKind() async throws {
    let binary = Data.counting(100_000)
    let server = try LoopbackServer { request in
      switch request.path {
      case "/redirect": .redirect(to: "/post")
      case "/binary": .data(binary, type: "image/png").chunked(size: 999)
      case "/empty": .status(.noContent)
      case "/hangup": .hangUp
      case "/short": .text("hello").truncated(after: 2)
      default: .text("\(request.method) \(request.text) \(request.target)").with("X-Tag", "a").with("X-Tag", "b")
      }
    }
    let results = try await twice(server) { session in
      var results: [String] = []
      results.append(try await text(session, HTTPRequest(.get, server.url("/get?a=1"))))
      let post = HTTPRequest(.post, server.url("/post"), body: try .json(["number": 1]))
      results.append(try await text(session, post))
      results.append(try await text(session, HTTPRequest(.get, server.url("/redirect"))))
      results.append(try await text(session, HTTPRequest(.get, server.url("/empty"))))
      results.append(try await text(session, HTTPRequest(.head, server.url("/head"))))
      let stream = RequestBody.stream {
        AsyncStream {
          $0.yield(Data("streamed".utf8)); $0.finish()
        }
      }
      results.append(try await text(session, HTTPRequest(.put, server.url("/put"), body: stream)))
      let (data, response) = try await session.data(for: HTTPRequest(.get, server.url("/binary")))
      results.append("\(data == binary) \(response.fields) \(response.head.version?.description ?? "")")
      for path in ["/hangup", "/short"] {
        do { results.append(try await text(session, HTTPRequest(.get, server.url(path)))) } catch {
          results.append(HTTPError(wrapping: error).kind.name)
        }
      }
      return results
    }
    #expect(results[0] == "200 GET  /get?a=1")
    #expect(results[1] == #"200 POST {"number":1} /post"#)
    #expect(results[2] == "200 GET  /post")
    #expect(results[5] == "200 PUT streamed /put")
    #expect(results[6].hasPrefix("true ") && results[6].hasSuffix("HTTP/1.1"))
    #expect(results[7...] == ["connectionLost", "connectionLost"])
  }

  @Test func equalRequestsInSequence() async throws {
    let count = Atomic(0)
    let server = try LoopbackServer { _ in .text("\(count.add(1, ordering: .relaxed).newValue)") }
    let results = try await twice(server) { session in
      var results: [String] = []
      for _ in 1...3 { results.append(try await text(session, HTTPRequest(.get, server.url("/")))) }
      return results
    }
    #expect(results == ["200 1", "200 2", "200 3"])
  }

  @Test func aLoginWithCookiesWhoseSecretsAreNotInTheFile() async throws {
    let server = try LoopbackServer { request in
      switch request.path {
      case "/login":
        .redirect(to: "/home?token=hidden1", status: .seeOther).with(.setCookie, "sid=hidden2; Path=/")
          .with(.setCookie, "lang=hidden3; Path=/")
      case "/home" where request.fields[.cookie]?.contains("sid=") == true:
        .json(#"{"access_token": "hidden4", "name": "Anna"}"#)
      default: .status(.forbidden)
      }
    }
    let results = try await twice(server) { session in
      let form = RequestBody.form([("user", "anna"), ("password", "hidden5")])
      let (data, response) = try await session.data(for: HTTPRequest(.post, server.url("/login"), body: form))
      return ["\(response.status.code)", "\(String(decoding: data, as: UTF8.self).contains("Anna"))"]
    }
    #expect(results == ["200", "true"])
    #expect(server.requests.last?.fields[.cookie]?.contains("sid=hidden2") == true)

    let json = String(decoding: try Data(contentsOf: file), as: UTF8.self)
    #expect(!json.contains("hidden"))
    let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test func digestAndBearer() async throws {
    let server = try LoopbackServer { request in
      let sent = request.fields[.authorization] ?? ""
      let isDigest = request.path == "/digest"
      if isDigest ? sent.contains("response=") : sent == "Bearer hidden" { return .text("in") }
      let challenge = isDigest ? "Digest realm=r, nonce=n, qop=auth, algorithm=SHA-256" : "Bearer"
      return .status(.unauthorized, fields: [.wwwAuthenticate: challenge])
    }
    let url = server.url
    let anna = Credential(user: "anna", password: "hidden")
    let results = try await twice(server, credentials: { [PasswordSource(anna, for: .origin(of: url))] }) { session in
      let digest = try await text(session, HTTPRequest(.get, server.url("/digest")))
      let refused = try await text(session, HTTPRequest(.get, server.url("/bearer")))
      let fields: HTTPFields = [.authorization: "Bearer hidden"]
      let bearer = try await text(session, HTTPRequest(.get, server.url("/bearer"), fields: fields))
      return [digest, refused, bearer]
    }
    #expect(results == ["200 in", "401 ", "200 in"])
    #expect(!String(decoding: try Data(contentsOf: file), as: UTF8.self).contains("hidden"))
  }

  @Test func anIncompletelyReadBodyIsMarkedInTheRecording() async throws {
    let server = try LoopbackServer { _ in .repeating(Data("0123456789".utf8), length: 8 << 20) }
    let request = HTTPRequest(.get, server.url("/"))
    let recording = try Recording(file: file, mode: .record, around: SocketTransport())
    let response = try await recording.send(request, in: Call())
    for try await _ in response.body { break }
    response.body.cancel()
    try recording.save()
    server.stop()

    let replayed = try await Recording(file: file, mode: .replay, around: SocketTransport()).send(request, in: Call())
    var first: Data?
    let failure = await #expect(throws: HTTPError.self) {
      for try await chunk in replayed.body { first = first ?? chunk }
    }
    #expect(first?.starts(with: Data("0123456789".utf8)) == true)
    #expect(failure?.message.contains("read no further when it was recorded") == true)
    #expect(failure?.message.contains(file.path) == true)
  }
}
