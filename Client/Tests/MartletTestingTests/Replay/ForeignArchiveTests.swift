import MartletEngine
import MartletObservation
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

/// Archives exported by browsers and other tools.
@Suite(.timeLimit(.minutes(5)))
struct ForeignArchiveTests {
  private func replay(_ response: String, request: String = #""method": "GET""#) throws -> ReplayTransport {
    let entry =
      #"{"startedDateTime": "2024-01-01T00:00:00Z", "request": {"url": "https://a.example/x", "#
      + request + #"}, "response": {"# + response + "}}"
    let text = #"{"log": {"creator": {"name": "WebInspector", "version": "537.36"}, "entries": ["# + entry + "]}}"
    return ReplayTransport(try HAR(json: Data(text.utf8)))
  }

  private func ask(_ replay: ReplayTransport, _ method: HTTPMethod = .get) async throws -> HTTPResponse {
    try await replay.send(HTTPRequest(method, url("https://a.example/x")), in: Call())
  }

  @Test func encodedBodiesAndPseudoFieldsAreSupported() async throws {
    let replay = try replay(
      #""status": 200, "httpVersion": "http/2.0", "headers": ["#
        + #"{"name": ":status", "value": "200"}, {"name": "content-encoding", "value": "br"}, "#
        + #"{"name": "content-length", "value": "3"}, {"name": "set-cookie", "value": "a=1\nb=2; Path=/"}, "#
        + #"{"name": "x-empty", "value": ""}], "#
        + #""content": {"size": 5, "mimeType": "text/plain", "text": "aGVsbG8=", "encoding": "base64"}"#)

    let response = try await ask(replay)

    #expect(try await response.body.collect(upTo: 100) == Data("hello".utf8))
    #expect(response.head.version == .http2)
    #expect(response.networkHead?.fields[values: .setCookie] == ["a=1", "b=2; Path=/"])
    #expect(response.fields[.contentLength] == "5")
    #expect(response.fields["X-Empty"] == "")
    #expect(response.fields.count == 4)
  }

  /// Browsers record an empty text for HTTP/2, which has no phrases.
  @Test(arguments: [
    (#""httpVersion": "HTTP/1.1", "statusText": "Nothing Here""#, "Nothing Here"),
    (#""httpVersion": "HTTP/1.1", "statusText": """#, ""), (#""httpVersion": "h2", "statusText": """#, "Not Found"),
    (#""httpVersion": "HTTP/2", "statusText": "Nothing Here""#, "Nothing Here"), (#""statusText": """#, "Not Found"),
  ])
  func theRecordedReasonPhraseIsReplayed(recorded: String, reason: String) async throws {
    let response = try await ask(replay(#""status": 404, "# + recorded))
    #expect(response.reason == reason)
    #expect(response.networkHead?.reason == reason)
  }

  @Test(arguments: [#"a=1\nb=2"#, #"a=1\r\nb=2"#, #"a=1\r\nb=2\r\n"#])
  func eachLineBreakDividesCookies(value: String) async throws {
    let replay = try replay(#""status": 200, "headers": [{"name": "set-cookie", "value": "\#(value)"}]"#)
    #expect(try await ask(replay).networkHead?.fields[values: .setCookie] == ["a=1", "b=2"])
  }

  @Test(arguments: [
    (#""status": 200, "content": {"size": 5, "mimeType": "text/plain"}"#, "left out: 5 bytes"),
    (#""status": 200, "content": {"size": 5, "text": "é", "encoding": "base64"}"#, "invalid base64"),
    (#""status": 0, "content": {"size": 0}"#, "there was no response"),
    (#""status": 0, "_error": "net::ERR_ABORTED""#, "net::ERR_ABORTED, as recorded"),
  ])
  func anIncompleteResponseIsAnError(response: String, message: String) async throws {
    let replay = try replay(response)
    let failure = await #expect(throws: HTTPError.self) { _ = try await ask(replay).body.collect(upTo: 100) }
    #expect(failure?.message.contains(message) == true)
  }

  @Test func aResponseWithoutABodyIsComplete() async throws {
    let empty = #""content": {"size": 0, "mimeType": "x-unknown"}"#
    #expect(try await ask(replay(#""status": 200, "# + empty)).body.collect(upTo: 9) == Data())
    let packed = #""status": 200, "content": {"size": 5}, "headers": [{"name": "Content-Length", "value": "5"}]"#
    let head = try await ask(replay(packed, request: #""method": "HEAD""#), .head)
    #expect(head.fields[.contentLength] == "5")
    #expect(try await head.body.collect(upTo: 9) == Data())
    #expect(try await ask(replay(#""status": 304, "content": {"size": 5}"#)).body.collect(upTo: 9) == Data())
    let redirect = try await ask(replay(#""status": 302, "redirectURL": "https://b.example/""#))
    #expect(redirect.fields[.location] == "https://b.example/")
  }

  @Test func secretsOfAForeignArchiveAreRedactedBeforeTheComparison() async throws {
    let recorded = try replay(
      #""status": 200"#,
      request: #""method": "POST", "postData": {"mimeType": "application/x-www-form-urlencoded", "#
        + #""params": [{"name": "user", "value": "a"}, {"name": "password", "value": "secret"}]}"#)
    let url = url("https://a.example/x")
    let body = RequestBody.form([("password", "other"), ("user", "a")])
    let request = HTTPRequest(.post, url, fields: body.fields, body: body)
    #expect(try await recorded.send(request, in: Call()).status == 200)
  }

  @Test func urlOfAForeignArchiveKeepsItsEscapesBesideCharactersThatNoURLHas() async throws {
    let text =
      #"{"log": {"entries": [{"startedDateTime": "2024-01-01T00:00:00Z", "request": {"method": "GET", "#
      + #""url": "https://a.example/x|y%20z"}, "response": {"status": 200}}]}}"#
    let replay = ReplayTransport(try HAR(json: Data(text.utf8)))

    let response = try await replay.send(HTTPRequest(.get, url("https://a.example/x%7Cy%20z")), in: Call())

    #expect(response.status == 200)
  }

  @Test func entriesOfOtherSchemesAreNotReportedAsUnused() throws {
    let text = #"{"log": {"entries": [{"request": {"url": "data:text/plain,a"}, "response": {}}]}}"#
    #expect(ReplayTransport(try HAR(json: Data(text.utf8))).unused.isEmpty)
  }
}
