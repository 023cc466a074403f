import CallDoubles
import Foundation
import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Testing

/// Text, forms, lines and values, in both directions.
@Suite(.timeLimit(.minutes(5)))
struct TextTests {
  private let session = HTTPSession(transport: SocketTransport())

  private func server(_ body: Data, type: String?) throws -> LoopbackServer {
    try LoopbackServer { _ in type.map { .data(body, type: $0) } ?? Reply(content: body) }
  }

  @Test func textArrivesAsItWasSent() async throws {
    let server = try LoopbackServer { .data($0.body, type: $0.fields[.contentType] ?? "") }
    let (text, response) = try await session.text(for: HTTPRequest(.post, server.url, body: .text("Grüße\n€")))
    #expect(text == "Grüße\n€")
    #expect(response.fields[.contentType] == "text/plain; charset=utf-8")
  }

  @Test(
    arguments: [
      ("text/plain; charset=ISO-8859-1", [0xFC, 0x80], "ü€"), ("text/html", [0xC3, 0xBC], "ü"),
      ("text/plain; charset=\"utf-16\"", [0xFE, 0xFF, 0x00, 0x61], "a"), (nil, [0x61], "a"),
    ] as [(String?, [UInt8], String)])
  func charsetOfTheResponseDecodesIt(_ type: String?, _ bytes: [UInt8], _ expected: String) async throws {
    let server = try server(Data(bytes), type: type)
    let (text, response) = try await session.text(for: HTTPRequest(.get, server.url))
    #expect(text == expected)
    #expect(try response.text(of: Data(bytes)) == expected)
  }

  @Test(arguments: [
    ("text/plain; charset=utf-7", "the body has the charset 'utf-7', which is not supported"),
    ("text/plain; charset=shift_jis", "the body is not valid in shift_jis, the charset of its Content-Type"),
    ("text/plain; charset=UTF-8", "the body is not valid in UTF-8, the charset of its Content-Type"),
    ("text/plain", "the body is not valid in utf-8, the default"),
  ])
  func textThatCannotBeDecodedIsAnErrorThatNamesTheCharset(_ type: String, _ message: String) async throws {
    let server = try server(Data([0xFF]), type: type)
    let error = await #expect(throws: HTTPError.self) { try await session.text(for: HTTPRequest(.get, server.url)) }
    #expect(error?.kind == .undecodableBody)
    #expect(error?.message.hasPrefix(message) == true)
    #expect(error?.body == Data([0xFF]))
    #expect(error?.response?.status == .ok && error?.request?.url == server.url)
  }

  @Test func textOfOldServersIsDecodedWholeAndByLines() async throws {
    let bytes = Data([0x93, 0xFA, 0x0A, 0x96, 0x7B, 0x0D, 0x0A, 0x61, 0xFF])
    let server = try server(bytes, type: "text/plain; charset=Shift_JIS")
    let request = HTTPRequest(.get, server.url)
    let (data, response) = try await session.data(for: request)
    #expect(try response.text(of: data.dropLast(), invalid: .refused) == "日\n本\r\na")
    #expect(try response.text(of: data, invalid: .replaced) == "日\n本\r\na\u{FFFD}")

    var lines: [String] = []
    for try await line in try await session.bytes(for: request).0.lines(in: "sjis", invalid: .replaced) {
      lines.append(line)
    }
    #expect(lines == ["日", "本", "a\u{FFFD}"])
    for (charset, message) in [
      ("sjis", "line 3 is not valid in sjis"), ("utf-7", "the charset 'utf-7' is not supported for lines"),
      ("utf-16", "the charset 'utf-16' is not supported for lines"),
    ] {
      let body = try await session.bytes(for: request).0
      let error = await #expect(throws: HTTPError.self) { for try await _ in body.lines(in: charset) {} }
      #expect(error?.message == message)
    }
  }

