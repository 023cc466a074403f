@_spi(Toolkit) @testable import MartletObservation
@_spi(Toolkit) import MartletSemantics
import TestSupport
import Testing

@Suite("HAR")
struct HARTests {
  @Test func writingAndReadingGiveTheSameArchive() throws {
    var request = HAR.Request(method: "POST", url: "http://h/?a=1", httpVersion: "HTTP/1.1")
    request.headers = [HAR.Pair(name: "A", value: "1"), HAR.Pair(name: "A", value: "2")]
    request.postData = HAR.PostData(mimeType: "image/png", bytes: Data([0, 255]))
    var response = HAR.Response(status: 200, statusText: "OK", httpVersion: "HTTP/2")
    response.content = HAR.Content(mimeType: "text/plain", bytes: Data("ä".utf8))
    var timings = HAR.Timings()
    timings.wait = 12.5
    let entry = HAR.Entry(
      startedDateTime: Date(timeIntervalSince1970: 1.5), request: request, response: response, timings: timings)
    let har = HAR(log: HAR.Log(creator: HAR.Creator(name: "m", version: "1"), entries: [entry]))

    let read = try HAR(json: har.json())

    #expect(read == har)
    #expect(read.log.entries[0].request.postData?.bytes == Data([0, 255]))
    #expect(read.log.entries[0].response.content.bytes == Data("ä".utf8))
    #expect(read.log.entries[0].time == 12.5)
    #expect(String(decoding: try har.json(), as: UTF8.self).contains(#""1970-01-01T00:00:01.500Z""#))
  }

  @Test("A number that no duration can hold is bounded", arguments: ["1e300", "-1e300", "\"1e300\""])
  func hugeNumbers(_ number: String) throws {
    let text = """
      {"log": {"entries": [{"startedDateTime": "2026-01-01T00:00:00Z", "time": \(number),
        "request": {"url": "http://h/"}, "response": {"status": 200}, "timings": {"wait": \(number)}}]}}
      """
    let entry = try #require(try HAR(json: Data(text.utf8)).log.entries.first)
    #expect(abs(entry.time) <= 1e15 && abs(entry.timings.wait) <= 1e15)
  }

  @Test("An integer that cannot be added to others is bounded", arguments: [Int64.max, .min])
  func hugeIntegers(_ number: Int64) throws {
    let text = """
      {"log": {"entries": [{"request": {"bodySize": \(number)},
        "response": {"headersSize": \(number), "content": {"size": \(number), "compression": "\(number)"}}}]}}
      """
    let entry = try #require(try HAR(json: Data(text.utf8)).log.entries.first)
    let bound = 1_000_000_000_000_000 * number.signum()
    #expect(entry.request.bodySize == bound && entry.response.headersSize == bound)
    #expect(entry.response.content.size == bound && entry.response.content.compression == bound)
  }

  @Test func readingAcceptsTheVariantsOfOtherPrograms() throws {
    let text = """
      \u{FEFF}{"log": {"version": 1.2, "pages": [{"startedDateTime": "2009-04-16T12:07:25.123+01:00", "id": "p",
        "pageTimings": {"onLoad": null}}], "entries": [{"startedDateTime": "nonsense", "time": "12.5", "_own": {},
        "request": {"url": "http://h/", "bodySize": 12.0, "headers": [{"name": "A", "value": 1}],
          "postData": {"mimeType": "f", "params": [{"name": "a b", "value": "1&2"}, {"name": "c"}]}},
        "response": {"status": "200", "content": {"size": 2, "text": "AP8=", "encoding": "BASE64"}, "headers": null},
        "timings": {"wait": 3}, "connection": 80}]}}
      """
    let har = try HAR(json: Data(text.utf8))
    let entry = try #require(har.log.entries.first)

    #expect(har.log.version == "1.2" && har.log.pages?.first?.id == "p")
    #expect(entry.request.method == "GET" && entry.request.bodySize == 12 && entry.request.headers[0].value == "1")
    #expect(entry.request.postData?.bytes == Data("a+b=1%262&c=".utf8))
    #expect(entry.response.status == 200 && entry.response.content.bytes == Data([0, 255]))
    #expect(entry.time == 12.5 && entry.timings.wait == 3 && entry.timings.dns == -1 && entry.connection == "80")
  }

