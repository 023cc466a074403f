@_spi(Toolkit) import MartletEngine
@testable import MartletInspector
import MartletObservation
import MartletSemantics
import MartletSockets
import MartletTesting
import TestSupport
import Testing

/// An inspector, and requests to its server.
struct InspectorRun {
  let inspector: Inspector
  let session = HTTPSession(transport: SocketTransport(), configuration: SessionConfiguration(cookies: nil, cache: nil))

  init(_ change: (inout Inspector.Options) -> Void = { _ in }) throws {
    var options = Inspector.Options()
    options.isAnnounced = false
    change(&options)
    inspector = try Inspector(options)
  }

  var key: String { inspector.url.fragment ?? "" }
  var base: String { String(inspector.url.absoluteString.prefix { $0 != "#" }.dropLast()) }

  /// A request as the page sends it.
  func request(_ target: String, _ method: HTTPMethod = .get) -> HTTPRequest {
    var request = HTTPRequest(method, "\(base)\(target)")
    request.fields["Inspector-Key"] = key
    return request
  }

  func status(_ request: HTTPRequest) async throws -> HTTPStatus { try await session.data(for: request).1.status }

  func text(_ target: String) async throws -> String {
    String(decoding: try await session.data(for: request(target)).0, as: UTF8.self)
  }

  /// Makes a call with the inspector as its listener.
  func call(_ request: HTTPRequest, _ transport: any Transport) async {
    var configuration = SessionConfiguration()
    configuration.listeners = [inspector]
    _ = try? await HTTPSession(transport: transport, configuration: configuration).data(for: request)
  }

  var ids: [UInt64] { inspector.log.state.calls.map(\.id) }
}

@Suite("Who may read the inspector", .timeLimit(.minutes(5)))
struct InspectorAccessTests {
  @Test func theURLHasAKeyOf128Bits() throws {
    let (one, other) = (try InspectorRun(), try InspectorRun())
    #expect(one.key.count == 32)
    #expect(one.key != other.key)
    #expect(one.inspector.url.host() == "127.0.0.1")
  }

  @Test(arguments: ["localhost", "evil.example", "127.0.0.1:1", "127.0.0.1"])
  func anotherHostIsRefused(_ host: String) async throws {
    let run = try InspectorRun()
    for target in ["/", "/changes", "/archive"] {
      var request = run.request(target)
      request.fields[.host] = host
      #expect(try await run.status(request) == .misdirectedRequest)
    }
  }

  @Test(arguments: [
    ("Origin", "http://evil.example"), ("Origin", "null"), ("Sec-Fetch-Site", "cross-site"),
    ("Sec-Fetch-Site", "same-site"),
  ])
  func anotherSiteIsRefused(_ name: String, _ value: String) async throws {
    let run = try InspectorRun()
    var request = run.request("/archive")
    request.fields[try FieldName(name)] = value
    #expect(try await run.status(request) == .forbidden)
  }

  @Test func thePagesOwnRequestsAreAnswered() async throws {
    let run = try InspectorRun()
    var request = run.request("/archive")
    request.fields["Origin"] = run.base
    request.fields["Sec-Fetch-Site"] = "same-origin"
    #expect(try await run.status(request) == .ok)
  }

  @Test(arguments: [nil, "", "0", String(repeating: "0", count: 32)])
  func aMissingOrWrongKeyIsRefused(_ key: String?) async throws {
    let run = try InspectorRun()
    for (target, method) in [("/changes", HTTPMethod.get), ("/calls/1", .get), ("/archive", .get), ("/clear", .post)] {
      var request = run.request(target, method)
      request.fields["Inspector-Key"] = key
      #expect(try await run.status(request) == .unauthorized)
    }
  }

  @Test(arguments: ["0", "-1", "9223372036854775807", "-9223372036854775808", "x"])
  func aNumberOfNoAttemptIsNotFound(_ number: String) async throws {
    let run = try InspectorRun()
    await run.call(HTTPRequest(.get, "http://a.example/"), MockTransport { _ in .text("hello") })
    let id = try #require(run.ids.first)
    #expect(try await run.text("/calls/\(id)/1/response") == "hello")
    #expect(try await run.status(run.request("/calls/\(id)/\(number)/response")) == .notFound)
    #expect(try await run.status(run.request("/calls/\(number)")) == .notFound)
  }

