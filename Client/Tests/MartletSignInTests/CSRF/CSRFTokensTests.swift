import CallDoubles
import MartletEngine
import MartletSemantics
import MartletSignIn
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite("CSRF tokens", .timeLimit(.minutes(5)))
struct CSRFTokensTests {
  @Test func concurrentRequestsShareOneFetchAndItsCookie() async throws {
    let gate = Gate(), prepared = Gate(), count = Counter()
    let server = CSRFServer { request in
      if request.fields["X-CSRF-Token"] == "Fetch" { try await gate.wait() }
      return nil
    }
    let counting = TestInterceptor { request in
      if request.method == .post, count.next() == 30 { prepared.open() }
      return request
    }
    let session = server.session(after: counting)
    let calls = (0..<30).map { number in Task { try await session.data(for: CSRFServer.post("\(number)")).1.status } }
    try await server.isFetching.wait()
    try await prepared.wait()
    #expect(server.accepted.isEmpty && server.refusals == 0)
    gate.open()

    for call in calls { #expect(try await call.value == .created) }
    #expect(server.fetches.count == 1)
    #expect(server.refusals == 0)
    #expect(server.accepted.count == 30)
  }

  @Test func cancellingARequestDoesNotCancelTheFetch() async throws {
    let gate = Gate()
    let server = CSRFServer { request in
      if request.method == .head { try await gate.wait() }
      return nil
    }
    let session = server.session()
    let first = Task { try await session.data(for: CSRFServer.post("first")) }
    try await server.isFetching.wait()
    let second = Task { try await session.data(for: CSRFServer.post("second")).1.status }

    first.cancel()
    let error = await #expect(throws: HTTPError.self) { try await first.value }
    gate.open()

    #expect(error?.isCancelled == true)
    #expect(try await second.value == .created)
    #expect(server.fetches.count == 1)
    #expect(server.accepted == ["second"])
  }

  @Test func aRequestThatIsRefusedAfterARenewalCausesNoFetch() async throws {
    let gate = Gate(), arrived = Gate()
    let server = CSRFServer { request in
      if request.url.path.hasSuffix("slow"), request.fields["X-CSRF-Token"] == "token-1==" {
        arrived.open()
        try await gate.wait()
        return .status(.forbidden).with("x-csrf-token", "required")
      }
      return nil
    }
    let session = server.session()
    _ = try await session.data(for: CSRFServer.post())
    let slow = Task { try await session.data(for: CSRFServer.post("slow", "slow")).1.status }
    try await arrived.wait()
    server.forgetSessions()
    _ = try await session.data(for: CSRFServer.post("fast"))
    gate.open()

    #expect(try await slow.value == .created)
    #expect(server.fetches.count == 2)
  }

  @Test(arguments: [405, 501, 404, 200, 500])
  func aFetchContinuesWithGETIfHEADReturnsNoToken(status: Int) async throws {
    let server = CSRFServer { $0.method == .head ? .status(HTTPStatus(status)) : nil }
    #expect(try await server.session().data(for: CSRFServer.post()).1.status == .created)
    #expect(server.fetches == ["HEAD /service/", "GET /service/"])
  }

  @Test func aFetchContinuesWithoutTheSlashOfThePath() async throws {
    let server = CSRFServer { request in
      request.method != .post && request.url.absoluteString.hasSuffix("/") ? .status(.notFound) : nil
    }
    #expect(try await server.session().data(for: CSRFServer.post()).1.status == .created)
    #expect(server.fetches.count == 3)
  }

  @Test func anErrorResponseMayHaveAToken() async throws {
    let server = CSRFServer { request in
      guard request.method == .head else {
        return request.method == .post ? .text(request.fields["X-CSRF-Token"] ?? "") : nil
      }
      return .status(.internalServerError).with("X-CSRF-Token", "from an error")
    }
    let (data, _) = try await server.session().data(for: CSRFServer.post())
    #expect(data == Data("fromanerror".utf8))
  }

  @Test func aTokenOfAnotherOriginIsNotUsed() async throws {
    let server = CSRFServer { request in
      switch (request.url.host(), request.method) {
      case ("b.example", _): .text("").with("X-CSRF-Token", "foreign")
      case (_, .post): CSRFServer.echo(request)
      default: .redirect(to: "http://b.example/logon")
      }
    }
    let (data, _) = try await server.session().data(for: HTTPRequest(.post, CSRFServer.root))
    #expect(String(decoding: data, as: UTF8.self) == "none")
  }

  @Test func aRequestIsSentWithoutATokenAfterAFailedFetch() async throws {
    let server = CSRFServer { request in
      guard request.method == .post else { throw HTTPError(.connectionLost, "gone") }
      return .text("written anyway")
    }
    let (data, _) = try await server.session().data(for: CSRFServer.post())
    #expect(data == Data("written anyway".utf8))
    for method in ["HEAD", "GET"] {
      #expect(server.log.lines.contains("note: the CSRF token could not be fetched by \(method): gone"))
    }
  }

  @Test(arguments: [401, 200])
  func aFetchWithoutALoginIsNotRemembered(status: Int) async throws {
    let isLoggedOn = Mutex(false)
    let server = CSRFServer { request in
      if isLoggedOn.withLock({ $0 }) { return nil }
      return request.method == .post ? .status(.unauthorized) : .text("<html>", status: HTTPStatus(status))
    }
    let session = server.session()
    #expect(try await session.data(for: CSRFServer.post()).1.status == .unauthorized)
    isLoggedOn.withLock { $0 = true }

    let (_, response) = try await session.data(for: CSRFServer.post())

    #expect(response.status == .created)
    #expect(response.history.isEmpty)
  }

  @Test func aServiceWithoutTokensCausesOneFetch() async throws {
    let server = CSRFServer { _ in .text("open") }
    let session = server.session()
    for _ in 0..<3 { #expect(try await session.data(for: CSRFServer.post()).1.status == .ok) }
    #expect(server.fetches == ["HEAD /service/", "GET /service/"])
    // A request that cannot be sent twice requires another fetch before it is sent.
    let chunks = AsyncStream<Data> { $0.finish() }
    _ = try await session.data(for: HTTPRequest(.post, CSRFServer.root, body: .singleUse(chunks)))
    #expect(server.fetches.count == 4)
  }

  @Test func aServiceThatBeginsToRequireTokensGetsOne() async throws {
    let isOpen = Mutex(true)
    let server = CSRFServer { _ in isOpen.withLock { $0 } ? .text("open") : nil }
    let session = server.session()
    _ = try await session.data(for: CSRFServer.post())
    isOpen.withLock { $0 = false }
    #expect(try await session.data(for: CSRFServer.post()).1.status == .created)
  }

  @Test func aRefusedTokenIsNotUsedAgain() async throws {
    let used = Mutex<[String]>([])
    let count = Mutex(0)
    let server = CSRFServer { request in
      if request.method == .post {
        used.withLock { $0.append(request.fields["X-CSRF-Token"] ?? "none") }
        return .status(.forbidden).with("X-CSRF-Token", "Required")
      }
      let number = count.withLock { count in
        count += 1
        return count
      }
      return .text("").with("X-CSRF-Token", "t\(number)")
    }
    let session = server.session()
    for _ in 0..<3 { #expect(try await session.data(for: CSRFServer.post()).1.status == .forbidden) }
    #expect(used.withLock { $0 } == ["t1", "t2", "t3", "t4", "t5", "t6"])
  }

  @Test func aRefusedTokenIsNotTakenFromALateResponse() async throws {
    let gate = Gate(), arrivals = ["late": Gate(), "later": Gate()]
    let server = CSRFServer { request in
      guard let arrived = arrivals[request.url.lastPathComponent] else { return nil }
      arrived.open()
      try await gate.wait()
      return .text("page").with("X-CSRF-Token", "token-1==")
    }
    let session = server.session()
    _ = try await session.data(for: CSRFServer.post())
    server.forgetSessions()
    let late = Task { try await session.data(for: HTTPRequest(.get, url("http://a.example/service/late"))) }
    try await arrivals["late"]?.wait()
    #expect(try await session.data(for: CSRFServer.post("renewed")).1.status == .created)
    let later = Task { try await session.data(for: HTTPRequest(.get, url("http://a.example/service/later"))) }
    try await arrivals["later"]?.wait()
    gate.open()
    _ = try await (late.value, later.value)

    #expect(try await session.data(for: CSRFServer.post("again")).1.history.isEmpty)
  }

  @Test func aNewerTokenIsTakenFromAnyResponse() async throws {
    let server = CSRFServer { request in
      guard request.method == .get else { return CSRFServer.echo(request) }
      return .text("page").with("X-CSRF-Token", "from a\tpage")
    }
    let session = server.session()
    _ = try await session.data(for: HTTPRequest(.get, url("http://a.example/service/page")))
    let (data, _) = try await session.data(for: HTTPRequest(.post, CSRFServer.root))
    #expect(String(decoding: data, as: UTF8.self) == "fromapage")
    #expect(server.fetches.isEmpty)
  }

  @Test(arguments: ["", "Fetch", "required", "Required", "\t"])
  func keywordsAreNotTakenAsTokens(value: String) async throws {
    let server = CSRFServer { request in
      guard request.fields["X-CSRF-Token"] != "Fetch" else { return .text("").with("X-CSRF-Token", "t") }
      return request.method == .get ? .text("page").with("X-CSRF-Token", value) : CSRFServer.echo(request)
    }
    let session = server.session()
    _ = try await session.data(for: HTTPRequest(.get, CSRFServer.root))
    let (data, _) = try await session.data(for: HTTPRequest(.post, CSRFServer.root))
    #expect(String(decoding: data, as: UTF8.self) == "t")
  }

  @Test func aTokenOfAResponseFromBeforeAFetchIsNotUsed() async throws {
    let gate = Gate(), arrived = Gate()
    let server = CSRFServer { request in
      guard request.url.path.hasSuffix("old") else { return nil }
      arrived.open()
      try await gate.wait()
      return .text("page").with("X-CSRF-Token", "old")
    }
    let session = server.session()
    let old = Task { try await session.data(for: HTTPRequest(.get, url("http://a.example/service/old"))) }
    try await arrived.wait()
    _ = try await session.data(for: HTTPRequest(.post, CSRFServer.root))
    gate.open()
    _ = try await old.value

    let (_, response) = try await session.data(for: HTTPRequest(.post, CSRFServer.root))
    #expect(response.status == .created)
    #expect(server.refusals == 0)
  }

  @Test func anErrorOfTheStoreFailsNoRequest() async throws {
    let server = CSRFServer()
    var options = CSRFOptions()
    options.store = FailingStore()
    let session = server.session(CSRFInterceptor(root: CSRFServer.root, options: options))
    for _ in 0..<3 {
      #expect(try await session.data(for: HTTPRequest(.post, CSRFServer.root)).1.status == .created)
    }
    #expect(server.fetches.count == 1)
  }

  @Test func aTokenFromTheStoreIsReplacedWhenItIsRefused() async throws {
    let server = CSRFServer()
    let options = CSRFOptions()
    try await options.store.setToken("from another day", for: CSRFServer.root)
    let session = server.session(CSRFInterceptor(root: CSRFServer.root, options: options))
    let (_, response) = try await session.data(for: HTTPRequest(.post, CSRFServer.root))
    #expect(response.status == .created)
    #expect(server.refusals == 1)
    #expect(try await options.store.token(for: CSRFServer.root) == "token-1==")
  }

  /// A store whose reads take long, so that requests overlap with them.
  private final class SlowStore: CSRFTokenStore {
    private let tokens = Mutex<[URL: String]>([:])

    func token(for url: URL) async throws -> String? {
      let token = tokens.withLock { $0[url] }
      for _ in 0..<20 { await Task.yield() }  // lets others run in between; the test must hold however many do
      return token
    }

    func setToken(_ token: String?, for url: URL) async throws { tokens.withLock { $0[url] = token } }
  }

  @Test func aRefusedTokenIsNotSentAgainByConcurrentRequests() async throws {
    let refused = Mutex<[UInt64: String]>([:])
    let repetitions = Mutex(0)
    let server = CSRFServer()
    var options = CSRFOptions()
    options.store = SlowStore()
    var configuration = SessionConfiguration()
    configuration.interceptors = [CSRFInterceptor(root: CSRFServer.root, options: options), SessionCookie()]
    let session = HTTPSession(
      transport: MockTransport { request in
        let response = try await server.respond(to: request)
        for _ in 0..<Int.random(in: 0...40) { await Task.yield() }  // another order in each run; any must do
        guard request.method == .post, response.status == .forbidden else { return response }
        let token = request.fields["X-CSRF-Token"] ?? "-"
        let before = refused.withLock { $0.updateValue(token, forKey: request.call.id) }
        if before == token { repetitions.withLock { $0 += 1 } }
        return response
      }, configuration: configuration)

    await withTaskGroup(of: Void.self) { group in
      for task in 0..<30 {
        group.addTask {
          for number in 0..<20 {
            if number % 4 == 0 { server.forgetSessions() }
            _ = try? await session.data(for: CSRFServer.post("\(task)/\(number)"))
          }
        }
      }
    }
    #expect(server.refusals > 0)
    #expect(repetitions.withLock { $0 } == 0)
  }
}
