import MartletSemantics
import Testing

/// WHATWG HTML §9.2.5 and §9.2.6, sentence by sentence.
@Suite(.timeLimit(.minutes(5)))
struct ServerSentEventTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let sentence: String
    let stream: [UInt8]
    let events: [ServerSentEvent]

    init(_ sentence: String, _ stream: String, _ events: ServerSentEvent...) {
      self.init(sentence, Array(stream.utf8), events)
    }

    init(_ sentence: String, _ stream: [UInt8], _ events: [ServerSentEvent]) {
      self.sentence = sentence
      self.stream = stream
      self.events = events
    }

    var testDescription: String { sentence }
  }

  static let rows = [
    Row("an empty stream has no events", ""),
    Row("an empty line dispatches the event", "data: a\n\n", .init(data: "a")),
    Row("LF ends a line", "data:a\ndata:b\n\n", .init(data: "a\nb")),
    Row("CR ends a line", "data:a\rdata:b\r\r", .init(data: "a\nb")),
    Row("CRLF ends one line", "data:a\r\ndata:b\r\n\r\n", .init(data: "a\nb")),
    Row("line ends may be mixed", "data:a\rdata:b\n\r\ndata:c\r\n\r", .init(data: "a\nb"), .init(data: "c")),
    Row("LF after CRLF is an empty line", "data:a\r\n\n", .init(data: "a")),
    Row("one byte order mark is ignored", "\u{FEFF}data:a\n\n", .init(data: "a")),
    Row("a second byte order mark belongs to the name", "\u{FEFF}\u{FEFF}data:a\n\n"),
    Row("a byte order mark later belongs to the name", "data:a\n\u{FEFF}data:b\n\n", .init(data: "a")),
    Row("a line that begins with a colon is ignored", ": comment\n:\n:data:x\ndata:a\n\n", .init(data: "a")),
    Row("one space after the colon is removed", "data:  a \n\n", .init(data: " a ")),
    Row("a tab after the colon is not", "data:\ta\n\n", .init(data: "\ta")),
    Row("the value may hold colons", "data:a:b: c\n\n", .init(data: "a:b: c")),
    Row("a line without a colon is a name without a value", "data\n\n", .init(data: "")),
    Row("two of them make one line feed", "data\ndata\n\n", .init(data: "\n")),
    Row("a line feed at the end is removed, one", "data:a\ndata:\n\n", .init(data: "a\n")),
    Row("an event without data is none", "event: x\nid: 1\n\n"),
    Row("its type is forgotten", "event: x\n\ndata:a\n\n", .init(data: "a")),
    Row("its ID is not", "id: 1\n\ndata:a\n\n", .init(data: "a", id: "1")),
    Row("event names the type", "event: add\ndata:a\n\ndata:b\n\n", .init(type: "add", data: "a"), .init(data: "b")),
    Row("the last type counts", "event: x\nevent: y\ndata:a\n\n", .init(type: "y", data: "a")),
    Row("an empty type is none", "event: x\nevent\ndata:a\n\n", .init(data: "a")),
    Row(
      "the ID stays until there is another", "id:1\ndata:a\n\ndata:b\n\nid:2\ndata:c\n\n",
      .init(data: "a", id: "1"), .init(data: "b", id: "1"), .init(data: "c", id: "2")),
    Row("an empty ID resets it", "id:1\ndata:a\n\nid\ndata:b\n\n", .init(data: "a", id: "1"), .init(data: "b")),
    Row(
      "an ID with NUL is ignored", "id:1\ndata:a\n\nid:2\u{0}\ndata:b\n\n",
      .init(data: "a", id: "1"), .init(data: "b", id: "1")),
    Row(
      "names have case, and an unknown one means nothing", "Data:x\nDATA:y\nfoo:z\n data:s\ndata:a\n\n",
      .init(data: "a")),
    Row("an incomplete event at the end is dropped", "data:a\n\ndata:b\n", .init(data: "a")),
    Row("an incomplete line at the end is dropped", "data:a\n\ndata:b", .init(data: "a")),
    Row("text is UTF-8", "event:grüß\ndata:🐦\nid:é\n\n", .init(type: "grüß", data: "🐦", id: "é")),
    Row("what is no UTF-8 becomes a replacement", Array("data:a".utf8) + [0xFF, 10, 10], [.init(data: "a\u{FFFD}")]),
  ]

  @Test(arguments: rows)
  func streamIsReadAsTheStandardSays(_ row: Row) throws {
    var whole = ServerSentEventParser()
    #expect(try whole.parse(Data(row.stream)) == row.events)

    for cut in 0...row.stream.count {
      var parser = ServerSentEventParser()
      let events = try parser.parse(Data(row.stream[..<cut])) + parser.parse(Data(row.stream[cut...]))
      #expect(events == row.events, "cut at \(cut)")
    }
    var parser = ServerSentEventParser()
    #expect(try row.stream.flatMap { try parser.parse(Data([$0])) } == row.events)
  }

  @Test(
    arguments: [
      ("retry: 1500\n", 1500), ("retry:0\n", 0), ("retry: 1.5\n", nil), ("retry: -1\n", nil), ("retry\n", nil),
      ("retry: 1 \n", nil), ("retry: ٣\n", nil), ("retry: 10\nretry: x\n", 10), ("retry: 1", nil),
      ("retry: 99999999999999999999\n", .max),
    ] as [(String, Int64?)])
  func retryIsDigitsOnly(_ stream: String, milliseconds: Int64?) throws {
    var parser = ServerSentEventParser()
    _ = try parser.parse(Data(stream.utf8))
    #expect(parser.reconnectionTime == milliseconds.map { .milliseconds($0) })
  }

  @Test func newConnectionDropsWhatIsIncompleteAndKeepsTheID() throws {
    var parser = ServerSentEventParser(after: "7")
    #expect(
      try parser.parse(Data("retry:5\nid:8\ndata:a\n\nid:9\nevent:x\ndata:b\nda".utf8)) == [.init(data: "a", id: "8")])
    #expect(parser.lastEventID == "8")

    parser.restart()

    #expect(try parser.parse(Data("\u{FEFF}data:c\n\n".utf8)) == [.init(data: "c", id: "8")])
    #expect(parser.reconnectionTime == .milliseconds(5))
  }

  @Test func eventsBeforeOneAboveTheLimitAreReturnedFirst() throws {
    var parser = ServerSentEventParser(limit: 20)

    let events = try parser.parse(Data("data:a\n\ndata:0123456789abcdef\n\ndata:b\n\n".utf8))

    #expect(events == [.init(data: "a")])
    for chunk in ["", "data:c\n\n"] {
      #expect(throws: ServerSentEventParser.EventTooLarge.self) { _ = try parser.parse(Data(chunk.utf8)) }
    }
    parser.restart()
    #expect(try parser.parse(Data("data:d\n\n".utf8)) == [.init(data: "d")])
  }

  @Test func anEventAboveTheLimitIsRefused() throws {
    var lines = ServerSentEventParser(limit: 100)
    var line = ServerSentEventParser(limit: 100)
    #expect(throws: ServerSentEventParser.EventTooLarge.self) {
      for _ in 0..<100 { _ = try lines.parse(Data("data:0123456789\n".utf8)) }
    }
    #expect(throws: ServerSentEventParser.EventTooLarge.self) {
      _ = try line.parse(Data(repeating: 65, count: 101))
    }
  }
}