  @Test func otherMethodsAreRefused() async throws {
    let run = try InspectorRun()
    #expect(try await run.status(run.request("/clear", .delete)) == .methodNotAllowed)
  }

  @Test func thePageAllowsOnlyItsOwnScript() async throws {
    let run = try InspectorRun()
    let (page, response) = try await run.session.data(for: HTTPRequest(.get, "\(run.base)/"))
    let policy = try #require(response.fields["Content-Security-Policy"])
    let nonce = try #require(policy.firstMatch(of: /script-src 'nonce-([0-9a-f]{32})'/)?.output.1)
    #expect(policy.hasPrefix("default-src 'none';"))
    #expect(String(decoding: page, as: UTF8.self).contains("<script nonce=\"\(nonce)\">"))
    #expect(!String(decoding: page, as: UTF8.self).contains("{{"))
    #expect(response.fields["X-Content-Type-Options"] == "nosniff")
    #expect(response.fields["Referrer-Policy"] == "no-referrer")
    #expect(response.fields[.cacheControl] == "no-store")
    let second = try await run.session.data(for: HTTPRequest(.get, "\(run.base)/")).1
    #expect(second.fields["Content-Security-Policy"] != policy)
  }

  @Test func aBodyIsNeverADocument() async throws {
    let run = try InspectorRun()
    await run.call(HTTPRequest(.get, origin), ScriptedTransport(.text("<script>").with(.contentType, "text/html")))
    let id = try #require(run.ids.first)
    let (data, response) = try await run.session.data(for: run.request("/calls/\(id)/1/response"))
    #expect(String(decoding: data, as: UTF8.self) == "<script>")
    #expect(response.fields[.contentType] == "application/octet-stream")
    #expect(response.fields["X-Content-Type-Options"] == "nosniff")
    #expect(response.fields["Content-Security-Policy"]?.contains("sandbox") == true)
  }
}

