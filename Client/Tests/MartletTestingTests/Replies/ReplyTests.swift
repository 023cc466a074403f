import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ReplyTests {
  @Test func repeatedFieldsStayRepeated() throws {
    let client = try ConnectedServer { _ in .status(200).with(.setCookie, "a=1").with(.setCookie, "b=2") }
    try client.get("/")
    #expect(try client.head() == "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n")
  }

  @Test(arguments: [
    (Reply.json(#"{"a":1}"#), "application/json", #"{"a":1}"#),
    (.text("x", status: 500), "text/plain; charset=utf-8", "x"),
    (.data(Data("x".utf8), type: "image/png"), "image/png", "x"),
    (.repeating(Data("abc".utf8), length: 7), "application/octet-stream", "abcabca"),
    (.repeating(Data(), length: 7), "application/octet-stream", ""),
  ])
  func aBodyHasItsTypeAndLength(reply: Reply, type: String, body: String) throws {
    let client = try ConnectedServer { _ in reply }
    try client.get("/")
    let response = try client.response()
    #expect(response.head.contains("Content-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n"))
    #expect(response.body == body)
  }

  @Test func valuesAreEncodedAsJSON() throws {
    let client = try ConnectedServer { _ in try .json(encoding: ["a": [1, 2]]) }
    try client.get("/")
    #expect(try client.response().body == #"{"a":[1,2]}"#)
  }

  @Test func redirectsNameTheirTarget() throws {
    let client = try ConnectedServer { _ in .redirect(to: "/there", status: .permanentRedirect) }
    try client.get("/")
    #expect(try client.head().hasPrefix("HTTP/1.1 308 Permanent Redirect\r\nLocation: /there\r\n"))
  }

  @Test func chunksAndTrailersAreFramed() throws {
    let client = try ConnectedServer { _ in .text("hello").chunked(size: 2).with(trailer: "X-Sum", "42").closing() }
    try client.get("/")
    let reply = try client.rest()
    #expect(reply.contains("Transfer-Encoding: chunked\r\n"))
    #expect(!reply.contains("Content-Length"))
    #expect(reply.hasSuffix("\r\n\r\n2\r\nhe\r\n2\r\nll\r\n1\r\no\r\n0\r\nX-Sum: 42\r\n\r\n"))
  }

  @Test func aGeneratedBodyOfUnknownLengthIsChunked() throws {
    let client = try ConnectedServer { _ in .generated { $0 < 6 ? Data("abc".utf8) : nil } }
    try client.get("/", "Connection: close")
    #expect(try client.rest().hasSuffix("\r\n\r\n3\r\nabc\r\n3\r\nabc\r\n0\r\n\r\n"))
  }

  @Test func aGeneratedBodyOfUnknownLengthEndsWithTheConnectionInHTTP10() throws {
    let client = try ConnectedServer { _ in .generated { $0 < 6 ? Data("abc".utf8) : nil } }
    try client.send("GET / HTTP/1.0\r\n\r\n")
    let reply = try client.rest()
    #expect(!reply.contains("Transfer-Encoding"))
    #expect(reply.hasSuffix("\r\n\r\nabcabc"))
  }

  @Test func aGeneratorThatThrowsInterruptsTheBody() throws {
    struct Oops: Error {}
    let client = try ConnectedServer { _ in
      .generated(length: 6) { offset in
        guard offset == 0 else { throw Oops() }
        return Data("abc".utf8)
      }
    }
    try client.get("/")
    let reply = try client.rest()
    #expect(reply.contains("Content-Length: 6\r\n"))
    #expect(reply.hasSuffix("\r\n\r\nabc"))
  }

  @Test func aBodyWithoutLengthEndsWithTheConnection() throws {
    let client = try ConnectedServer { _ in .text("hello").untilClose() }
    try client.get("/")
    let reply = try client.rest()
    #expect(!reply.contains("Content-Length"))
    #expect(reply.contains("Connection: close\r\n"))
    #expect(reply.hasSuffix("\r\n\r\nhello"))
  }

  @Test func informationalResponsesComeFirst() throws {
    let client = try ConnectedServer { _ in
      .text("x").preceded(by: .earlyHints, fields: ["Link": "</a.css>"]).preceded(by: 102)
    }
    try client.get("/")
    #expect(try client.head() == "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n")
    #expect(try client.head() == "HTTP/1.1 102 Processing\r\n\r\n")
    #expect(try client.response().body == "x")
  }

  @Test func theReasonPhraseIsThatOfTheStatusOrTheGivenOne() throws {
    let client = try ConnectedServer { request in
      var reply = Reply.text("x", status: .notFound)
      reply.reason = "Nothing Here"
      if request.path == "/moved" { reply.status = .movedPermanently }
      return reply
    }
    try client.get("/")
    #expect(try client.response().head.hasPrefix("HTTP/1.1 404 Nothing Here\r\n"))
    try client.get("/moved")
    #expect(try client.response().head.hasPrefix("HTTP/1.1 301 Moved Permanently\r\n"))
  }

  @Test func rawBytesAreSentUnchanged() throws {
    let client = try ConnectedServer { _ in .raw("HTTP/1.1 200\nodd :x\r\r\n") }
    try client.get("/")
    #expect(try client.rest() == "HTTP/1.1 200\nodd :x\r\r\n")
  }

  @Test func aRawReplyThatFramesItselfCanKeepTheConnection() throws {
    let client = try ConnectedServer { _ in
      var reply = Reply.raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab")
      reply.ending = .keepAlive
      return reply
    }
    for _ in 1...2 {
      try client.get("/")
      #expect(try client.response().body == "ab")
    }
  }

  @Test func aWrongLengthIsSentAndTheConnectionClosed() throws {
    let client = try ConnectedServer { _ in .text("hello").with(.contentLength, "100") }
    try client.get("/")
    let reply = try client.rest()
    #expect(reply.contains("Content-Length: 100\r\n"))
    #expect(reply.hasSuffix("\r\n\r\nhello"))
  }

  @Test func aLargeBodyTakesNoMemory() throws {
    let client = try ConnectedServer { _ in .repeating(Data("0123456789abcdef".utf8), length: 256 << 20) }
    let before = peakMemory()
    try client.get("/", "Connection: close")
    _ = try client.head()
    #expect(try client.countRest() == 256 << 20)
    #expect(peakMemory() - before < 128 << 20)
  }

  @Test func filesAreStreamed() throws {
    let folder = try TemporaryFolder()
    let text = String(repeating: "line of a file\n", count: 100_000)
    let file = try folder.write(Data(text.utf8), to: "a.txt")
    let client = try ConnectedServer { _ in try .file(file) }
    try client.get("/")
    let response = try client.response()
    #expect(response.head.contains("Content-Type: text/plain; charset=utf-8\r\n"))
    #expect(response.body == text)
  }

  @Test func aMissingFileIsA500ThatNamesIt() throws {
    let client = try ConnectedServer { _ in try .file(URL(filePath: "/no/such/file")) }
    try client.get("/")
    let response = try client.response()
    #expect(response.head.hasPrefix("HTTP/1.1 500 "))
    #expect(response.body.contains("'/no/such/file' cannot be opened"))
  }
}
