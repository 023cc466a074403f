import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import Testing

@Suite("CSRF tokens", .timeLimit(.minutes(5)))
struct CSRFTests {
  private static let root = url("http://a.example/service/")
  private let log = EventLog()

  private func session(_ server: TokenServer, _ interceptor: CSRFInterceptor? = nil) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.interceptors = [interceptor ?? CSRFInterceptor(root: Self.root), OneCookie()]
    configuration.listeners = [log]
    return HTTPSession(transport: MockTransport { try await server.respond(to: $0) }, configuration: configuration)
  }

  private func post(_ body: String = "a", _ path: String = "orders") -> HTTPRequest {
    HTTPRequest(.post, url("http://a.example/service/\(path)"), body: .data(Data(body.utf8)))
  }

  @Test func aTokenIsFetchedOnceAndUsedEverAfter() async throws {
    let server = TokenServer()
    let session = session(server)
    for body in ["a", "b", "c"] {
      let (_, response) = try await session.data(for: post(body))
      #expect(response.status == .created)
      #expect(response.history.isEmpty)
    }
    #expect(server.fetches == ["HEAD /service/"])
    #expect(server.refusals == 0)
  }

  @Test func theSessionsOwnCookiesMakeThePair() async throws {
    let server = TokenServer()
    var configuration = SessionConfiguration()
    configuration.interceptors = [CSRFInterceptor(root: Self.root)]
    let session = HTTPSession(
      transport: MockTransport { try await server.respond(to: $0) }, configuration: configuration)

    for round in 0..<3 {
      server.forgetSessions()
      let calls = (0..<10).map { number in Task { try await session.data(for: post("\(round)/\(number)")).1.status } }
      for call in calls { #expect(try await call.value == .created) }
    }

    #expect(server.accepted.count == 30)
    #expect(server.fetches.count == 3)
  }

  @Test func aRequestOutsideTheRootGetsATokenWhenTheServerRequiresIt() async throws {
    let server = TokenServer()
    let request = HTTPRequest(.post, url("http://a.example/elsewhere"), body: .data(Data("a".utf8)))
    let (_, response) = try await session(server).data(for: request)
    #expect(response.status == .created)
    #expect(response.history.count == 1)
    #expect(server.fetches == ["HEAD /service/"])
  }

  @Test(arguments: ["GET", "HEAD", "OPTIONS", "TRACE"])
  func whatChangesNothingNeedsNoToken(method: String) async throws {
    let server = TokenServer { _ in .text("ok") }
    let request = HTTPRequest(try #require(HTTPMethod(rawValue: method)), Self.root)
    _ = try await session(server).data(for: request)
    #expect(server.fetches.isEmpty)
  }

  @Test(arguments: ["POST", "PUT", "PATCH", "DELETE", "MERGE"])
  func whatChangesSomethingNeedsOne(method: String) async throws {
    let server = TokenServer()
    let request = HTTPRequest(try #require(HTTPMethod(rawValue: method)), Self.root)
    #expect(try await session(server).data(for: request).1.status == .created)
    #expect(server.fetches.count == 1)
  }

  @Test func requestsAtTheSameTimeShareOneFetchAndItsCookie() async throws {
    let gate = Gate()
    let server = TokenServer { request in
      if request.fields["X-CSRF-Token"] == "Fetch" { try await gate.wait() }
      return nil
    }
    let session = session(server)
    let calls = (0..<30).map { number in Task { try await session.data(for: post("\(number)")).1.status } }
    while server.fetches.isEmpty { await Task.yield() }
    for _ in 0..<100 { await Task.yield() }
    #expect(server.accepted.isEmpty && server.refusals == 0)
    gate.open()

    for call in calls { #expect(try await call.value == .created) }
    #expect(server.fetches.count == 1)
    #expect(server.refusals == 0)
    #expect(server.accepted.count == 30)
  }

  @Test func anExpiredTokenIsRenewedAndTheRequestSentAgainOnce() async throws {
    let server = TokenServer()
    let session = session(server)
    _ = try await session.data(for: post())
    server.forgetSessions()

    let (_, response) = try await session.data(for: post("again"))

    #expect(response.status == .created)
    #expect(response.history.map(\.reason) == ["the server required a CSRF token"])
    #expect(server.fetches.count == 2)
    #expect(server.accepted == ["a", "again"])
  }

  @Test func manyRequestsWithAnExpiredTokenAreAllAcceptedInTheEnd() async throws {
    let server = TokenServer()
    let session = session(server)
    _ = try await session.data(for: post())
    for round in 0..<20 {
      server.forgetSessions()
      let calls = (0..<20).map { number in Task { try await session.data(for: post("\(round)/\(number)")).1.status } }
      for call in calls { #expect(try await call.value == .created) }
    }
    #expect(server.accepted.count == 401)
    #expect(Set(server.accepted).count == 401)
    #expect(server.fetches.count == 21)
  }

  @Test func whoIsRefusedAfterOthersHaveRenewedFetchesNothing() async throws {
    let gate = Gate()
    let server = TokenServer { request in
      if request.url.path.hasSuffix("slow"), request.fields["X-CSRF-Token"] == "token-1==" {
        try await gate.wait()
        return .status(.forbidden).with("x-csrf-token", "required")
      }
      return nil
    }
    let session = session(server)
    _ = try await session.data(for: post())
    let slow = Task { try await session.data(for: post("slow", "slow")).1.status }
    server.forgetSessions()
    _ = try await session.data(for: post("fast"))
    gate.open()

    #expect(try await slow.value == .created)
    #expect(server.fetches.count == 2)
  }

  @Test func aSecondRefusalIsTheCallersResponse() async throws {
    let server = TokenServer { request in
      request.method == .post ? .text("no", status: .forbidden).with("X-CSRF-Token", "REQUIRED") : nil
    }
    let (data, response) = try await session(server).data(for: post())
    #expect(response.status == .forbidden)
    #expect(data == Data("no".utf8))
    #expect(response.history.count == 1)
    #expect(log.lines.contains { $0.hasPrefix("note: not sent again: the server refused the renewed") })
  }

  @Test func aTokenThatWasRefusedIsNeverUsedAgain() async throws {
    let used = Mutex<[String]>([])
    let count = Mutex(0)
    let server = TokenServer { request in
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
    let session = session(server)
    for _ in 0..<3 { #expect(try await session.data(for: post()).1.status == .forbidden) }
    #expect(used.withLock { $0 } == ["t1", "t2", "t3", "t4", "t5", "t6"])
  }

  @Test func aRefusedTokenIsNotLearntFromALateResponse() async throws {
    let gate = Gate()
    let server = TokenServer { request in
      guard request.url.path.hasSuffix("late") else { return nil }
      try await gate.wait()
      return .text("page").with("X-CSRF-Token", "token-1==")
    }
    let session = session(server)
    _ = try await session.data(for: post())
    server.forgetSessions()
    let late = Task { try await session.data(for: HTTPRequest(.get, url("http://a.example/service/late"))) }
    #expect(try await session.data(for: post("renewed")).1.status == .created)
    let later = Task { try await session.data(for: HTTPRequest(.get, url("http://a.example/service/late"))) }
    for _ in 0..<100 { await Task.yield() }
    gate.open()
    _ = try await (late.value, later.value)

    #expect(try await session.data(for: post("again")).1.history.isEmpty)
  }

  @Test func anOrdinary403IsAnAnswer() async throws {
    let server = TokenServer { request in request.method == .post ? .status(.forbidden) : nil }
    let (_, response) = try await session(server).data(for: post())
    #expect(response.status == .forbidden)
    #expect(response.history.isEmpty)
  }

  @Test func anotherStatusAndAnotherFieldMayRefuse() async throws {
    let count = Mutex(0)
    let server = TokenServer { request in
      guard request.method == .post else { return .text("").with("X-Guard", "t") }
      let number = count.withLock { count in
        count += 1
        return count
      }
      return number == 1 ? .status(400).with("X-Guard", "Required") : .text(request.fields["X-Guard"] ?? "")
    }
    var options = CSRFOptions()
    options.field = "X-Guard"
    options.refusals = [400]
    let (data, _) = try await session(server, CSRFInterceptor(root: Self.root, options: options)).data(for: post())
    #expect(data == Data("t".utf8))
  }

  @Test func aTokenOfTheCallersOwnIsLeftAlone() async throws {
    let server = TokenServer()
    var request = post()
    request.fields["x-csrf-token"] = "mine"
    let (_, response) = try await session(server).data(for: request)
    #expect(response.status == .forbidden)
    #expect(server.fetches.isEmpty)
  }

  @Test(arguments: [405, 501, 404, 200, 500])
  func getIsAskedWhereHeadBringsNone(status: Int) async throws {
    let server = TokenServer { $0.method == .head ? .status(HTTPStatus(status)) : nil }
    #expect(try await session(server).data(for: post()).1.status == .created)
    #expect(server.fetches == ["HEAD /service/", "GET /service/"])
  }

  @Test func theOtherFormOfThePathIsAskedToo() async throws {
    let server = TokenServer { request in
      request.method != .post && request.url.absoluteString.hasSuffix("/") ? .status(.notFound) : nil
    }
    #expect(try await session(server).data(for: post()).1.status == .created)
    #expect(server.fetches.count == 3)
  }

  @Test func anErrorMayCarryAToken() async throws {
    let server = TokenServer { request in
      guard request.method == .head else {
        return request.method == .post ? .text(request.fields["X-CSRF-Token"] ?? "") : nil
      }
      return .status(.internalServerError).with("X-CSRF-Token", "from an error")
    }
    let (data, _) = try await session(server).data(for: post())
    #expect(data == Data("fromanerror".utf8))
  }

  @Test func aServiceWithoutTokensIsAskedOnce() async throws {
    let server = TokenServer { _ in .text("open") }
    let session = session(server)
    for _ in 0..<3 { #expect(try await session.data(for: post()).1.status == .ok) }
    #expect(server.fetches.count == 4)
    // a request that could not be sent twice is not sent on a guess
    let chunks = AsyncStream<Data> { $0.finish() }
    _ = try await session.data(for: HTTPRequest(.post, Self.root, body: .singleUse(chunks)))
    #expect(server.fetches.count == 8)
  }

  @Test func aServiceThatBeginsToRequireTokensGetsOne() async throws {
    let isOpen = Mutex(true)
    let server = TokenServer { _ in isOpen.withLock { $0 } ? .text("open") : nil }
    let session = session(server)
    _ = try await session.data(for: post())
    isOpen.withLock { $0 = false }
    #expect(try await session.data(for: post()).1.status == .created)
  }

  @Test(arguments: [401, 200])
  func aFetchWithoutLogonIsNotRemembered(status: Int) async throws {
    let isLoggedOn = Mutex(false)
    let server = TokenServer { request in
      if isLoggedOn.withLock({ $0 }) { return nil }
      return request.method == .post ? .status(.unauthorized) : .text("<html>", status: HTTPStatus(status))
    }
    let session = session(server)
    #expect(try await session.data(for: post()).1.status == .unauthorized)
    isLoggedOn.withLock { $0 = true }

    let (_, response) = try await session.data(for: post())

    #expect(response.status == .created)
    #expect(response.history.isEmpty)
  }

  @Test func aFetchThatFailsLetsTheRequestGoOut() async throws {
    let server = TokenServer { request in
      guard request.method == .post else { throw HTTPError(.connectionLost, "gone") }
      return .text("written anyway")
    }
    let (data, _) = try await session(server).data(for: post())
    #expect(data == Data("written anyway".utf8))
    #expect(log.lines.contains("note: the CSRF token could not be fetched: gone"))
  }

  @Test func aCancelledRequestDoesNotTakeTheFetchWithIt() async throws {
    let gate = Gate()
    let server = TokenServer { request in
      if request.method == .head { try await gate.wait() }
      return nil
    }
    let session = session(server)
    let first = Task { try await session.data(for: post("first")) }
    while server.fetches.isEmpty { await Task.yield() }
    let second = Task { try await session.data(for: post("second")).1.status }

    first.cancel()
    let error = await #expect(throws: HTTPError.self) { try await first.value }
    gate.open()

    #expect(error?.isCancelled == true)
    #expect(try await second.value == .created)
    #expect(server.fetches.count == 1)
    #expect(server.accepted == ["second"])
  }

  /// Takes its time to look, so that a look is nearly always under way.
  private final class BusyStore: CSRFTokenStore {
    private let tokens = Mutex<[URL: String]>([:])

    func token(for url: URL) async throws -> String? {
      let token = tokens.withLock { $0[url] }
      for _ in 0..<20 { await Task.yield() }
      return token
    }

    func setToken(_ token: String?, for url: URL) async throws { tokens.withLock { $0[url] = token } }
  }

  @Test func whatWasRefusedIsNotSentAgain() async throws {
    let refused = Mutex<[UInt64: String]>([:])
    let repetitions = Mutex(0)
    let server = TokenServer()
    var options = CSRFOptions()
    options.store = BusyStore()
    var configuration = SessionConfiguration()
    configuration.interceptors = [CSRFInterceptor(root: Self.root, options: options), OneCookie()]
    let session = HTTPSession(
      transport: MockTransport { request in
        let response = try await server.respond(to: request)
        for _ in 0..<Int.random(in: 0...40) { await Task.yield() }
        guard request.method == .post, response.status == .forbidden else { return response }
        let token = request.fields["X-CSRF-Token"] ?? "-"
        let before = refused.withLock { $0.updateValue(token, forKey: request.exchange.id) }
        if before == token { repetitions.withLock { $0 += 1 } }
        return response
      }, configuration: configuration)

    await withTaskGroup(of: Void.self) { group in
      for task in 0..<30 {
        group.addTask {
          for number in 0..<200 {
            if number % 4 == 0 { server.forgetSessions() }
            _ = try? await session.data(for: post("\(task)/\(number)"))
          }
        }
      }
    }
    #expect(server.refusals > 0)
    #expect(repetitions.withLock { $0 } == 0)
  }
}
