import MartletTasks
import MartletTasksTesting
import Testing

/// Decoders, and the messages of failures.
@Suite struct DecoderTests {
  /// Decodes every value as the name of its type.
  private struct Fixed: NetworkResponseDecoder {
    let json: String

    func decode<Value: Decodable & Sendable>(
      _ type: Value.Type, from response: HTTPResponse, data: Data
    ) throws -> Value {
      try JSONDecoder().decode(type, from: Data(json.utf8))
    }
  }

  /// A service that answers 200 with an error in the body.
  private struct Envelope: NetworkResponseDecoder {
    func decode<Value: Decodable & Sendable>(
      _ type: Value.Type, from response: HTTPResponse, data: Data
    ) throws -> Value {
      if data.starts(with: Data(#"{"error""#.utf8)) {
        throw NetworkError.service(ServiceMessage(response, data: data))
      }
      return try JSONResponseDecoder().decode(type, from: response, data: data)
    }
  }

  @Test("A request's decoder wins over its session's") func requestsDecoderWinsOverTheSessions() async throws {
    let mock = makeMock(decoder: Fixed(json: #"{"title": "session"}"#))
    mock["shop"] = .response(json: shopJSON)
    let shop = NetworkRequest().path("shop")
    let ofRequest = shop.task(expecting: Shop.self, session: mock, decoder: Fixed(json: #"{"title": "request"}"#))
    let ofSession = shop.task(expecting: Shop.self, session: mock)

    #expect(try await ofSession.value().title == "session")
    #expect(try await ofRequest.value().title == "request")
    #expect(try await ofRequest.decode(expecting: Shop?.self).value()?.title == "request")
    #expect(
      try await ofRequest.decode(expecting: Shop.self, decoder: Fixed(json: #"{"title": "task"}"#)).value().title
        == "task")
  }

  @Test("A decoder turns a failure into a success") func decoderTurnsAFailureIntoASuccess() async throws {
    let mock = makeMock(decoder: Fixed(json: #"{"title": "closed"}"#))
    mock["shop"] = .response(status: 404)

    let response = await NetworkRequest().path("shop").task(expecting: Shop.self, session: mock).execute()

    #expect(try response.value.title == "closed")
    #expect(response.statusCode == 404)
  }

  @Test("A decoder turns a success into a failure") func decoderTurnsASuccessIntoAFailure() async throws {
    let mock = makeMock(decoder: Envelope())
    mock["shop"] = .response(json: #"{"error": "sold out"}"#)

    let response = await NetworkRequest().path("shop").task(expecting: Shop.self, session: mock).execute()

    #expect(response.statusCode == 200)
    #expect("\(try #require(response.error))" == "sold out (200)")
  }

  @Test("A decoder decides what is retried, whether it is given before or after `retry`")
  func decoderDecidesWhatIsRetriedInBothOrders() async throws {
    let mock = makeMock()
    let shop = NetworkRequest().path("shop").task(expecting: Shop.self, session: mock)
    let (accepting, refusing) = (Fixed(json: #"{"title": "closed"}"#), Envelope())

    mock["shop"] = .response(status: 404)
    #expect(try await shop.decode(expecting: Shop.self, decoder: accepting).retry(3).value().title == "closed")
    #expect(mock.requests.count == 1)
    #expect(try await shop.retry(3).decode(expecting: Shop.self, decoder: accepting).value().title == "closed")
    #expect(mock.requests.count == 2)

    mock["shop"] = .response(json: #"{"error": "sold out"}"#)
    #expect(await shop.decode(expecting: Shop.self, decoder: refusing).retry(3).execute().error is NetworkError)
    #expect(mock.requests.count == 6)
    #expect(await shop.retry(3).decode(expecting: Shop.self, decoder: refusing).execute().error is NetworkError)
    #expect(mock.requests.count == 10)
  }

  @Test("A task that decodes another type keeps its operators in their order")
  func otherTypeHasTheOperatorsInTheirOrder() async throws {
    let mock = makeMock()
    mock["shop"] = .response(status: 503)
    let shop = NetworkRequest().path("shop").task(expecting: Shop.self, session: mock)

    let title = shop.retry(1).map(\.title).timeout(.seconds(500)).retry(2)

    #expect(await title.decode(expecting: Shop?.self).execute().statusCode == 503)
    #expect(mock.requests.count == 6)
  }

  @Test(
    "A failure says the best text of its body",
    arguments: [
      (#"{"message": "sold out"}"#, "application/json", "sold out"),
      (#"{"title": "Bad", "detail": "sold out", "status": 409}"#, "application/problem+json", "sold out"),
      (#"{"error": "invalid_grant", "error_description": "sold out"}"#, "application/json", "sold out"),
      (#"{"error": {"code": 12, "message": "sold out"}}"#, "application/json", "sold out"),
      (#"{"errors": [{"message": ""}, {"message": "sold out"}]}"#, "application/json", "sold out"),
      (#"{"errors": ["sold out", "closed"]}"#, "application/json", "sold out"),
      (#"{"message": 7, "title": "sold out"}"#, "application/json", "sold out"),
      ("sold out", "text/plain", "sold out"),
      ("<html><h1>sold out</h1></html>", "text/html", "Conflict"),
      ("", "application/json", "Conflict"),
      ("[]", "application/json", "Conflict"),
      (#"{"code": 3}"#, "application/json", "Conflict"),
      ("{", "application/json", "Conflict"),
    ])
  func failureSaysTheBestTextOfItsBody(body: String, type: String, text: String) async throws {
    let mock = makeMock()
    mock["shop"] = .response(status: 409, headers: [.contentType: type], data: Data(body.utf8))

    let error = await #expect(throws: NetworkError.self) {
      try await NetworkRequest().path("shop").task(expecting: Shop.self, session: mock).value()
    }

    guard case .service(let message)? = error else {
      Issue.record("no message of the service")
      return
    }
    #expect(message.text == text)
    #expect(message.statusCode == 409)
    #expect(message.data == Data(body.utf8))
  }

  @Test("The message keeps the service's code") func messageKeepsTheServicesCode() async throws {
    let head = HTTPResponse(status: 400, url: try #require(URL(string: "https://shop.test")))
    #expect(ServiceMessage(head, data: Data(#"{"code": 12, "message": "m"}"#.utf8)).code == "12")
    #expect(ServiceMessage(head, data: Data(#"{"error": {"code": "E1"}}"#.utf8)).code == "E1")
    #expect(ServiceMessage(head, data: Data()).code == nil)
    var plain = head
    plain.fields[.contentType] = "text/plain"
    let start = String(repeating: "a", count: 499)
    #expect(ServiceMessage(plain, data: Data((start + "ü and more").utf8)).text == start)
  }
}
