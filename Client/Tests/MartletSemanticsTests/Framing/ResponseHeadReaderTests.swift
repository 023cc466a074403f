@_spi(Toolkit) import MartletSemantics
import Testing

/// Valid and invalid lines of a response (RFC 9112 §2 to §5).
@Suite(.timeLimit(.minutes(5)))
struct ResponseHeadReaderTests {
  /// The events of the lines of a message, without `none`.
  private func read(
    _ text: String, answering method: HTTPMethod = .get
  ) throws(MessageFault) -> [ResponseHeadReader.Event] {
    var reader = ResponseHeadReader(answering: method)
    return try take(text, into: &reader)
  }

  private func take(
    _ text: String, into reader: inout ResponseHeadReader
  ) throws(MessageFault) -> [ResponseHeadReader.Event] {
    var events: [ResponseHeadReader.Event] = []
    let bytes = Array(text.utf8)
    for line in bytes.split(separator: 10, omittingEmptySubsequences: false).dropLast() {
      let whole = Array(line) + [10]
      let result = whole.withUnsafeBytes { line in
        Result { () throws(MessageFault) in try reader.take(line) }
      }
      let event = try result.get()
      if event != .none { events.append(event) }
    }
    return events
  }

  private func fault(_ text: String) -> MessageFault? {
    do throws(MessageFault) {
      _ = try read(text)
      return nil
    } catch { return error }
  }

  /// `Keep-Alive` is a hint of the server for how long a connection may be idle.
  @Test(
    arguments: [
      ("", nil), ("Keep-Alive: timeout=5\r\n", 5), ("keep-alive:  max=100 , TIMEOUT=5\r\n", 5),
      ("Keep-Alive: timeout=0, max=100\r\n", 0), ("Keep-Alive: 5\r\n", nil), ("Keep-Alive: timeout=\r\n", nil),
      ("Keep-Alive: timeout=-1\r\n", nil), ("Keep-Alive: timeout=5s\r\n", nil), ("Keep-Alive: timeouts=5\r\n", nil),
      ("Keep-Alive: timeout=99999999999999999999\r\n", 1 << 31), ("Connection: timeout=5\r\n", nil),
      ("Keep-Alive: max=3\r\n timeout=5\r\n", nil),
    ] as [(String, Int?)])
  func idleTimeOfTheServerIsRead(_ field: String, seconds: Int?) throws {
    var reader = ResponseHeadReader(answering: .get)
    _ = try take("HTTP/1.1 200 OK\r\n\(field)Content-Length: 0\r\n\r\n", into: &reader)
    #expect(reader.idleSeconds == seconds)
    #expect(reader.keepsConnection)
  }

