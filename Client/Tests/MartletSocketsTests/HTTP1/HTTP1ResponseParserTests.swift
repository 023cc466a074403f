import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Testing

@_spi(Toolkit) @testable import MartletSockets

/// Responses over HTTP/1, whole and in pieces (RFC 9112).
@Suite(.timeLimit(.minutes(5)))
struct HTTP1ResponseParserTests {
  @Test func bytesOfABodyMayBeReceivedElsewhere() throws {
    var parser = HTTP1ResponseParser(answering: .get, allowsUpgrade: false, headLimit: 1000)
    let head = Array("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc".utf8)
    var position = 0
    #expect(parser.missingBody == nil)
    while let event = try parser.next(in: head.span.bytes, from: &position) {
      if case .head = event { #expect(parser.missingBody == 10) }
    }
    #expect(parser.missingBody == 7)
    parser.skipBody(6)
    #expect(parser.missingBody == 1)
    let nothing: [UInt8] = []
    position = 0
    #expect(try parser.next(in: nothing.span.bytes, from: &position) == nil)
    parser.skipBody(1)
    #expect(parser.missingBody == nil)
    #expect(parser.bodyCount == 10)
    #expect(try parser.next(in: nothing.span.bytes, from: &position) == .end(trailers: []))
    #expect(parser.keepsConnection)
  }

  /// The beginning of an alert, whole or not.
  @Test(arguments: [[21, 3], [21, 3, 1, 0, 2, 2, 70]] as [[UInt8]])
  func aPortForHTTPSIsNamed(_ start: [UInt8]) {
    let alert: [UInt8] = [21, 3, 1, 0, 2, 2, 70]
    var parser = HTTP1ResponseParser(answering: .get, allowsUpgrade: false, headLimit: 1000)
    let failure = #expect(throws: HTTP1Failure.self) {
      for piece in [start, Array(alert.dropFirst(start.count))] where !piece.isEmpty {
        var position = 0
        _ = try parser.next(in: piece.span.bytes, from: &position)
      }
    }
    #expect(failure?.kind == .protocolViolation)
    #expect(failure?.message.contains("use an https URL") == true, "\(String(describing: failure))")
  }

  @Test func aResponseIsItsHeadItsBodyAndItsEnd() throws {
    var parser = HTTP1ResponseParser(answering: .get, allowsUpgrade: false, headLimit: 1000)
    let input = Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".utf8)
    var position = 0
    let head = Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n".utf8)
    #expect(!parser.hasBegun)
    #expect(try parser.next(in: input.span.bytes, from: &position) == .head(head, status: 200, .length(5)))
    #expect(parser.hasBegun)
    #expect(parser.hasHead)
    #expect(position == 38)
    #expect(try parser.next(in: input.span.bytes, from: &position) == .body(38..<43))
    #expect(try parser.next(in: input.span.bytes, from: &position) == .end(trailers: []))
    #expect(try parser.next(in: input.span.bytes, from: &position) == nil)
    #expect(parser.keepsConnection)
    #expect(parser.bodyCount == 5)
  }

