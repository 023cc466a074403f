import Foundation
import Martlet
import MartletEngine
import MartletSemantics
import MartletTesting
import SAPFoundation
import Synchronization
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The same scenario with the engine's session and with SAP's sends the same requests.
@Suite(.timeLimit(.minutes(5)))
struct ParityTests {
  /// The parts of a request that are the same on every run.
  private struct Line: Equatable, CustomStringConvertible {
    let description: String

    init(_ request: ReceivedRequest) {
      let fields = request.fields.map { field -> String in
        switch field.name {
        case .host: "host"
        case .authorization: "authorization: \(field.value.prefix { $0 != " " })"
        default: "\(field.name.canonicalName): \(field.value)"
        }
      }
      description = "\(request.method) \(request.target) \(fields.sorted()) \(request.text)"
    }
  }

  /// One step of a scenario, in both forms.
  private struct Step: Sendable {
    var method: HTTPMethod = .get
    var path = "/"
    var body: Data?
    var type: String?
    var file: URL?
    var isCancelled = false
  }

  private func traffic(
    _ steps: [Step], _ respond: @escaping @Sendable (LoopbackRequest, Int) throws -> Reply,
    run: @Sendable ([Step], LoopbackServer) async throws -> Void
  ) async throws -> [Line] {
    let count = Atomic(0)
    let server = try LoopbackServer { try respond($0, count.add(1, ordering: .relaxed).newValue) }
    try await run(steps, server)
    return server.requests.map { Line($0) }
  }

  private func expectParity(
    _ steps: [Step], count: Int, sourceLocation: SourceLocation = #_sourceLocation,
    _ respond: @escaping @Sendable (LoopbackRequest, Int) throws -> Reply
  ) async throws {
    let engine = try await traffic(steps, respond, run: runOnEngine)
    let surface = try await traffic(steps, respond, run: runOnSurface)

    #expect(engine == surface, sourceLocation: sourceLocation)
    #expect(engine.count == count, sourceLocation: sourceLocation)
  }

  private func runOnEngine(_ steps: [Step], _ server: LoopbackServer) async throws {
    var configuration = SessionConfiguration()
    configuration.credentials = [
      PasswordSource(Credential(user: "anna", password: "secret"), for: .origin(of: server.url))
    ]
    let session = HTTPSession(configuration: configuration)
    for step in steps {
      var request = HTTPRequest(step.method, server.url(step.path))
      if let body = step.body { request.body = .data(body) }
      if let type = step.type { request.fields[.contentType] = type }
      if let file = step.file { request.body = .file(file) }
      let known = server.requests.count
      let work = Task { [request] in try await session.data(for: request) }
      if step.isCancelled {
        _ = try await server.request(known + 1)
        work.cancel()
      }
      _ = try? await work.value
    }
  }

  private func runOnSurface(_ steps: [Step], _ server: LoopbackServer) async throws {
    let session = SAPURLSession(configuration: .ephemeral)
    session.register(
      ObserverProbe { probe in
        probe.onChallenge = { _ in .use(URLCredential(user: "anna", password: "secret", persistence: .none)) }
      })
    for step in steps {
      var request = URLRequest(step.method.rawValue, server.url(step.path))
      request.httpBody = step.body
      if let type = step.type { request.setValue(type, forHTTPHeaderField: "Content-Type") }
      let known = server.requests.count
      let end = Gate()
      let task =
        step.file.map { session.uploadTask(with: request, fromFile: $0) { _, _, _ in end.open() } }
        ?? session.dataTask(with: request) { _, _, _ in end.open() }
      task.resume()
      if step.isCancelled {
        _ = try await server.request(known + 1)
        task.cancel()
      }
      try await end.wait()
    }
  }

  @Test func get() async throws {
    try await expectParity([Step(path: "/a?b=c%20d")], count: 1) { _, _ in .text("hello") }
  }

  @Test func postJSON() async throws {
    let step = Step(method: .post, body: Data(#"{"a":1}"#.utf8), type: "application/json")
    try await expectParity([step], count: 1) { _, _ in .json("{}") }
  }

  @Test(arguments: [HTTPStatus.found, .temporaryRedirect]) func redirect(status: HTTPStatus) async throws {
    let step = Step(method: .post, path: "/here", body: Data("body".utf8), type: "text/plain")
    try await expectParity([step], count: 2) { request, _ in
      request.path == "/here" ? .redirect(to: "/there", status: status) : .text("hello")
    }
  }

  @Test(arguments: [#"Basic realm="r""#, #"Digest realm="r", nonce="n", qop="auth""#])
  func challenge(_ challenge: String) async throws {
    try await expectParity([Step()], count: 2) { request, _ in
      request.fields.contains(.authorization)
        ? .text("welcome") : .status(.unauthorized, fields: [.wwwAuthenticate: challenge])
    }
  }

  @Test func cookieRoundTrip() async throws {
    try await expectParity([Step(path: "/set"), Step(path: "/get")], count: 2) { request, _ in
      request.path == "/set" ? .text("set").with(.setCookie, "a=1").with(.setCookie, "b=2; Path=/get") : .text("got")
    }
  }

  @Test func revalidationOfACachedGet() async throws {
    try await expectParity([Step(), Step(), Step()], count: 3) { request, _ in
      request.fields[.ifNoneMatch] == "\"1\""
        ? .status(.notModified)
        : .text("hello").with(.eTag, "\"1\"").with(.cacheControl, "no-cache")
    }
  }

  @Test func hitsOfTheCache() async throws {
    try await expectParity([Step(), Step(), Step()], count: 1) { _, _ in
      .text("hello").with(.cacheControl, "max-age=60")
    }
  }

  @Test func uploadFromAFile() async throws {
    let folder = try TemporaryFolder()
    try Data((0..<200_000).map { UInt8($0 % 97) }).write(to: folder.file("a.bin"))
    try await expectParity([Step(method: .put, file: folder.file("a.bin"))], count: 1) { _, _ in .status(.created) }
  }

  @Test func cancelled() async throws {
    try await expectParity([Step(isCancelled: true)], count: 1) { _, _ in .text("never").stalled(after: 0) }
  }

  @Test func retryOnAStaleConnection() async throws {
    // the first connection is closed silently after its first reply: the next request finds it stale
    try await expectParity([Step(path: "/1"), Step(path: "/2")], count: 2) { _, number in
      number == 1 ? .text("hello").closingSilently() : .text("hello")
    }
  }
}
