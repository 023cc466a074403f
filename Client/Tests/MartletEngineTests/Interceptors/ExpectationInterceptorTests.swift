import CallDoubles
import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

/// Which requests announce their body (RFC 9110 §10.1.1), and the reaction to a 417.
@Suite(.timeLimit(.minutes(5)))
struct ExpectationInterceptorTests {
  private let large = RequestBody.data(Data(count: (1 << 20) + 1))
  private static let one = AsyncStream<Data> { chunks in
    chunks.yield(Data("a".utf8))
    chunks.finish()
  }

  private func request(
    _ body: RequestBody, _ fields: HTTPFields = [:], waiting timeout: Duration? = .seconds(1)
  ) -> HTTPRequest {
    var request = HTTPRequest(.put, origin, fields: fields, body: body)
    request.options.continueTimeout = timeout
    return request
  }

  private func form(with file: URL) -> RequestBody {
    .multipart(MultipartForm([MultipartForm.Part(name: "a", body: .file(file))]))
  }

  /// Sends a request. Returns the `Expect` of each attempt, and the reasons of the resends.
  private func send(
    _ request: HTTPRequest, _ script: MockResponse...
  ) async throws -> (fields: [String?], response: HTTPResponse) {
    let transport = ScriptedTransport(script)
    let (_, response) = try await HTTPSession(transport: transport).data(for: request)
    return (transport.requests.map { $0.fields[.expect] }, response)
  }

  @Test func longAndSingleUseBodiesAreAnnounced() async throws {
    let folder = try TemporaryFolder()
    try folder.write(Data("small".utf8), to: "small")
    try folder.write(Data(count: 2 << 20), to: "large")
    let rows: [(RequestBody, Duration?, HTTPFields, String?)] = [
      (large, .seconds(1), [:], "100-continue"), (large, nil, [:], nil),
      (large, .seconds(1), [.expect: "other"], "other"), (.data(Data("a".utf8)), .seconds(1), [:], nil),
      (.singleUse(length: 1, Self.one), .seconds(1), [:], "100-continue"),
      (.stream { Self.one }, .seconds(1), [:], "100-continue"),
      (.stream(length: 1) { Self.one }, .seconds(1), [:], nil),
      (.file(folder.file("small")), .seconds(1), [:], nil), (.empty, .seconds(1), [:], nil),
      (.file(folder.file("large")), .seconds(1), [:], "100-continue"),
      (RequestBody.data(Data("a".utf8)).compressed(), .seconds(1), [:], nil),
      (RequestBody.file(folder.file("small")).compressed(), .seconds(1), [:], nil),
      (large.compressed(), .seconds(1), [:], "100-continue"),
      (RequestBody.stream { Self.one }.compressed(), .seconds(1), [:], "100-continue"),
      (form(with: folder.file("small")), .seconds(1), [:], nil),
      (form(with: folder.file("large")), .seconds(1), [:], "100-continue"),
    ]
    for (body, timeout, fields, expected) in rows {
      let sent = try await send(request(body, fields, waiting: timeout), .text("done"))
      #expect(sent.fields == [expected], "\(body)")
    }
  }

  @Test func aRefusedExpectationIsAnAttempt() async throws {
    let sent = try await send(request(large), .status(.expectationFailed), .status(.unauthorized))
    #expect(sent.fields == ["100-continue", nil])
    #expect(sent.response.history.map(\.reason) == ["417: the server refused Expect"])
    #expect(sent.response.status == .unauthorized)
  }

  @Test func a417WithoutAnExpectationOfTheEngineIsTheResponse() async throws {
    for request in [
      request(large, [.expect: "100-continue"]), request(large, waiting: nil), request(.data(Data("a".utf8))),
    ] {
      let sent = try await send(request, .status(.expectationFailed))
      #expect(sent.response.status == .expectationFailed)
    }
  }

  @Test func aSecond417IsTheResponse() async throws {
    let sent = try await send(request(large), .status(.expectationFailed), .status(.expectationFailed))
    #expect(sent.fields == ["100-continue", nil])
    #expect(sent.response.status == .expectationFailed)
  }

  @Test func aSingleUseBodyThatWasReadIsNotSentAgain() async throws {
    let transport = MockTransport { request in
      _ = try await request.readBody()
      return .status(.expectationFailed)
    }
    let request = request(.singleUse(length: 1, Self.one))
    let (_, response) = try await HTTPSession(transport: transport).data(for: request)
    #expect(response.status == .expectationFailed)
    #expect(response.history.isEmpty)
  }
}
