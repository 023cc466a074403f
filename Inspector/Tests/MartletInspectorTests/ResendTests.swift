@_spi(Toolkit) import MartletEngine
@testable import MartletInspector
import MartletObservation
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@Suite("Sending calls again", .timeLimit(.minutes(5)))
struct InspectorResendTests {
  /// An inspector that allows it, a session with it, and what its transport got.
  private struct Run {
    let run: InspectorRun
    let transport = RecordingTransport(around: MockTransport { _ in .text("a") })
    let session: HTTPSession

    init(_ change: (inout Inspector.Options) -> Void = { _ in }) throws {
      run = try InspectorRun {
        $0.allowsResending = true
        change(&$0)
      }
      var configuration = SessionConfiguration(cookies: nil, cache: nil)
      configuration.listeners = [run.inspector]
      session = HTTPSession(transport: transport, configuration: configuration)
    }

    /// Sends the call with this index again, as the page does.
    func resend(_ index: Int = 0, _ edit: String = "") async throws -> HTTPStatus {
      var request = run.request("/resend/\(run.ids[index])", .post)
      request.fields["Origin"] = run.base
      request.body = .data(Data(edit.utf8))
      return try await run.status(request)
    }

    /// The request that the page edits.
    func edit() async throws -> EditedRequest {
      try JSONDecoder().decode(EditedRequest.self, from: Data(try await run.text("/calls/\(run.ids[0])/edit").utf8))
    }
  }

  private static func json(_ edit: EditedRequest, _ change: (inout EditedRequest) -> Void) throws -> String {
    var edit = edit
    change(&edit)
    return String(decoding: try JSONEncoder().encode(edit), as: UTF8.self)
  }

  private static let request: HTTPRequest = {
    var request = HTTPRequest(.post, "http://a.example/login?access_token=secret1&a=1")
    request.fields["X-API-Key"] = "secret2"
    request.body = .form([("user", "anna"), ("password", "secret3")])
    return request
  }()

  @Test func itIsOffByDefault() async throws {
    let run = try InspectorRun()
    await run.call(Self.request, ScriptedTransport(.text("a")))
    var request = run.request("/resend/\(try #require(run.ids.first))", .post)
    request.fields["Origin"] = run.base
    #expect(try await run.status(request) == .forbidden)
    #expect(try await run.text("/calls/\(run.ids[0])").contains("\"maySend\":false"))
    #expect(try await run.status(run.request("/calls/\(run.ids[0])/edit")) == .notFound)
    #expect(run.ids.count == 1)
  }

  @Test(arguments: [nil, "http://evil.example", "null"])
  func onlyThePageItselfMaySendThem(_ origin: String?) async throws {
    let run = try Run()
    _ = try await run.session.data(for: Self.request)
    var request = run.run.request("/resend/\(run.run.ids[0])", .post)
    request.fields["Origin"] = origin
    #expect(try await run.run.status(request) == .forbidden)
    request.fields["Origin"] = run.run.base
    request.fields["Inspector-Key"] = nil
    #expect(try await run.run.status(request) == .unauthorized)
    request.fields["Inspector-Key"] = run.run.key
    request.fields[.host] = "evil.example"
    #expect(try await run.run.status(request) == .misdirectedRequest)
    #expect(run.transport.records.count == 1)
  }

  @Test func aCallIsSentAgainWithItsSecretsThroughItsSession() async throws {
    let run = try Run()
    _ = try await run.session.data(for: Self.request)
    #expect(try await run.resend() == .accepted)
    try await until { run.run.inspector.log.state.calls.last?.snapshot.end != nil && run.run.ids.count == 2 }
    let again = try #require(run.transport.records.last?.request)
    #expect(again.url == Self.request.url && again.fields["X-API-Key"] == "secret2")
    #expect(again.body.bytes == Self.request.body.bytes)
    #expect(again.fields[.contentType] == "application/x-www-form-urlencoded")
    #expect(run.run.inspector.log.state.calls.last?.label == "resent")
  }

  @Test func anEditedCallKeepsHiddenValuesThatWereNotEdited() async throws {
    let run = try Run()
    _ = try await run.session.data(for: Self.request)
    let edit = try await run.edit()
    #expect(edit.url == "http://a.example/login?access_token=***&a=1")
    #expect(!String(describing: edit).contains("secret"))
    let changed = try Self.json(edit) {
      $0.method = "PUT"
      $0.url = "http://a.example/other?access_token=***&a=2"
      $0.fields = [["X-API-Key", "***"], ["X-New", "1"], ["Content-Length", "99"], ["Content-Type", "text/plain"]]
      $0.body = "changed"
    }
    #expect(try await run.resend(0, changed) == .accepted)
    try await until { run.transport.records.count == 2 }
    let again = try #require(run.transport.records.last?.request)
    #expect(again.method == .put && again.url.absoluteString == "http://a.example/other?access_token=secret1&a=2")
    #expect(again.fields["X-API-Key"] == "secret2" && again.fields["X-New"] == "1")
    #expect(again.fields[.contentLength] == nil)  // mitmproxy 1946
    #expect(again.fields[.contentType] == "text/plain" && again.body.bytes == Data("changed".utf8))
  }

