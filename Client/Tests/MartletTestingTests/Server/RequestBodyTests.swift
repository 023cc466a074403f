import MartletSemantics
import MartletTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RequestBodyTests {
  @Test func collectedBodiesAreRecorded() async throws {
    let server = try LoopbackServer { .text("\($0.body.count)") }
    let client = try RawClient(port: server.port)
    let text = String(repeating: "abcdefgh", count: 100_000)

    try client.request("PUT", "/", ["Content-Length: 800000"])
    try client.send(text)

    #expect(try client.response().body == "800000")
    #expect(server.requests[0].text == text)
  }

  @Test func aBodyOverTheLimitIsRefused() throws {
    let server = try LoopbackServer(bodies: .collected(upTo: 10)) { .text($0.text) }

    let small = try RawClient(port: server.port)
    try small.request("PUT", "/", ["Content-Length: 10"])
    try small.send("0123456789")
    #expect(try small.response().body == "0123456789")

    let large = try RawClient(port: server.port)
    try large.request("PUT", "/", ["Content-Length: 11"])
    try large.send("0123456789a")
    #expect(try large.head().hasPrefix("HTTP/1.1 413 Content Too Large\r\n"))
  }

  @Test(arguments: ["3", "3\r\nab", "3\r\nabc", "3\r\nabc\r\n", "3\r\nabc\r\n0\r\n"])
  func aClientThatClosesWithinAChunkedBodyEndsTheConnection(_ sent: String) async throws {
    let server = try LoopbackServer { .text($0.text) }
    let client = try RawClient(port: server.port)

    try client.request("PUT", "/", ["Transfer-Encoding: chunked"])
    try client.send(sent)
    client.close()

    #expect(try await server.end(ofConnection: 1) == .client)
  }

  @Test func anExpectationIsGrantedBeforeACollectedBody() throws {
    let server = try LoopbackServer { .text($0.text) }
    let client = try RawClient(port: server.port)

    try client.request("PUT", "/", ["Content-Length: 3", "Expect: 100-continue"])
    #expect(try client.head() == "HTTP/1.1 100 Continue\r\n\r\n")
    try client.send("abc")

    #expect(try client.response().body == "abc")
  }

  @Test func aResponderThatDoesNotReadRefusesTheExpectation() throws {
    let server = try LoopbackServer(bodies: .streamed) { _ in .status(.expectationFailed) }
    let client = try RawClient(port: server.port)

    try client.request("PUT", "/", ["Content-Length: 3", "Expect: 100-continue"])

    let reply = try client.rest()
    #expect(reply.hasPrefix("HTTP/1.1 417 Expectation Failed\r\n"))
    #expect(reply.contains("Connection: close\r\n"))
  }

  @Test func streamedBodiesAreReadByTheResponder() async throws {
    let gate = Gate()
    let server = try LoopbackServer(bodies: .streamed) { request in
      let first = try request.nextChunk() ?? Data()
      gate.open()
      return .text("\(first.count + Int(try request.drainBody()))")
    }
    let client = try RawClient(port: server.port)

    try client.request("PUT", "/", ["Content-Length: 6"])
    try client.send("abc")
    try await gate.wait()
    try client.send("def")

    #expect(try client.response().body == "6")
    #expect(server.requests[0].body.isEmpty)
  }

  @Test func theRestThatAResponderLeavesIsSkipped() throws {
    let server = try LoopbackServer(bodies: .streamed) { .text($0.path) }
    let client = try RawClient(port: server.port)

    try client.send(
      "PUT /1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n"
    )

    #expect(try client.response().body == "/1")
    #expect(try client.response().body == "/2")
  }

  @Test func aReplyBeforeTheBodyReachesAClientThatIsStillSending() throws {
    let server = try LoopbackServer(bodies: .streamed) { _ in .status(.contentTooLarge).closing() }
    let client = try RawClient(port: server.port)

    try client.request("PUT", "/", ["Content-Length: 1000000"])
    try client.send(String(repeating: "x", count: 1_000_000))

    #expect(try client.rest().hasPrefix("HTTP/1.1 413 "))
  }

  @Test func aRequestWithAnIncompleteBodyIsNotRecorded() async throws {
    let server = try LoopbackServer { .text($0.text) }
    let client = try RawClient(port: server.port)

    try client.request("PUT", "/", ["Content-Length: 10"])
    try client.send("abc")
    client.close()

    #expect(try await server.end(ofConnection: 1) == .client)
    #expect(server.requests.isEmpty)
  }
}
