import HTTPTypes
import Martlet
import MartletOpenAPI
import MartletTesting
import OpenAPIRuntime
import PetAPI
import Synchronization
import Testing

/// A client made by swift-openapi-generator sends its requests over a session.
@Suite(.timeLimit(.minutes(5))) struct SessionClientTransportTests {
  private func client(_ server: LoopbackServer, at path: String = "/v1", _ session: HTTPSession = HTTPSession())
    -> Client
  {
    Client(serverURL: server.url(path), transport: SessionClientTransport(session))
  }

  private func photo(_ body: HTTPBody) -> Operations.UploadPhoto.Input {
    Operations.UploadPhoto.Input(path: .init(petId: "1"), body: .binary(body))
  }

  private func get(_ path: String = "/", _ method: HTTPTypes.HTTPRequest.Method = .get) -> HTTPTypes.HTTPRequest {
    HTTPTypes.HTTPRequest(method: method, scheme: nil, authority: nil, path: path)
  }

  @Test(arguments: ["/v1", "/v1/", "/v1?ignored=1#too"]) func thePathOfTheOperationFollowsThatOfTheServer(base: String)
    async throws
  {
    let server = try LoopbackServer { _ in .json(#"[{"id": 7, "name": "Rex"}]"#) }
    let output = try await client(server, at: base).listPets(query: .init(limit: 10))
    #expect(try output.ok.body.json == [Components.Schemas.Pet(id: 7, name: "Rex")])
    #expect(server.requests.map(\.target) == ["/v1/pets?limit=10"])
  }

  @Test func aServersPathIsRelativeToTheBaseURLOfTheSession() async throws {
    let server = try LoopbackServer { _ in .json("[]") }
    var configuration = SessionConfiguration()
    configuration.baseURL = server.url("/api")
    let transport = SessionClientTransport(HTTPSession(configuration: configuration))
    let url = try #require(URL(string: "/v2"))
    _ = try await Client(serverURL: url, transport: transport).listPets()
    #expect(server.requests.map(\.target) == ["/v2/pets"])
  }

  @Test func dataInAPathStaysEncoded() async throws {
    let server = try LoopbackServer { _ in .status(.noContent) }
    _ = try await client(server).deletePet(path: .init(petId: "a/b c?"))
    #expect(server.requests.map(\.target) == ["/v1/pets/a%2Fb%20c%3F"])
  }

  /// A transport that assigns fields by name would keep only the last of several.
  @Test func repeatedFieldsAreKept() async throws {
    let server = try LoopbackServer { _ in
      Reply(fields: [.contentType: "application/json", .setCookie: "a=1", .setCookie: "b=2"], content: Data("[]".utf8))
    }
    let cookies = Cookies()
    let client = Client(
      serverURL: server.url, transport: SessionClientTransport(HTTPSession()), middlewares: [cookies])
    _ = try await client.listPets()
    #expect(cookies.values.withLock { $0 } == ["a=1", "b=2"])
  }

  /// Records the cookies of responses.
  private final class Cookies: ClientMiddleware {
    let values = Mutex<[String]>([])

    func intercept(
      _ request: HTTPTypes.HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String,
      next: @Sendable (HTTPTypes.HTTPRequest, HTTPBody?, URL) async throws -> (HTTPTypes.HTTPResponse, HTTPBody?)
    ) async throws -> (HTTPTypes.HTTPResponse, HTTPBody?) {
      let (response, body) = try await next(request, body, baseURL)
      values.withLock { $0 += response.headerFields[values: .setCookie] }
      return (response, body)
    }
  }

  @Test func anAnswerThatIsNotAnErrorIsWhatTheDescriptionSays() async throws {
    let server = try LoopbackServer { _ in
      Reply(
        status: .conflict, fields: [.contentType: "application/problem+json"],
        content: Data(#"{"title": "There is one already."}"#.utf8))
    }
    let output = try await client(server).createPet(body: .json(Components.Schemas.Pet(id: 1, name: "Rex")))
    guard case .default(let status, let problem) = output else {
      Issue.record("\(output)")
      return
    }
    #expect(status == 409)
    #expect(try problem.body.applicationProblemJson.title == "There is one already.")
  }

  @Test func aValueIsSentWithItsLengthAndType() async throws {
    let server = try LoopbackServer { request in
      Reply(
        status: .created, fields: [.contentType: "application/json", "Location": "/pets/1"],
        content: request.received.body)
    }
    let pet = Components.Schemas.Pet(id: 1, name: "Grüße", born: Date(timeIntervalSince1970: 1_000_000_000))
    let created = try await client(server).createPet(body: .json(pet)).created
    #expect(try created.body.json == pet)
    #expect(created.headers.location == "/pets/1")
    let request = try #require(server.requests.first)
    #expect(request.fields[.contentLength] == "\(request.body.count)")
    #expect(request.fields[.contentType] == "application/json; charset=utf-8")
  }

  @Test func aBodyThatCanBeIteratedAgainIsSentAgain() async throws {
    let server = try LoopbackServer { request in
      request.path == "/v1/pets/1/photo" ? .redirect(to: "/elsewhere", status: .temporaryRedirect) : .status(.ok)
    }
    _ = try await client(server).uploadPhoto(photo(HTTPBody(Array("photo".utf8)))).ok
    #expect(server.requests.map(\.text) == ["photo", "photo"])
  }

  @Test func aBodyThatCanBeIteratedOnceFailsARedirectOfIt() async throws {
    let server = try LoopbackServer { _ in .redirect(to: "/elsewhere", status: .temporaryRedirect) }
    let chunks = AsyncStream<ArraySlice<UInt8>> { stream in
      stream.yield(Array("pho".utf8)[...])
      stream.yield(Array("to".utf8)[...])
      stream.finish()
    }
    let error = await #expect(throws: ClientError.self) {
      _ = try await client(server).uploadPhoto(photo(HTTPBody(chunks, length: .unknown)))
    }
    #expect((error?.underlyingError as? HTTPError)?.kind == .bodyNotReplayable)
    #expect(server.requests.map(\.text) == ["photo"])
    #expect(server.requests.first?.fields[.transferEncoding] == "chunked")
  }

  @Test func aStreamOfKnownLengthIsSentWithIt() async throws {
    let server = try LoopbackServer { _ in .status(.ok) }
    let chunks = AsyncStream<ArraySlice<UInt8>> { stream in
      stream.yield(Array("photo".utf8)[...])
      stream.finish()
    }
    _ = try await client(server).uploadPhoto(photo(HTTPBody(chunks, length: .known(5)))).ok
    #expect(server.requests.first?.fields[.contentLength] == "5")
    #expect(server.requests.first?.text == "photo")
  }

  /// The client requests the second part only when it has read the first.
  @Test func aResponseIsReadWhileItArrives() async throws {
    let gate = Gate()
    let server = try LoopbackServer { _ in .data(Data("firstsecond".utf8)).stalled(after: 5, until: gate) }
    let body = try await client(server).downloadPhoto(path: .init(petId: "1")).ok.body.binary
    #expect(body.length == .known(11))
    #expect(body.iterationBehavior == .single)
    var text = ""
    for try await chunk in body {
      text += String(decoding: chunk, as: UTF8.self)
      if text == "first" { gate.open() }
    }
    #expect(gate.isOpen)
    #expect(text == "firstsecond")
  }

  /// At most the content of sockets and buffers is produced for a reader that does not read.
  @Test func aSlowReaderSlowsTheServerDown() async throws {
    let produced = Mutex<Int64>(0), size: Int64 = 64 << 20
    let server = try LoopbackServer { _ in
      .generated(length: size) { offset in
        let chunk = Data(count: Int(min(size - offset, 64 << 10)))
        produced.withLock { $0 = offset + Int64(chunk.count) }
        return chunk
      }
    }
    let body = try await client(server).downloadPhoto(path: .init(petId: "1")).ok.body.binary
    var iterator = body.makeAsyncIterator()
    var count = Int64(try await iterator.next()?.count ?? 0)
    // several round trips over another connection, during which the rest would have arrived
    for _ in 0..<50 { _ = try await HTTPSession.shared.data(for: HTTPRequest("HEAD", server.url("/"))) }
    #expect(produced.withLock { $0 } < size)
    while let chunk = try await iterator.next() { count += Int64(chunk.count) }
    #expect(count == size)
  }

  @Test(arguments: [
    (HTTPTypes.HTTPRequest.Method.head, 200), (.get, 204), (.get, 304), (.get, 200), (.trace, 200),
  ])
  func whatHasNoBodyHasNone(method: HTTPTypes.HTTPRequest.Method, status: Int) async throws {
    let server = try LoopbackServer { _ in
      status == 200 ? .text("text") : .status(HTTPStatus(status))
    }
    let ended = Mutex<[String]>([])
    var configuration = SessionConfiguration()
    configuration.cache = nil
    configuration.listeners = [
      EventHandler { event, _ in
        if case .finished(let error) = event { ended.withLock { $0.append(error?.kind.name ?? "success") } }
      }
    ]
    let transport = SessionClientTransport(HTTPSession(configuration: configuration))
    let (response, body) = try await transport.send(
      get("/", method), body: nil, baseURL: server.url(""), operationID: "get")
    #expect(response.status.code == status)
    #expect((body != nil) == (method != .head && status == 200))
    if let body { _ = try await [UInt8](collecting: body, upTo: 100) }
    #expect(ended.withLock { $0 } == ["success"])
  }

  @Test func theOperationIsTheLabelOfTheCall() async throws {
    let server = try LoopbackServer { _ in .json("[]") }
    let labels = Mutex<[String?]>([])
    var configuration = SessionConfiguration()
    configuration.listeners = [
      EventHandler { event, call in if case .finished = event { labels.withLock { $0.append(call.label) } } }
    ]
    _ = try await client(server, HTTPSession(configuration: configuration)).listPets()
    #expect(labels.withLock { $0 } == ["listPets"])
  }

  @Test func aPathThatIsNoneIsRefused() async throws {
    let transport = SessionClientTransport(HTTPSession(transport: ScriptedTransport()))
    let url = try #require(URL(string: "http://a.example"))
    let error = await #expect(throws: HTTPError.self) {
      _ = try await transport.send(get(".evil.example/"), body: nil, baseURL: url, operationID: "x")
    }
    #expect(error?.kind == .invalidRequest)
  }

  @Test(arguments: ["/", ""]) func aParameterThatIsEmptyDoesNotBecomeAHost(server: String) async throws {
    var configuration = SessionConfiguration()
    configuration.baseURL = URL(string: "http://a.example/")
    let mock = ScriptedTransport(.text("ok"))
    let transport = SessionClientTransport(HTTPSession(transport: mock, configuration: configuration))
    let url = try #require(URL(string: "http://a.example\(server)", encodingInvalidCharacters: false))
    let relative = server.isEmpty ? try #require(URL(string: "?")) : try #require(URL(string: server))

    let error = await #expect(throws: HTTPError.self) {
      _ = try await transport.send(get("//evil.example/"), body: nil, baseURL: relative, operationID: "x")
    }
    #expect(error?.kind == .invalidRequest)
    #expect(mock.requests.isEmpty)

    _ = try await transport.send(get("//evil.example/"), body: nil, baseURL: url, operationID: "x")
    #expect(mock.requests.map { $0.url.host() } == ["a.example"])
  }

  /// Only the path that a middleware sets is used: the destination comes from the server's URL.
  @Test func theAuthorityOfAMiddlewareIsNotUsed() async throws {
    let mock = ScriptedTransport(.text("ok"))
    let transport = SessionClientTransport(HTTPSession(transport: mock))
    let url = try #require(URL(string: "http://a.example"))
    let request = HTTPTypes.HTTPRequest(method: .get, scheme: nil, authority: "b.example", path: "/x")
    _ = try await transport.send(request, body: nil, baseURL: url, operationID: "x")
    #expect(mock.requests.map(\.url.absoluteString) == ["http://a.example/x"])
  }

  @Test func aCallWithoutContentSucceedsAlthoughNobodyReadsIt() async throws {
    let server = try LoopbackServer { _ in .status(.created) }
    let ended = Mutex<[String]>([])
    var configuration = SessionConfiguration()
    configuration.listeners = [
      EventHandler { event, _ in
        if case .finished(let error) = event { ended.withLock { $0.append(error?.kind.name ?? "success") } }
      }
    ]
    let client = self.client(server, HTTPSession(configuration: configuration))
    _ = try await client.uploadPhoto(photo(HTTPBody("photo"))).created
    #expect(ended.withLock { $0 } == ["success"])
  }

  /// swift-http-types would end the process.
  @Test func aServerThatSendsTooManyFieldLinesIsAnError() async throws {
    var fields = Martlet.HTTPFields()
    for _ in 0..<65_535 { fields.append("", forName: "a") }
    let answer = MockResponse(status: .ok, fields: fields, content: Data())
    let transport = SessionClientTransport(HTTPSession(transport: ScriptedTransport(answer)))
    let url = try #require(URL(string: "http://a.example"))
    let error = await #expect(throws: HTTPError.self) {
      _ = try await transport.send(get(), body: nil, baseURL: url, operationID: "x")
    }
    #expect(error?.kind == .unexpectedResponse)
  }
}