  // §4; the leniencies are those of StatusLine.
  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\n", 200), ("HTTP/1.1 200 \r\n", 200), ("HTTP/1.1 200\r\n", 200), ("HTTP/1.0 404 a b\r\n", 404),
    ("HTTP/1.1 999 x\r\n", 999), ("HTTP/1.2 204 x\r\n", 204), ("HTTP/1.1 200 OK\n", 200),
    ("HTTP/1.1 200 caf\u{e9}\r\n", 200), ("HTTP/1.1 200  OK\r\n", 200), ("HTTP/1.1 200 a\tb\r\n", 200),
  ])
  func validStatusLinesAreAccepted(_ line: String, status: Int) throws {
    guard case .final(_, let read, _) = try read(line + "\r\n").first else {
      Issue.record("expected .final")
      return
    }
    #expect(read == status)
  }

  @Test(
    arguments: [
      ("HTTP/1.1  200 OK\r\n", .statusCode), ("HTTP/1.1\t200 OK\r\n", .statusLine), ("HTTP/1.1 20 OK\r\n", .statusCode),
      ("HTTP/1.1 2000 OK\r\n", .statusCode), ("HTTP/1.1 099 OK\r\n", .statusCode), ("HTTP/1.1 200OK\r\n", .statusLine),
      ("HTTP/1.1 -20 OK\r\n", .statusCode), ("HTTP/1.1 +20 OK\r\n", .statusCode), ("HTTP/1.1 2x0 OK\r\n", .statusCode),
      ("HTTP/a.b 200 OK\r\n", .statusLine), ("HTTP/1. 200 OK\r\n", .statusLine), ("HTTP/1.10 200 OK\r\n", .statusLine),
      ("Http/1.1 200 OK\r\n", .statusLine), ("http/1.1 200 OK\r\n", .statusLine), (" HTTP/1.1 200 OK\r\n", .statusLine),
      ("HTTP/1.1200 OK\r\n", .statusLine), ("HTTP 200 OK\r\n", .statusLine), ("HTTP/2 200 \r\n", .statusLine),
      ("HTTP/2.0 200 OK\r\n", .statusLine), ("HTTP/3 200 OK\r\n", .statusLine), ("\r\n", .statusLine),
      ("ICY 200 OK\r\n", .statusLine), ("HTTP/1.1\r\n", .statusLine), ("HTTP/1.1 \r\n", .statusLine),
      ("HTTP/1.1 200 a\u{0}b\r\n", .controlCharacter), ("HTTP/1.1 200 a\rb\r\n", .controlCharacter),
      ("HTTP/1.1 200 OK\r\r\n", .controlCharacter), ("HTTP/1.1 200 a\u{7f}\r\n", .controlCharacter),
    ] as [(String, MessageFault)])
  func otherStatusLinesAreRefused(_ line: String, expected: MessageFault) {
    #expect(fault(line + "\r\n") == expected)
  }

  // §5, §5.1, §5.2, RFC 9110 §5.5.
  @Test(arguments: [
    "A:\r\n", "A: b\r\n", "A:b\n", "A: \t b \t\r\n", "!#$%&'*+-.^_`|~09: x\r\n", "A: b:c\r\n", "A: caf\u{e9}\r\n",
    "A: b\r\n c\r\n", "A: b\r\n\tc\r\n \r\n", "A: b\u{1}\r\n", "A: HTTP/1.1 200 OK\r\n",
  ])
  func validFieldLinesAreAccepted(_ lines: String) {
    #expect(fault("HTTP/1.1 200 OK\r\n" + lines + "\r\n") == nil)
  }

  @Test(
    arguments: [
      ("no colon\r\n", .fieldLine), (": no name\r\n", .fieldLine), ("bad name: x\r\n", .fieldName),
      ("A : b\r\n", .fieldName), ("A\t: b\r\n", .fieldName), ("\u{e9}: x\r\n", .fieldName), ("(a): x\r\n", .fieldName),
      ("A\u{1}: x\r\n", .fieldName), ("A\rB: c\r\n", .controlCharacter), ("A: b\rC: d\r\n", .controlCharacter),
      ("A: b\u{0}\r\n", .controlCharacter), ("A: b\r\r\n", .controlCharacter), (" A: b\r\n", .leadingWhitespace),
      ("\tA: b\r\n", .leadingWhitespace), (" \r\n", .leadingWhitespace), ("HTTP/1.1 200 OK\r\n", .fieldLine),
      ("HTTP/1.1 200 OK: x\r\n", .fieldName), ("HTTP/1.1: x\r\n", .fieldName),
      ("Content-Length:\r\n 5\r\n", .foldedFraming), ("Transfer-Encoding:\r\n chunked\r\n", .foldedFraming),
      ("Content-Length: 5\r\n 6\r\n", .foldedFraming),
    ] as [(String, MessageFault)])
  func otherFieldLinesAreRefused(_ lines: String, expected: MessageFault) {
    #expect(fault("HTTP/1.1 200 OK\r\n" + lines + "\r\n") == expected)
  }

  @Test func onlyTheFirstLineOfAHeadIsAStatusLine() throws {
    let events = try read(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nC: d\r\n\r\nE: f\r\n")

    #expect(
      events == [
        .informational(Array("HTTP/1.1 100 Continue\r\n".utf8), status: 100),
        .informational(Array("HTTP/1.1 103 Early\r\nA: b\r\n".utf8), status: 103),
        .final(Array("HTTP/1.1 200 OK\r\nC: d\r\n".utf8), status: 200, .untilClose),
      ])
    #expect(fault("HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nHTTP/1.1 204 No\r\n\r\n") == .fieldLine)
    #expect(fault("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n") == .fieldLine)
  }

  @Test func a101IsFinalIfTheRequestHasUpgrade() throws {
    let head = "HTTP/1.1 101 Switching\r\n"
    var reader = ResponseHeadReader(answering: .get, allowsUpgrade: true)
    #expect(try take(head + "\r\n", into: &reader) == [.final(Array(head.utf8), status: 101, .none)])
    #expect(fault(head + "\r\n") == .unaskedUpgrade)
  }

  @Test func trailersAreFieldsToo() throws {
    var reader = ResponseHeadReader(answering: .get)
    _ = try take("HTTP/1.1 200 OK\r\n\r\nA: b\r\n c\r\nD: e\r\n\r\n", into: &reader)

    #expect(reader.trailers == Array("A: b\r\n c\r\nD: e\r\n".utf8))
    #expect(HTTPFields(lines: reader.trailers[...])["A"] == "b c")
    for (line, expected) in [("no colon\r\n", MessageFault.fieldLine), (" a: b\r\n", .leadingWhitespace)] {
      #expect(fault("HTTP/1.1 200 OK\r\n\r\n" + line) == expected)
    }
  }

  /// The same lines, one by one and together, with every limit.
  @Test func linesThatAreTakenTogetherHaveTheSameOutcome() throws {
    let statusLine = Array("HTTP/1.1 200 OK\r\n".utf8)
    let lines = Array("A: b\r\nContent-Length: 5\r\n c\r\nD: e\r\n f\r\n\r\nrest".utf8)
    let good = Array("A: b\r\nContent-Length: 5\r\nD: e\r\n f\r\n\r\nrest\r\n".utf8)
    #expect(throws: MessageFault.foldedFraming) { try together(statusLine, lines, limit: 1000).event }
    let whole = try together(statusLine, good, limit: 1000)
    #expect(
      whole.event
        == .final(statusLine + Array("A: b\r\nContent-Length: 5\r\nD: e\r\n f\r\n".utf8), status: 200, .length(5)))
    #expect(whole.position == good.count - 6)
    for limit in 0..<(statusLine.count + good.count - 6) {
      let part = try together(statusLine, good, limit: limit)
      #expect(part.event == .none)
      #expect(part.position == 0 || good[part.position - 1] == 10)
      #expect(statusLine.count + part.position <= max(limit, statusLine.count))
    }
  }

  private func together(
    _ statusLine: [UInt8], _ lines: [UInt8], limit: Int
  ) throws -> (event: ResponseHeadReader.Event, position: Int) {
    var reader = ResponseHeadReader(answering: .get)
    var position = 0
    _ = try statusLine.withUnsafeBytes { try reader.take($0) }
    let event = try lines.withUnsafeBytes { try reader.takeFields(in: $0, from: &position, limit: limit) }
    return (event, position)
  }

  @Test(arguments: MessageFault.allCases)
  func everyErrorNamesItsRule(_ fault: MessageFault) {
    #expect(fault.description.contains(/\(RFC 911[02] §/))
  }
}