@Suite("What the inspector shows", .timeLimit(.minutes(5)))
struct InspectorContentTests {
  @Test func aRedirectHasTwoAttemptsAndAReason() async throws {
    let run = try InspectorRun()
    await run.call(HTTPRequest(.get, origin), ScriptedTransport(.redirect(to: "/new"), .json(#"{"a":1}"#)))
    let id = try #require(run.ids.first)
    let details = try await run.text("/calls/\(id)")
    #expect(details.contains("again: 302 redirect to"))
    #expect(details.contains(#""attempts":2"#))
    #expect(try await run.text("/calls/\(id)/2/response") == #"{"a":1}"#)
  }

  @Test func secretsAreReplaced() async throws {
    let run = try InspectorRun()
    var request = HTTPRequest(.post, "http://a.example/?access_token=secret1")
    request.fields[.authorization] = "Bearer secret2"
    request.fields[.contentType] = "application/json"
    request.body = .data(Data(#"{"password": "secret3"}"#.utf8))
    await run.call(request, ScriptedTransport(.json(#"{"token": "secret4"}"#).with(.setCookie, "id=secret5")))
    let id = try #require(run.ids.first)
    for target in ["/calls/\(id)", "/calls/\(id)/1/request", "/calls/\(id)/1/response", "/archive"] {
      let text = try await run.text(target)
      #expect(!text.contains("secret"), "\(target)")
      #expect(text.contains("***"))
    }
    #expect(try await run.text("/search?text=secret4") == "[]")
  }

  @Test func equalHiddenValuesHaveTheSameFingerprint() async throws {
    let run = try InspectorRun()
    for token in ["one", "one", "other"] {
      let request = HTTPRequest(.get, origin, fields: [.authorization: "Bearer \(token)", .accept: "text/plain"])
      await run.call(request, ScriptedTransport(.text("a").with(.setCookie, "id=\(token)")))
    }
    var marks: [Set<Substring>] = []
    for id in run.ids {
      marks.append(Set(try await run.text("/calls/\(id)").matches(of: /"([0-9a-f]{4})"/).map(\.output.1)))
    }
    #expect(marks.allSatisfy { $0.count == 2 })
    #expect(marks[0] == marks[1] && marks[0].isDisjoint(with: marks[2]))
    #expect(try await run.text("/archive").firstMatch(of: /"[0-9a-f]{4}"/) == nil)
  }

  @Test func withoutRedactionThereAreNoFingerprints() async throws {
    let run = try InspectorRun { $0.redaction = .off }
    let request = HTTPRequest(.get, origin, fields: [.authorization: "Bearer one"])
    await run.call(request, ScriptedTransport(.text("a")))
    let details = try await run.text("/calls/\(try #require(run.ids.first))")
    #expect(details.contains("Bearer one"))
    #expect(details.firstMatch(of: /"[0-9a-f]{4}"/) == nil)
    #expect(details.contains(#""hidden":[]"#))
  }

  @Test func copiesTellWhichSecretsTheyLack() async throws {
    let run = try InspectorRun()
    var request = HTTPRequest(.post, "https://a.example/?access_token=1", fields: [.contentType: "application/json"])
    request.fields["X-API-Key"] = "secret"
    request.body = .data(Data(#"{"password": "secret"}"#.utf8))
    var configuration = SessionConfiguration()
    configuration.listeners = [run.inspector]
    configuration.credentials = [TokenSource(AccessToken("token"), for: .any)]
    _ = try await HTTPSession(transport: ScriptedTransport(.text("a")), configuration: configuration).data(for: request)
    let details = try await run.text("/calls/\(try #require(run.ids.first))")
    #expect(details.contains(#""hidden":["X-API-Key","URL","body"]"#))
    #expect(details.contains(#""added":["Authorization"]"#))
  }

  @Test func aDecodedResponseTellsItsCodingAndBothSizes() async throws {
    let run = try InspectorRun()
    let text = String(repeating: "compressed ", count: 200)
    let bytes = try #require(
      Data(base64Encoded: "H4sIAAAAAAACA0vOzy0oSi0uTk1RSB5ljjJHmaPMUeYoc5Q5yhxIJgAV7L4umAgAAA=="))
    let server = try LoopbackServer { request in
      if request.path == "/old" { return .redirect(to: "/new") }
      return Reply(fields: [.contentType: "text/plain", .contentEncoding: "gzip"], content: bytes)
    }
    await run.call(HTTPRequest(.get, server.url("/old")), SocketTransport())
    let id = try #require(run.ids.first)
    let details = try await run.text("/calls/\(id)")
    #expect(details.matches(of: /"decoded":"gzip"/).count == 1)
    #expect(details.contains("\"bodySize\":\(bytes.count)") && details.contains("\"size\":2200"))
    #expect(try await run.text("/calls/\(id)/2/response") == text)
  }

  @Test func textInBodiesIsFound() async throws {
    let run = try InspectorRun()
    await run.call(HTTPRequest(.get, origin), ScriptedTransport(.text("Anna is here")))
    await run.call(HTTPRequest(.get, origin), ScriptedTransport(.text("nobody is here")))
    #expect(try await run.text("/search?text=anna") == "[\(run.ids[0])]")
    #expect(try await run.text("/search?text=anna&calls=\(run.ids[0]),9") == "[\(run.ids[0])]")
    #expect(try await run.text("/search?text=anna&calls=\(run.ids[1])") == "[]")
  }

  @Test func theCacheTellsItsDecisionAndTheRule() async throws {
    let run = try InspectorRun()
    await run.call(HTTPRequest(.get, origin), ScriptedTransport(.text("a").with(.cacheControl, "no-store")))
    let details = try await run.text("/calls/\(try #require(run.ids.first))")
    #expect(details.contains("the response is not stored: it has no-store"))
    #expect(details.contains(#""rule":"RFC 9111 §5.2.2.5""#))
  }

  @Test func aDeprecatedResourceIsAnnounced() async throws {
    let run = try InspectorRun()
    await run.call(HTTPRequest(.get, origin), ScriptedTransport(.text("a").with("Deprecation", "@1688169599")))
    let details = try await run.text("/calls/\(try #require(run.ids.first))")
    #expect(details.contains("the server announces: deprecated as of 2023-06-30T23:59:59Z"))
    #expect(details.contains(#""rule":"RFC 9745, RFC 8594""#))
  }

  @Test func cookiesThatAreStoredAndRefusedHaveANameAndNoValue() async throws {
    let run = try InspectorRun()
    let good = MockResponse.text("a").with(.setCookie, "good=secret")
    let response = good.with(.setCookie, "bad=secret; Domain=b.example")
    await run.call(HTTPRequest(.get, origin), ScriptedTransport(response))
    let details = try await run.text("/calls/\(try #require(run.ids.first))")
    #expect(details.contains("stored cookies: good\"") && details.contains("the host does not belong to its Domain"))
    #expect(!details.contains("secret"))
  }

  @Test func theCountersDoNotDependOnTheRing() async throws {
    let run = try InspectorRun {
      $0.callLimit = 2
      $0.pools = { Origin(origin).map { [$0: PoolStatistics()] } ?? [:] }
    }
    for status in [HTTPStatus.ok, .notFound, .ok, .ok] {
      await run.call(HTTPRequest(.get, origin), ScriptedTransport(.text("abc", status: status)))
    }
    let counted = run.inspector.log.counters(since: 0)
    #expect(counted.count == 4)
    #expect(counted.seconds.reduce(0) { $0 + $1.calls } == 4)
    #expect(counted.seconds.reduce(0) { $0 + $1.failures } == 1)
    #expect(counted.seconds.reduce(0) { $0 + $1.received } == 12)
    let (body, _) = try await run.session.bytes(for: run.request("/changes"))
    var lines = body.lines.makeAsyncIterator()
    while let line = try await lines.next(), !line.contains(#""pool":{"#) { continue }
    body.cancel()
  }

  @Test(arguments: [true, false]) func aCallThatIsNotRecordedAnyMoreIsCountedAsItEnds(fails: Bool) throws {
    var options = Inspector.Options()
    options.callLimit = 1
    let log = try CallLog(options)
    let first = try #require(log.begin(1, label: nil, HTTPRequest(.get, origin)))
    log.update(first, .attempt(1, HTTPRequest(.get, origin)))
    log.update(first, .progress(Event.Progress(.received, completed: 3, total: 5)))
    _ = log.begin(2, label: nil, HTTPRequest(.get, origin))
    log.update(first, .progress(Event.Progress(.received, completed: 5, total: 5)))
    log.update(first, .finished(fails ? HTTPError(.connectionLost, "lost") : nil))

    let seconds = log.counters(since: 0).seconds
    #expect(seconds.map(\.calls) == [1])
    #expect(seconds.map(\.failures) == [fails ? 1 : 0])
    #expect(seconds.map(\.received) == [5])
  }

  @Test func aSecondIsKeptForFiveMinutes() {
    var counters = CallCounters()
    for second in 0..<400 { counters.add(.init(isCached: true, received: 2), at: second) }
    counters.add(.init(), at: 398)
    #expect(counters.since(0).map(\.number) == Array(100..<400))
    #expect(counters.since(399).map(\.calls) == [2])
  }

  @Test func theRingIsBoundedInCallsAndKeepsPinnedOnes() async throws {
    let run = try InspectorRun { $0.callLimit = 3 }
    await run.call(HTTPRequest(.get, origin), ScriptedTransport(.text("first")))
    let first = try #require(run.ids.first)
    #expect(try await run.status(run.request("/pin/\(first)", .post)) == .noContent)
    for _ in 0..<5 { await run.call(HTTPRequest(.get, origin), ScriptedTransport(.text("more"))) }
    #expect(run.ids.count == 3)
    #expect(run.ids.first == first)
    #expect(try await run.status(run.request("/clear", .post)) == .noContent)
    #expect(run.ids == [first])
  }

  @Test func theRingIsBoundedInBytes() async throws {
    let run = try InspectorRun {
      $0.byteLimit = 10_000
      $0.bodyLimit = 4000
    }
    for _ in 0..<20 {
      var request = HTTPRequest(.post, origin)
      request.body = .data(Data(count: 3000))
      await run.call(request, ScriptedTransport(.data(Data(count: 9000))))
      #expect(run.inspector.log.heldBytes <= 10_000)
    }
    #expect(run.ids.count == 1)
    let id = try #require(run.ids.first)
    #expect(try await run.session.data(for: run.request("/calls/\(id)/1/response")).0.count == 4000)
    #expect(try await run.text("/calls/\(id)").contains("cut off after 4000 of 9000 bytes"))
    run.inspector.log.clear()
    #expect(run.inspector.log.heldBytes == 0)
  }

  @Test func aCallThatDoesNotEndIsShownAndToldToThePage() async throws {
    let run = try InspectorRun()
    let (body, _) = try await run.session.bytes(for: run.request("/changes"))
    var lines = body.lines.makeAsyncIterator()
    #expect(try await lines.next() == "event: hello")
    let gate = Gate()
    let server = try LoopbackServer { _ in Reply.text("the beginning").stalled(after: 3, until: gate) }
    let call = Task { await run.call(HTTPRequest(.get, server.url("/never")), SocketTransport()) }
    _ = try await server.request(1)
    var line = ""
    while !line.contains("/never") || !line.contains(#""state":"running""#) {
      line = try #require(try await lines.next())
    }
    gate.open()
    while !line.contains(#""state":"done""#) { line = try #require(try await lines.next()) }
    await call.value
    body.cancel()
  }

  /// A pause is at least as long as it says, so a slow machine allows more pieces, not fewer.
  @Test func thePageGetsAFewPiecesASecondHoweverManyCallsThereAre() async throws {
    let run = try InspectorRun()
    let (body, _) = try await run.session.bytes(for: run.request("/changes"))
    var lines = body.lines.makeAsyncIterator()
    #expect(try await lines.next() == "event: hello")
    let start = ContinuousClock.now
    let calls = Task {
      while !Task.isCancelled {
        await run.call(HTTPRequest(.get, origin), ScriptedTransport(.text("more")))
      }
    }
    var pieces = 0
    while pieces < 5, let line = try await lines.next() { if line == "event: calls" { pieces += 1 } }
    calls.cancel()
    await calls.value
    #expect(start.duration(to: .now) >= .milliseconds(400))
    body.cancel()
  }

  @Test func aFailureTellsItsPhase() async throws {
    let run = try InspectorRun()
    let server = try LoopbackServer { _ in .text("not TLS") }
    await run.call(HTTPRequest(.get, "https://127.0.0.1:\(server.port)/"), SocketTransport())
    let id = try #require(run.ids.first)
    #expect(try await run.text("/calls/\(id)").contains("failed during the TLS handshake: "))
  }

  @Test func closingEndsPagesAndRecording() async throws {
    let run = try InspectorRun()
    let (body, _) = try await run.session.bytes(for: run.request("/changes"))
    var lines = body.lines.makeAsyncIterator()
    #expect(try await lines.next() == "event: hello")
    run.inspector.close()
    while let line = try? await lines.next() { #expect(!line.contains("event: calls")) }
    await run.call(HTTPRequest(.get, origin), ScriptedTransport(.text("later")))
    #expect(run.ids.isEmpty)
    await #expect(throws: HTTPError.self) { try await run.status(run.request("/archive")) }
  }

  @Test func manyPagesThatDoNotReadHoldNothing() async throws {
    let run = try InspectorRun { $0.callLimit = 50 }
    var pages: [ResponseBody] = []
    for _ in 0..<8 { pages.append(try await run.session.bytes(for: run.request("/changes")).0) }
    for _ in 0..<500 { await run.call(HTTPRequest(.get, origin), ScriptedTransport(.text("more"))) }
    #expect(run.ids.count == 50)
    #expect((50 * RecordedCall.overhead..<50 * (2 * RecordedCall.overhead)).contains(run.inspector.log.heldBytes))
    for page in pages { page.cancel() }
  }
}
