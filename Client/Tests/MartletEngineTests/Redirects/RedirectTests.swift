import CallDoubles
import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RedirectTests {
  private func run(
    _ request: HTTPRequest, _ script: MockResponse..., interceptors: [any Interceptor] = []
  ) async throws(HTTPError) -> (HTTPResponse, [HTTPRequest]) {
    let transport = ScriptedTransport(script)
    var configuration = SessionConfiguration()
    configuration.interceptors = interceptors
    let (_, response) = try await HTTPSession(transport: transport, configuration: configuration).data(for: request)
    return (response, transport.requests)
  }

  @Test func aRedirectIsFollowedAndRemembered() async throws {
    let (response, requests) = try await run(HTTPRequest(.get, origin), .redirect(to: "/new"), .text("there"))

    #expect(requests.map(\.url.absoluteString) == ["http://a.example/", "http://a.example/new"])
    #expect(response.url.absoluteString == "http://a.example/new")
    #expect(response.history.map(\.request.url) == [origin])
  }

  @Test func aReplayableBodyGoesWithA307() async throws {
    let request = HTTPRequest(.post, origin, body: .data(Data("body".utf8)))
    let (_, requests) = try await run(request, .redirect(to: "/new", status: 307), .text("there"))

    #expect(requests.map(\.method) == [.post, .post])
    #expect(requests.map(\.body.bytes) == [Data("body".utf8), Data("body".utf8)])
  }

  @Test func aPostBecomesAGetWithoutBodyAfterA303() async throws {
    let request = HTTPRequest(.post, origin, fields: [.contentType: "text/plain"], body: .data(Data("body".utf8)))
    let (_, requests) = try await run(request, .redirect(to: "/new", status: 303), .text("there"))

    #expect(requests.last?.method == .get)
    #expect(requests.last?.body.isEmpty == true)
    #expect(requests.last?.fields.contains(.contentType) == false)
  }

  @Test func credentialsDoNotCrossOrigins() async throws {
    let request = HTTPRequest(
      .get, origin, fields: [.authorization: "Bearer x", .cookie: "a=1", "X-Other": "stays"])
    let (_, requests) = try await run(
      request, .redirect(to: "http://b.example/"), .redirect(to: "http://a.example/back"), .text("there"))

    #expect(requests.map { $0.fields.contains(.authorization) } == [true, false, false])
    #expect(requests.map { $0.fields.contains(.cookie) } == [true, false, false])
    #expect(requests.map { $0.fields["X-Other"] } == ["stays", "stays", "stays"])
  }

  @Test func secretFieldsOfTheCallersOwnDoNotCrossOriginsUnlessThePolicyNamesThem() async throws {
    var request = HTTPRequest(
      .get, origin, fields: ["X-Api-Key": "1", "X-Auth-Token": "2", "Idempotency-Key": "3"])
    let script: [MockResponse] = [.redirect(to: "/b"), .redirect(to: "http://b.example/"), .text("there")]
    let (_, requests) = try await run(request, script[0], script[1], script[2])
    #expect(requests.map { $0.fields["X-Api-Key"] } == ["1", "1", nil])
    #expect(requests.map { $0.fields["X-Auth-Token"] } == ["2", "2", nil])
    #expect(requests.map { $0.fields["Idempotency-Key"] } == ["3", "3", "3"])

    request.options.redirectPolicy.crossOriginFields = ["x-api-key"]
    let (_, kept) = try await run(request, script[0], script[1], script[2])
    #expect(kept.map { $0.fields["X-Api-Key"] } == ["1", "1", "1"])
    #expect(kept.map { $0.fields["X-Auth-Token"] } == ["2", "2", nil])
  }

  @Test func whatAnInterceptorAddedForOneOriginDoesNotTravel() async throws {
    let key = TestInterceptor(prepare: { request in
      guard request.url.host() == "a.example" else { return request }
      var request = request
      request.fields["X-Api-Key"] = "for a only"
      return request
    })
    let (_, requests) = try await run(
      HTTPRequest(.get, origin), .redirect(to: "http://b.example/"), .text("there"), interceptors: [key])

    #expect(requests.map { $0.fields["X-Api-Key"] } == ["for a only", nil])
  }

  @Test func twentyRedirectsAreFollowedAndNoMore() async throws {
    func session() -> HTTPSession {
      HTTPSession(
        transport: MockTransport { request in
          let number = Int(request.url.lastPathComponent) ?? 0
          return number == 0 ? .text("there") : .redirect(to: "/\(number - 1)")
        })
    }
    let (_, response) = try await session().data(for: HTTPRequest(.get, url("http://a.example/20")))
    #expect(response.history.count == 20)

    let error = await #expect(throws: HTTPError.self) {
      try await session().data(for: HTTPRequest(.get, url("http://a.example/21")))
    }
    #expect(error?.kind == .tooManyRedirects)
  }

  @Test func aLoopIsNamed() async throws {
    let session = HTTPSession(
      transport: MockTransport { request in .redirect(to: request.url.path == "/a" ? "/b" : "/a") })
    let error = await #expect(throws: HTTPError.self) {
      try await session.data(for: HTTPRequest(.get, url("http://a.example/a")))
    }
    #expect(error?.kind == .tooManyRedirects)
    #expect(error?.message.contains("http://a.example/a → http://a.example/b") == true, "\(error?.message ?? "")")
  }

  @Test func httpsToHttpIsRefusedUnlessAllowed() async throws {
    var request = HTTPRequest(.get, url("https://a.example/"))
    let error = await #expect(throws: HTTPError.self) {
      try await run(request, .redirect(to: "http://a.example/"), .text("there"))
    }
    #expect(error?.kind == .redirectRefused)
    #expect(error?.response?.status == .found)

    request.options.redirectPolicy.allowsInsecure = true
    let (response, _) = try await run(request, .redirect(to: "http://a.example/"), .text("there"))
    #expect(response.status == .ok)
  }

  @Test func policiesDecideWhatIsFollowed() async throws {
    let (plain, secure) = ("http://a.example/", "https://a.example/")
    let table: [(RedirectPolicy, from: String, String, HTTPStatus)] = [
      (.follow, plain, "http://b.example/", .ok), (.manual, plain, "/new", .found), (.sameOrigin, plain, "/new", .ok),
      (.sameOrigin, plain, "http://b.example/", .found), (.sameOrigin, plain, "http://a.example:81/", .found),
      (.sameOrigin, secure, "/new", .ok), (.sameOrigin, secure, "http://a.example/", .found),
      (.sameOrigin, secure, "http://b.example/", .found), (.sameOrigin, secure, "mailto:a@b.example", .found),
    ]
    for (policy, start, location, status) in table {
      var request = HTTPRequest(.get, url(start))
      request.options.redirectPolicy = policy
      let (response, _) = try await run(request, .redirect(to: location), .text("there"))
      #expect(response.status == status, "\(policy) \(start) \(location)")
    }
  }

  @Test func aSingleUseBodyCannotFollowA307() async throws {
    let chunks = AsyncStream<Data> { continuation in
      continuation.yield(Data("once".utf8))
      continuation.finish()
    }
    let session = HTTPSession(
      transport: MockTransport { request in
        _ = try await request.readBody()
        return .redirect(to: "/new", status: 307)
      })
    let error = await #expect(throws: HTTPError.self) {
      try await session.data(for: HTTPRequest(.post, origin, body: .singleUse(chunks)))
    }
    #expect(error?.kind == .bodyNotReplayable)
  }
}
