import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct JSONTests {
  struct Order: Codable, Equatable {
    var id: Int
    var lines: [Line]
  }

  struct Line: Codable, Equatable {
    var name: String
    var price: Double
  }

  private let order = Order(id: 7, lines: [Line(name: "Grüße", price: 1.5)])

  @Test func valueGoesOutAndComesBack() async throws {
    let session = HTTPSession(
      transport: MockTransport { request in
        #expect(request.fields[values: .contentType] == ["application/json"])
        #expect(request.fields[.accept] == "application/json")
        return .data(try await request.readBody(), type: "application/json")
      })

    let (echo, response) = try await session.value(
      of: Order.self, for: HTTPRequest(.post, origin, body: try .json(order)))

    #expect(echo == order)
    #expect(response.status == .ok)
  }

  @Test func fieldsOfTheRequestWinOverThoseOfItsBody() async throws {
    let session = HTTPSession(
      transport: MockTransport { request in
        .text(request.fields[values: .contentType].joined() + request.fields[values: .accept].joined())
      })
    let request = HTTPRequest(
      .post, origin, fields: [.contentType: "application/vnd.api+json", .accept: "a/b"], body: try .json(order))

    let (data, _) = try await session.data(for: request)
    let error = await #expect(throws: HTTPError.self) { try await session.value(of: Order.self, for: request) }

    #expect(String(decoding: data, as: UTF8.self) == "application/vnd.api+jsona/b")
    #expect(error?.body == data)
  }

  @Test func encoderDecidesHowAValueIsWritten() throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    encoder.keyEncodingStrategy = .convertToSnakeCase
    struct Snake: Encodable {
      var anId = 1
    }
    let body = try RequestBody.json(Snake(), encoder: encoder)
    #expect(body.bytes.map { String(decoding: $0, as: UTF8.self) } == #"{"an_id":1}"#)
  }

  @Test func valueThatIsNoJSONIsAnErrorThatNamesThePlace() {
    let wrong = Order(id: 1, lines: [Line(name: "a", price: 1), Line(name: "b", price: .nan)])
    let error = #expect(throws: HTTPError.self) { try RequestBody.json(wrong) }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message == "the Order cannot be encoded as JSON at 'lines[1].price'")
    #expect(error?.underlying is EncodingError)
  }

  @Test(arguments: [
    (#"{"id": 1}"#, "missing key at 'lines'"),
    (
      #"{"id": 1, "lines": [{"name": "secret", "price": "secret"}]}"#,
      "type mismatch: expected Double at 'lines[0].price'"
    ),
    (#"{"id": 1, "lines": "secret"}"#, "type mismatch: expected an array at 'lines'"),
    (#"{"id": 1, "lines": ["secret"]}"#, "type mismatch: expected an object at 'lines[0]'"),
    (#"{"id": null, "lines": []}"#, "unexpected null: expected Int at 'id'"),
    (#"{"id": 1.5, "lines": []}"#, "invalid value"),
    (#"{"id": secret"#, "invalid JSON at line 1, column 8"),
    ("", "it is empty"),
    (" <html><p>secret</p></html>", "it is HTML or XML, not JSON"),
  ])
  func bodyOfAnotherShapeIsAnErrorThatShowsNothingOfIt(_ text: String, _ reason: String) async throws {
    let session = HTTPSession(transport: MockTransport { _ in .json(text) })

    let error = await #expect(throws: HTTPError.self) {
      try await session.value(of: Order.self, for: HTTPRequest(.get, url("http://a.example/orders?key=secret")))
    }

    #expect(error?.kind == .unexpectedResponse)
    #expect(
      error?.message == "the body (application/json, \(text.utf8.count) bytes) cannot be decoded as Order: \(reason)")
    #expect(error?.underlying is DecodingError)
    #expect(error?.body == Data(text.utf8))
    #expect(error?.response?.status == .ok)
    #expect(error.map { "\($0)".contains("secret") } == false)
  }

  @Test func noBodyIsNilWhereThatIsAValue() async throws {
    let session = HTTPSession(transport: MockTransport { _ in .status(204) })
    let (nothing, response) = try await session.value(of: Order?.self, for: HTTPRequest(.get, origin))
    #expect(nothing == nil)
    #expect(response.status == .noContent)
    await #expect(throws: HTTPError.self) { try await session.value(of: Order.self, for: HTTPRequest(.get, origin)) }
  }

  @Test func statusThatIsNoSuccessIsAnErrorWithTheBody() async throws {
    let session = HTTPSession(transport: MockTransport { _ in .json(#"{"title": "gone"}"#, status: .gone) })
    let error = await #expect(throws: HTTPError.self) {
      try await session.value(of: Order.self, for: HTTPRequest(.get, origin))
    }
    #expect(error?.kind == .unexpectedResponse)
    #expect(error?.response?.status == .gone)
    #expect(error?.body == Data(#"{"title": "gone"}"#.utf8))
  }

  @Test func excerptOfALargeBodyIsLimited() async throws {
    let session = HTTPSession(transport: MockTransport { _ in .data(Data(count: 1 << 20)) })
    let error = await #expect(throws: HTTPError.self) {
      try await session.value(of: Order.self, for: HTTPRequest(.get, origin))
    }
    #expect(error?.body?.count == 64 << 10)
  }
}