  @Test func textOfAnUnexpectedStatusIsAnError() async throws {
    let server = try LoopbackServer { _ in .text("no", status: .forbidden) }
    let error = await #expect(throws: HTTPError.self) {
      try await session.text(for: HTTPRequest(.get, server.url), expecting: .successful)
    }
    #expect(error?.kind == .unexpectedResponse)
    #expect(try await session.text(for: HTTPRequest(.get, server.url)).0 == "no")
  }

  @Test func membersOfAValueAreAForm() async throws {
    struct Filter: Encodable {
      var text = "a+b ü"
      var count = 3
      var big = UInt64.max
      var ratio = 0.1
      var isOpen = true
      var price = Decimal(string: "12345678901234567890.01")
      var missing: Int?
    }
    let body = try RequestBody.form(Filter())
    #expect(body.fields[.contentType] == "application/x-www-form-urlencoded")
    #expect(
      body.bytes.map { String(decoding: $0, as: UTF8.self) }
        == "big=18446744073709551615&count=3&isOpen=true&price=12345678901234567890.01&ratio=0.1&text=a%2Bb+%C3%BC")
    #expect(try RequestBody.form(["b": "2", "a": "1"]).bytes == Data("a=1&b=2".utf8))
  }

  @Test func valueThatIsNotFlatIsNoForm() {
    struct Order: Encodable { var lines = [1] }
    struct Outer: Encodable { var order = Order() }
    for make in [{ try RequestBody.form(Order()) }, { try RequestBody.form(Outer()) }] {
      let error = #expect(throws: HTTPError.self) { try make() }
      #expect(error?.kind == .invalidRequest)
      #expect(error?.message.contains(" cannot be encoded as a form at '") == true)
    }
    #expect(throws: HTTPError.self) { try RequestBody.form([1, 2]) }
    #expect(throws: HTTPError.self) { try RequestBody.form("a") }
  }

  @Test func linesComeAsTheyArrive() async throws {
    let gate = Gate()
    let server = try LoopbackServer { _ in
      .data(Data("first\r\nsecond ü\n\nlast".utf8)).stalled(after: 8, until: gate)
    }
    let (body, _) = try await session.bytes(for: HTTPRequest(.get, server.url))
    var lines = body.lines.makeAsyncIterator()

    #expect(try await lines.next() == "first")
    gate.open()
    #expect(try await lines.next() == "second ü")
    #expect(try await lines.next() == "")
    #expect(try await lines.next() == "last")
    #expect(try await lines.next() == nil)
    #expect(try await lines.next() == nil)
  }

  @Test func endlessLineIsAnError() async throws {
    let server = try LoopbackServer { _ in .repeating(Data("a".utf8), length: 1 << 40) }
    let (body, _) = try await session.bytes(for: HTTPRequest(.get, server.url))
    let error = await #expect(throws: HTTPError.self) { for try await _ in body.lines {} }
    #expect(error?.kind == .bodyTooLarge)
    #expect(error?.message == "line 1 is longer than the limit of 1048576 bytes: raise the limit")
    #expect(error?.request?.url == server.url)
  }

  @Test func lineThatIsNotUTF8IsAnErrorThatNamesIt() async throws {
    let server = try server(Data("a\n".utf8) + [0xFF, 10], type: "text/plain")
    let (body, _) = try await session.bytes(for: HTTPRequest(.get, server.url))
    var lines = body.lines.makeAsyncIterator()
    #expect(try await lines.next() == "a")
    let error = await #expect(throws: HTTPError.self) { try await lines.next() }
    #expect(error?.kind == .undecodableBody)
    #expect(error?.message == "line 2 is not UTF-8")
    #expect(try await lines.next() == nil)
  }

  @Test func valuesAreReadLineByLine() async throws {
    final class Item: Decodable { var id: Int }
    let server = try server(Data("{\"id\": 1}\n\n{\"id\": 2}\r\n  \n{\"id\": 3}".utf8), type: "application/x-ndjson")
    let (body, _) = try await session.bytes(for: HTTPRequest(.get, server.url))
    var ids: [Int] = []
    for try await item in body.values(of: Item.self) { ids.append(item.id) }
    #expect(ids == [1, 2, 3])
  }

  @Test func valuesAreDecodedByTheSessionsDecoder() async throws {
    struct Item: Decodable { var firstName: String }
    let server = try server(Data("{\"first_name\": \"Ada\"}\n".utf8), type: "application/x-ndjson")
    let configuration = SessionConfiguration()
    configuration.decoder.keyDecodingStrategy = .convertFromSnakeCase
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)
    let (body, _) = try await session.bytes(for: HTTPRequest(.get, server.url))
    var names: [String] = []
    for try await item in body.values(of: Item.self) { names.append(item.firstName) }
    #expect(names == ["Ada"])

    let (second, _) = try await session.bytes(for: HTTPRequest(.get, server.url))
    let error = await #expect(throws: HTTPError.self) {
      for try await _ in second.values(of: Item.self, decoder: JSONDecoder()) {}
    }
    #expect(error?.kind == .unexpectedResponse)
  }

  @Test func valueThatCannotBeDecodedIsAnErrorThatNamesItsLine() async throws {
    let server = try server(Data("1\n\n\"secret\"\n".utf8), type: nil)
    let log = EventLog()
    var request = HTTPRequest(.get, server.url)
    request.options.listeners = [log]
    let (body, _) = try await session.bytes(for: request)
    let error = await #expect(throws: HTTPError.self) { for try await _ in body.values(of: Int.self) {} }
    #expect(error?.kind == .unexpectedResponse)
    #expect(error?.message == "line 3 cannot be decoded as Int: type mismatch: expected Int")
    #expect(error?.body == Data("\"secret\"".utf8))
    #expect(log.lines.last == "finished unexpectedResponse")
  }
}