  @Test(arguments: ["nan", "inf", "-infinity", "1e999"])
  func anArchiveThatWasReadCanBeWritten(number: String) throws {
    let text = """
      {"log": {"entries": [{"time": "\(number)", "timings": {"wait": "\(number)"}, "request": {}, "response": {}}]}}
      """
    let har = try HAR(json: Data(text.utf8))

    #expect(try HAR(json: har.json()) == har)
  }

  @Test(arguments: ["", "[]", "{}", #"{"log": {"entries": [{}]}}"#])
  func textThatIsNotAnArchiveIsAnError(text: String) {
    #expect(throws: (any Error).self) { try HAR(json: Data(text.utf8)) }
  }

  @Test func anEntryOfAnotherProgramLosesTheSameSecretsAsARecordedOne() throws {
    let url = try #require(URL(string: "https://u:p@h/a?q=1&code=c&state=s&token=t"))
    let head = RequestHead(
      method: .post, url: url, fields: [.cookie: "a=1; b=2", .authorization: "Bearer x", .accept: "*/*"])
    let answer = ResponseHead(
      status: .found, fields: [.setCookie: "s=1; Path=/; HttpOnly", .location: "https://h/?token=t"])
    func entry(_ redaction: Redaction) -> HAR.Entry {
      HAR.Entry(
        startedDateTime: Date(timeIntervalSince1970: 1), request: HAR.Request(head, redaction: redaction),
        response: HAR.Response(answer, redaction: redaction), timings: HAR.Timings())
    }

    let recorded = entry(.standard)

    #expect(entry(.off).redacted(.standard) == recorded)
    #expect(recorded.redacted(.standard) == recorded)
    #expect(recorded.request.cookies.map(\.value) == ["***", "***"])
    #expect(recorded.request.queryString.map(\.value) == ["1", "***", "***", "***"])
  }

  @Test func theBodiesOfAnEntryAreRedacted() throws {
    let text = """
      {"log": {"entries": [{"startedDateTime": "2026-01-01T00:00:00Z",
        "request": {"url": "http://h/", "headers": [{"name": "content-type", "value": "application/json"}],
          "postData": {"text": "{\\"password\\": \\"p\\"}", "comment": "cut off"}},
        "response": {"status": 200, "content": {"size": 9, "mimeType": "application/json",
          "text": "{\\"token\\": \\"t\\"}"}}},
       {"startedDateTime": "2026-01-01T00:00:00Z", "request": {"url": "http://h/",
          "postData": {"mimeType": "multipart/form-data", "params": [{"name": "password", "value": "a&b"},
            {"name": "file"}, {"name": "color", "value": "blue"}]}},
        "response": {"status": 200}}]}}
      """
    let entries = try HAR(json: Data(text.utf8)).log.entries.map { $0.redacted(.standard) }

    let json = try #require(entries[0].request.postData)
    #expect(json.text == #"{"password": "***"}"# && json.comment == "cut off")
    #expect(entries[0].response.content.text == #"{"token": "***"}"# && entries[0].response.content.size == 9)
    let form = try #require(entries[1].request.postData)
    #expect(form.text == nil && form.params?.map(\.value) == ["***", nil, "blue"])
  }

  @Test func everyLineOfAFieldIsRedacted() throws {
    let text = #"""
      {"log": {"entries": [{"request": {"url": "http://h/"}, "response": {"status": 200, "headers": [
        {"name": "Set-Cookie", "value": "a=1; Path=/\nsid=SECRET; HttpOnly"},
        {"name": "set-cookie", "value": "b=2\r\nc=SECRET"}, {"name": "Server", "value": "s"}]}}]}}
      """#
    let entry = try #require(try HAR(json: Data(text.utf8)).log.entries.first).redacted(.standard)

    #expect(entry.response.headers.map(\.value) == ["a=***; Path=/\nsid=***; HttpOnly", "b=***\nc=***", "s"])
  }

  @Test func aFormIsRedactedInBothOfItsPlaces() throws {
    let text = """
      {"log": {"entries": [{"request": {"url": "http://h/", "postData": {
        "mimeType": "application/x-www-form-urlencoded", "text": "user=a&password=p",
        "params": [{"name": "user", "value": "a"}, {"name": "password", "value": "p"}]}}, "response": {}}]}}
      """
    let entry = try #require(try HAR(json: Data(text.utf8)).log.entries.first).redacted(.standard)

    let form = try #require(entry.request.postData)
    #expect(form.text == "user=a&password=***" && form.params?.map(\.value) == ["a", "***"])
  }

  @Test func aBodyThatCannotBeDecodedIsRemoved() throws {
    let text = """
      {"log": {"entries": [{"request": {"url": "http://h/", "postData": {"text": "secre", "encoding": "base64"}},
        "response": {"status": 200, "content": {"size": 5, "text": "secre", "encoding": "base64"}}}]}}
      """
    let entry = try #require(try HAR(json: Data(text.utf8)).log.entries.first)
    #expect(entry.request.postData?.text == "secre" && entry.request.postData?.bytes == nil)

    let redacted = entry.redacted(.standard)

    #expect(redacted.request.postData != nil && redacted.request.postData?.text == nil)
    #expect(redacted.response.content.text == nil && redacted.response.content.size == 5)
  }

  @Test func messagesOfAnotherProgramLoseTheSameSecretsAsRecordedOnes() {
    let secret = #"{"token": "t"}"#
    let contents: [(opcode: Int64, data: String)] = [
      (1, secret), (2, Data(secret.utf8).base64EncodedString()), (2, "AP8="), (2, "secre"), (8, "4000 \(secret)"),
      (8, "1000"),
    ]
    var entry = HAR.Entry(
      startedDateTime: Date(timeIntervalSince1970: 1), request: HAR.Request(method: "GET", url: "ws://h/"),
      response: HAR.Response(status: 101), timings: HAR.Timings())
    entry.webSocketMessages = contents.map {
      HAR.WebSocketMessage(type: "receive", time: 1, opcode: $0.opcode, data: $0.data)
    }

    let redacted = entry.redacted(.standard)

    let hidden = #"{"token": "***"}"#
    #expect(
      redacted.webSocketMessages?.map(\.data) == [
        hidden, Data(hidden.utf8).base64EncodedString(), "AP8=", "", "4000 \(hidden)", "1000",
      ])
    #expect(redacted.redacted(.standard) == redacted)
  }

  @Test func aHeadBecomesNamesAndValuesWithoutSecrets() throws {
    let url = try #require(URL(string: "https://u:p@h/a?q=x%20y&token=t#f"))
    let head = RequestHead(method: .get, url: url, fields: [.cookie: "a=1; b=2", "A": "1", "A": "2"])

    let hidden = HAR.Request(head, redaction: .standard)
    let shown = HAR.Request(head, redaction: .off)

    #expect(hidden.url == "https://h/a?q=x%20y&token=***")
    #expect(hidden.queryString == [HAR.Pair(name: "q", value: "x y"), HAR.Pair(name: "token", value: "***")])
    #expect(hidden.cookies.map(\.value) == ["***", "***"] && shown.cookies.map(\.value) == ["1", "2"])
    #expect(hidden.headers.map(\.value) == ["a=***; b=***", "1", "2"])
  }

  @Test func cookiesThatAreSetKeepTheirAttributes() throws {
    let line = "a=1; Path=/p; Domain=h; Expires=Sun, 06 Nov 1994 08:49:37 GMT; HttpOnly; Secure; SameSite=Lax"
    let head = ResponseHead(status: .found, fields: [.setCookie: line, .location: "/x"], version: .http1_1)

    let response = HAR.Response(head, redaction: .off)

    let cookie = try #require(response.cookies.first)
    #expect((cookie.name, cookie.value) == ("a", "1"))
    #expect((cookie.path, cookie.domain, cookie.expires) == ("/p", "h", "1994-11-06T08:49:37.000Z"))
    #expect(cookie.httpOnly == true && cookie.secure == true)
    #expect((response.status, response.statusText, response.httpVersion) == (302, "Found", "HTTP/1.1"))
    #expect(response.redirectURL == "/x")
  }

  @Test func theExpiryOfACookieIsParsedLeniently() {
    let line = "a=1; Expires=Sun, 06-Nov-1994 08:49:37 GMT"
    let head = ResponseHead(status: .ok, fields: [.setCookie: line])

    let response = HAR.Response(head, redaction: .off)

    #expect(response.cookies.first?.expires == "1994-11-06T08:49:37.000Z")
  }
}