  @Test(arguments: [
    ("url", "http://evil.example/login?access_token=***&a=1"), ("url", "http://evil.example/"),
    ("url", "http://a.example:81/login"), ("url", "ftp://a.example/"), ("url", "http://a.example/?other_token=***"),
    ("body", "user=berta&password=***"), ("method", "NO METHOD"), ("fields", "X-Other-Key"),
  ])
  func hiddenValuesAreNeverSentElsewhere(_ member: String, _ value: String) async throws {
    let run = try Run()
    _ = try await run.session.data(for: Self.request)
    let changed = try Self.json(try await run.edit()) {
      switch member {
      case "url": $0.url = value
      case "body": $0.body = value
      case "method": $0.method = value
      default: $0.fields = [[value, "***"]]
      }
    }
    #expect(try await run.resend(0, changed) == .unprocessableContent)
    #expect(try await run.resend(0, "{") == .badRequest)
    #expect(run.transport.records.count == 1)
  }

  @Test func aCallToAnotherOriginIsSentWithoutHiddenValues() async throws {
    let run = try Run()
    _ = try await run.session.data(for: Self.request)
    let changed = try Self.json(try await run.edit()) {
      $0.url = "http://b.example/"
      $0.fields = [["X-API-Key", "mine"]]
      $0.body = "user=berta"
    }
    #expect(try await run.resend(0, changed) == .accepted)
    try await until { run.transport.records.count == 2 }
    let again = try #require(run.transport.records.last?.request)
    #expect(again.url.absoluteString == "http://b.example/" && again.fields["X-API-Key"] == "mine")
    #expect(again.body.bytes == Data("user=berta".utf8))
  }

  @Test func aLongBodyIsEditedAndAFieldOfTheBodyRemoved() async throws {
    let run = try Run()
    _ = try await run.session.data(for: Self.request)
    let long = String(repeating: "\"\n", count: 500_000)
    let changed = try Self.json(try await run.edit()) {
      $0.fields = []
      $0.body = long
    }
    #expect(changed.utf8.count > 1 << 20)
    #expect(try await run.resend(0, changed) == .accepted)
    try await until { run.transport.records.count == 2 }
    let again = try #require(run.transport.records.last?.request)
    #expect(again.body.bytes?.count == 1_000_000 && again.fields[.contentType] == nil)
    let unchanged = try Self.json(try await run.edit()) { $0.fields = [] }
    #expect(try await run.resend(0, unchanged) == .accepted)
    try await until { run.transport.records.count == 3 }
    #expect(run.transport.records.last?.request.fields[.contentType] == nil)
  }

  @Test func aLimitOfAnySizeIsAllowed() throws {
    let run = try Run { $0.bodyLimit = .max }
    #expect(run.run.base.hasPrefix("http://127.0.0.1:"))
  }

  @Test func whatIsNotKeptIsNotSentAgain() async throws {
    let run = try Run { $0.bodyLimit = 4 }
    var stream = HTTPRequest(.post, "http://a.example/")
    stream.body = .stream { AsyncStream<Data> { $0.finish() } }
    var long = HTTPRequest(.post, "http://a.example/")
    long.body = .data(Data("a long text".utf8))
    for (index, request) in [stream, long].enumerated() {
      _ = try await run.session.data(for: request)
      #expect(try await run.resend(index) == .conflict)
    }
    let log = run.run.inspector.log
    #expect(CallDetails(log.state.calls[0], log).obstacle == "its body is a stream, which is not kept")
    #expect(CallDetails(log.state.calls[1], log).obstacle?.contains("longer than 4 B") == true)
  }

  @Test func theInspectorDoesNotKeepTheSession() async throws {
    let run = try InspectorRun { $0.allowsResending = true }
    await run.call(HTTPRequest(.get, "http://a.example/"), ScriptedTransport(.text("a")))
    var request = run.request("/resend/\(try #require(run.ids.first))", .post)
    request.fields["Origin"] = run.base
    try await until { run.inspector.log.state.calls.first?.repetition?.session == nil }
    #expect(try await run.status(request) == .conflict)
  }

  @Test func onlyAFewAreInProgressAndTheyEndWithTheInspector() async throws {
    let transport = RecordingTransport(
      around: MockTransport { request in
        if request.url.path == "/slow" { try await Task.sleep(for: .seconds(600)) }
        return .text("a")
      })
    let resender = Resender()
    let session = HTTPSession(transport: transport, configuration: SessionConfiguration(cookies: nil, cache: nil))
    let request = HTTPRequest(.get, "http://a.example/slow")
    for _ in 0..<Resender.limit { #expect(resender.send(request, through: session)) }
    #expect(!resender.send(request, through: session))
    try await until { transport.records.count == Resender.limit }
    resender.close()
    #expect(!resender.send(request, through: session))
  }
}