  /// The bytes after it are not consumed: the owner of the connection judges them.
  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 204 No\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n",
  ])
  func nothingIsConsumedBeyondTheEnd(_ text: String) {
    let read = ReadResponse.read((text + "HTTP/1.1 500 No\r\n\r\n").utf8)
    #expect(read.isComplete)
    #expect(read.rest == Array("HTTP/1.1 500 No\r\n\r\n".utf8))
  }

  // RFC 9112 §9.3; the decisions are those of FramingFields.
  @Test(
    arguments: [
      ("HTTP/1.1", "", true), ("HTTP/1.1", "Connection: close\r\n", false),
      ("HTTP/1.1", "connection: CLOSE\r\n", false),
      ("HTTP/1.1", "Connection: a, close ,b\r\n", false), ("HTTP/1.1", "Connection: a\r\nConnection: close\r\n", false),
      ("HTTP/1.1", "Connection: closed\r\n", true), ("HTTP/1.1", "Connection: keep-alive, close\r\n", false),
      ("HTTP/1.1", "Connection: a,\r\n close\r\n", false), ("HTTP/1.1", "Proxy-Connection: close\r\n", true),
      ("HTTP/1.0", "", false), ("HTTP/1.0", "Connection: keep-alive\r\n", true),
      ("HTTP/1.0", "Connection: Keep-Alive, close\r\n", false), ("HTTP/1.2", "", true),
    ])
  func theConnectionPersistsAsVersionAndOptionsSay(_ version: String, fields: String, expected: Bool) {
    let read = ReadResponse.read("\(version) 200 OK\r\n\(fields)Content-Length: 0\r\n\r\n".utf8)
    #expect(read.isComplete)
    #expect(read.keepsConnection == expected)
  }

  // §6.1, §6.3.
  @Test func framingsThatAreNotReliableCloseTheConnection() {
    let chunks = "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    #expect(ReadResponse.read("HTTP/1.1 200 OK\r\n\(chunks)".utf8).keepsConnection)
    #expect(!ReadResponse.read("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\(chunks)".utf8).keepsConnection)
    #expect(!ReadResponse.read("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\(chunks)".utf8).keepsConnection)
    #expect(!ReadResponse.read("HTTP/1.1 200 OK\r\n\r\nhello".utf8, then: .closed).keepsConnection)
  }

  // RFC 9110 §7.8.
  @Test func anAskedFor101HandsTheRestOver() {
    let text = "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 101 Switching\r\nUpgrade: echo\r\nContent-Length: 3\r\n\r\nhello"
    let read = ReadResponse.read(text.utf8, allowsUpgrade: true)
    #expect(read.status == 101)
    #expect(read.isComplete)
    #expect(read.hasUpgraded)
    #expect(!read.keepsConnection)
    #expect(read.rest == Array("hello".utf8))
    #expect(ReadResponse.read(text.utf8).failure == HTTP1Failure(.unaskedUpgrade, phase: .waiting))
  }

  // RFC 9110 §9.3.6, RFC 9112 §6.3 rule 2.
  @Test func anAcceptedConnectHandsTheRestOver() {
    let text = "HTTP/1.1 200 OK\r\nContent-Length: x\r\nTransfer-Encoding: y\r\n\r\nhello"
    let read = ReadResponse.read(text.utf8, answering: "CONNECT")
    #expect(read.isComplete)
    #expect(read.hasUpgraded)
    #expect(read.rest == Array("hello".utf8))
    let refused = ReadResponse.read("HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno".utf8, answering: "CONNECT")
    #expect(refused.body == Array("no".utf8))
    #expect(!refused.hasUpgraded)
    #expect(refused.keepsConnection)
  }

  @Test(
    arguments: [
      ("", "before any byte of a response", HTTPError.Phase.waiting),
      ("HTTP/1.1 2", "within the response's head", .waiting),
      ("HTTP/1.1 200 OK\r\nA: b\r\n", "within the response's head", .waiting),
      ("HTTP/1.1 100 Continue\r\n\r\n", "after an informational response and before the final one", .waiting),
      ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", "after 5 of 10 bytes of the response's body", .receiving),
      (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nA\r\nhello",
        "after 5 bytes of the response's body, before its last chunk", .receiving
      ),
      (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n", "within the response's trailers",
        .receiving
      ),
    ])
  func anEarlyEndIsALostConnectionThatSaysWhere(_ text: String, place: String, phase: HTTPError.Phase) {
    let expected = HTTP1Failure(.connectionLost, "the connection ended \(place)", phase: phase)
    #expect(ReadResponse.read(text.utf8, then: .closed).failure == expected)
    #expect(ReadResponse.read(text.utf8).failure == nil)
  }

  // RFC 9112 §9.8.
  @Test func withoutACloseNotifyOnlyAFramedBodyIsWhole() {
    #expect(ReadResponse.read("HTTP/1.1 200 OK\r\n\r\nhello".utf8, then: .closed).isComplete)
    let cutOff = ReadResponse.read("HTTP/1.1 200 OK\r\n\r\nhello".utf8, then: .unclean)
    #expect(cutOff.failure?.kind == .connectionLost)
    #expect(cutOff.failure?.message.contains("5 bytes") == true)
    #expect(ReadResponse.read("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8, then: .unclean).isComplete)
  }

  /// A server of another protocol may never send a line.
  @Test(arguments: ["<", "\r", "\n", " ", "h", "HTTP/2", "HTTP/1 ", "\u{16}\u{3}\u{1}", "SSH-2.0"])
  func anotherProtocolIsRefusedAtItsFirstWrongByte(_ text: String) {
    #expect(ReadResponse.read(text.utf8).failure == HTTP1Failure(.statusLine, phase: .waiting))
    let second = "HTTP/1.1 100 Continue\r\n\r\n" + text
    #expect(ReadResponse.read(second.utf8).failure == HTTP1Failure(.statusLine, phase: .waiting))
  }

  @Test func allHeadsAndTrailersCountForOneLimit() {
    let early = "HTTP/1.1 103 Early\r\n\r\n"
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    let trailers = "A: b\r\n\r\n"
    let text = Array((early + head + "5\r\nhello\r\n0\r\n" + trailers).utf8)
    let size = (early + head + trailers).utf8.count
    #expect(ReadResponse.read(text, headLimit: size).isComplete)
    let failure = ReadResponse.read(text, headLimit: size - 1).failure
    #expect(failure?.kind == .headTooLarge)
    #expect(failure?.phase == .receiving)
    #expect(failure?.message.contains("\(size - 1) bytes") == true)
    let short = ReadResponse.read(text.prefix(early.utf8.count + 20), headLimit: early.utf8.count + 19).failure
    #expect(short?.kind == .headTooLarge)
    #expect(short?.phase == .waiting)
  }

  @Test func aHundredInformationalHeadsAreTheMost() {
    let early = "HTTP/1.1 103 Early\r\n\r\n"
    let final = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    let most = ReadResponse.read((String(repeating: early, count: 100) + final).utf8)
    #expect(most.informational.count == 100)
    #expect(most.isComplete)
    let more = ReadResponse.read((String(repeating: early, count: 101) + final).utf8)
    #expect(more.failure?.kind == .headTooLarge)
  }
}
