import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import Testing

@Suite("CSRF tokens stay where they belong", .timeLimit(.minutes(5)))
struct CSRFOriginTests {
  private static let root = url("http://a.example/service/")

  private func session(_ interceptor: CSRFInterceptor, _ server: TokenServer) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.interceptors = [interceptor, OneCookie()]
    return HTTPSession(transport: MockTransport { try await server.respond(to: $0) }, configuration: configuration)
  }

  private func echo(_ request: MockRequest) -> MockResponse { .text(request.fields["X-CSRF-Token"] ?? "none") }

  @Test(arguments: [
    ("http://a.example/service", true), ("http://a.example/service/", true), ("http://a.example/service/x?q", true),
    ("http://a.example/services", false), ("http://a.example/", false), ("http://a.example/service/../x", false),
    ("http://b.example/service/", false), ("https://a.example/service/", false),
    ("http://a.example:81/service/", false), ("http://A.EXAMPLE:80/service/x", true),
  ])
  func aRootProtectsWhatLiesBelowIt(target: String, isProtected: Bool) async throws {
    for root in ["http://a.example/service", "http://a.example/service/"] {
      let server = TokenServer { request in
        request.method == .post ? self.echo(request) : .text("").with("X-CSRF-Token", "t")
      }
      let (data, _) = try await session(CSRFInterceptor(root: url(root)), server)
        .data(for: HTTPRequest(.post, url(target)))
      #expect(String(decoding: data, as: UTF8.self) == (isProtected ? "t" : "none"), "\(root) \(target)")
    }
  }

  @Test func aTokenDoesNotFollowARedirectToAnotherOrigin() async throws {
    let server = TokenServer { request in
      switch (request.url.host(), request.method) {
      case ("b.example", _): self.echo(request)
      case (_, .post): .redirect(to: "http://b.example/service/", status: 307)
      default: .text("").with("X-CSRF-Token", "t")
      }
    }
    let (data, _) = try await session(CSRFInterceptor(root: Self.root), server).data(for: HTTPRequest(.post, Self.root))
    #expect(String(decoding: data, as: UTF8.self) == "none")
  }

  @Test func aTokenThatAnotherOriginGivesIsNotTaken() async throws {
    let server = TokenServer { request in
      switch (request.url.host(), request.method) {
      case ("b.example", _): .text("").with("X-CSRF-Token", "foreign")
      case (_, .post): self.echo(request)
      default: .redirect(to: "http://b.example/logon")
      }
    }
    let (data, _) = try await session(CSRFInterceptor(root: Self.root), server).data(for: HTTPRequest(.post, Self.root))
    #expect(String(decoding: data, as: UTF8.self) == "none")
  }

  @Test func aTokenURLOnAnotherOriginIsNotAsked() async throws {
    let server = TokenServer { self.echo($0) }
    let interceptor = CSRFInterceptor { _ in url("http://b.example/token") }
    _ = try await session(interceptor, server).data(for: HTTPRequest(.post, Self.root))
    #expect(server.fetches.isEmpty)
  }

  @Test func aClosureDecidesWhereTokensComeFrom() async throws {
    let server = TokenServer { request in
      guard request.method != .post else { return self.echo(request) }
      return .text("").with("X-CSRF-Token", "of" + request.url.path(percentEncoded: true).replacing("/", with: "-"))
    }
    let interceptor = CSRFInterceptor { request in
      request.url.path == "/free" ? nil : request.url.appending(path: "token")
    }
    let session = session(interceptor, server)
    for (path, token) in [("/one", "of-one-token"), ("/two", "of-two-token"), ("/free", "none")] {
      let (data, _) = try await session.data(for: HTTPRequest(.post, url("http://a.example\(path)")))
      #expect(String(decoding: data, as: UTF8.self) == token, "\(path)")
    }
  }

  @Test func aNewerTokenIsLearntFromAnyResponse() async throws {
    let server = TokenServer { request in
      guard request.method == .get else { return self.echo(request) }
      return .text("page").with("X-CSRF-Token", "from a\tpage")
    }
    let session = session(CSRFInterceptor(root: Self.root), server)
    _ = try await session.data(for: HTTPRequest(.get, url("http://a.example/service/page")))
    let (data, _) = try await session.data(for: HTTPRequest(.post, Self.root))
    #expect(String(decoding: data, as: UTF8.self) == "fromapage")
    #expect(server.fetches.isEmpty)
  }

  @Test(arguments: ["", "Fetch", "required", "Required", "\t"])
  func whatIsNoTokenIsNotLearnt(value: String) async throws {
    let server = TokenServer { request in
      guard request.fields["X-CSRF-Token"] != "Fetch" else { return .text("").with("X-CSRF-Token", "t") }
      return request.method == .get ? .text("page").with("X-CSRF-Token", value) : self.echo(request)
    }
    let session = session(CSRFInterceptor(root: Self.root), server)
    _ = try await session.data(for: HTTPRequest(.get, Self.root))
    let (data, _) = try await session.data(for: HTTPRequest(.post, Self.root))
    #expect(String(decoding: data, as: UTF8.self) == "t")
  }

  @Test func aResponseFromBeforeAFetchTeachesNothing() async throws {
    let gate = Gate()
    let server = TokenServer { request in
      guard request.url.path.hasSuffix("old") else { return nil }
      try await gate.wait()
      return .text("page").with("X-CSRF-Token", "old")
    }
    let session = session(CSRFInterceptor(root: Self.root), server)
    let old = Task { try await session.data(for: HTTPRequest(.get, url("http://a.example/service/old"))) }
    for _ in 0..<100 { await Task.yield() }
    _ = try await session.data(for: HTTPRequest(.post, Self.root))
    gate.open()
    _ = try await old.value

    let (_, response) = try await session.data(for: HTTPRequest(.post, Self.root))
    #expect(response.status == .created)
    #expect(server.refusals == 0)
  }

  @Test(arguments: [false, true])
  func anotherServicesPathIsNotTakenOverWhileItGivesNoToken(isFirst: Bool) async throws {
    let givesNone = Mutex(true)
    let server = TokenServer { request in
      let service = String(request.url.path.dropFirst().prefix(1))
      guard request.method == .post else {
        return service == "b" && givesNone.withLock { $0 }
          ? .status(.serviceUnavailable) : .text("").with("X-CSRF-Token", service)
      }
      return request.fields["X-CSRF-Token"] == service
        ? .text("written", status: .created) : .text("", status: .forbidden).with("X-CSRF-Token", "Required")
    }
    let services = ["a", "b"].map { CSRFInterceptor(root: url("http://a.example/\($0)")) }
    var configuration = SessionConfiguration()
    configuration.interceptors = isFirst ? services : services.reversed()
    let session = HTTPSession(
      transport: MockTransport { try await server.respond(to: $0) }, configuration: configuration)
    let request = HTTPRequest(.post, url("http://a.example/b/orders"))

    #expect(try await session.data(for: request).1.status == .forbidden)
    givesNone.withLock { $0 = false }

    let (_, response) = try await session.data(for: request)
    #expect(response.status == .created)
    #expect(response.history.isEmpty)
  }

  @Test func aPathThatGotNoTokenIsNotRemembered() async throws {
    let server = TokenServer { request in
      request.method == .post ? .text("", status: .forbidden).with("X-CSRF-Token", "Required") : .status(.notFound)
    }
    let session = session(CSRFInterceptor(root: Self.root), server)
    let request = HTTPRequest(.post, url("http://a.example/elsewhere"))
    _ = try await session.data(for: request)
    let asked = server.fetches.count
    _ = try await session.data(for: request)
    #expect(server.fetches.count == 2 * asked)
  }

  @Test func aStoreThatFailsFailsNoRequest() async throws {
    let server = TokenServer()
    var options = CSRFOptions()
    options.store = FailingStore()
    let session = session(CSRFInterceptor(root: Self.root, options: options), server)
    for _ in 0..<3 {
      #expect(try await session.data(for: HTTPRequest(.post, Self.root)).1.status == .created)
    }
    #expect(server.fetches.count == 1)
  }

  @Test func aTokenFromTheStoreIsUsedAndReplacedWhenRefused() async throws {
    let server = TokenServer()
    let options = CSRFOptions()
    try await options.store.setToken("from another day", for: Self.root)
    let session = session(CSRFInterceptor(root: Self.root, options: options), server)
    let (_, response) = try await session.data(for: HTTPRequest(.post, Self.root))
    #expect(response.status == .created)
    #expect(server.refusals == 1)
    #expect(try await options.store.token(for: Self.root) == "token-1==")
  }

  @Test func aStreamedBodyIsSentAgainFromAFreshStream() async throws {
    let server = TokenServer()
    let session = session(CSRFInterceptor(root: Self.root), server)
    _ = try await session.data(for: HTTPRequest(.post, Self.root))
    server.forgetSessions()
    let body = RequestBody.stream {
      AsyncStream { continuation in
        for text in ["one ", "two"] { continuation.yield(Data(text.utf8)) }
        continuation.finish()
      }
    }
    let (_, response) = try await session.data(for: HTTPRequest(.post, Self.root, body: body))
    #expect(response.status == .created)
    #expect(server.accepted.last == "one two")
  }

  @Test func aStreamThatIsThereOnceGetsTheRefusalAndTheNextRequestANewToken() async throws {
    let server = TokenServer()
    let session = session(CSRFInterceptor(root: Self.root), server)
    _ = try await session.data(for: HTTPRequest(.post, Self.root))
    server.forgetSessions()
    let chunks = AsyncStream<Data> { $0.finish() }
    let (_, refused) = try await session.data(for: HTTPRequest(.post, Self.root, body: .singleUse(chunks)))
    let (_, accepted) = try await session.data(for: HTTPRequest(.post, Self.root))
    #expect(refused.status == .forbidden)
    #expect(accepted.status == .created)
    #expect(accepted.history.isEmpty)
  }
}
