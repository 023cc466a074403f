import CallDoubles
import MartletEngine
import MartletSemantics
@testable import MartletSignIn
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite("CSRF interceptor", .timeLimit(.minutes(5)))
struct CSRFInterceptorTests {
  @Test func aTokenIsFetchedOnceAndUsedForAllRequests() async throws {
    let server = CSRFServer()
    let session = server.session()
    for body in ["a", "b", "c"] {
      let (_, response) = try await session.data(for: CSRFServer.post(body))
      #expect(response.status == .created)
      #expect(response.history.isEmpty)
    }
    #expect(server.fetches == ["HEAD /service/"])
    #expect(server.refusals == 0)
  }

  @Test func theTokenAndTheSessionsCookiesStayTogether() async throws {
    let server = CSRFServer()
    var configuration = SessionConfiguration()
    configuration.interceptors = [CSRFInterceptor(root: CSRFServer.root)]
    let session = HTTPSession(
      transport: MockTransport { try await server.respond(to: $0) }, configuration: configuration)

    for round in 0..<3 {
      server.forgetSessions()
      let calls = (0..<10).map { number in
        Task { try await session.data(for: CSRFServer.post("\(round)/\(number)")).1.status }
      }
      for call in calls { #expect(try await call.value == .created) }
    }

    #expect(server.accepted.count == 30)
    #expect(server.fetches.count == 3)
  }

  @Test func eachPartitionHasTheTokenOfItsOwnCookies() async throws {
    let server = CSRFServer()
    var configuration = SessionConfiguration()
    configuration.interceptors = [CSRFInterceptor(root: CSRFServer.root)]
    let session = HTTPSession(
      transport: MockTransport { try await server.respond(to: $0) }, configuration: configuration)

    for user in ["anna", "", "ben", "anna", "ben", ""] {
      var request = CSRFServer.post(user)
      request.options.partition = user
      #expect(try await session.data(for: request).1.status == .created)
    }

    #expect(server.refusals == 0)
    #expect(server.fetches.count == 3)
  }

  @Test func aRunningWriteKeepsTheTokensOfItsPartition() async throws {
    let (isRunning, gate) = (Gate(), Gate())
    let server = CSRFServer { request in
      if request.method == .post, request.fields.contains("X-Held") {
        isRunning.open()
        try await gate.wait()
      }
      return nil
    }
    var configuration = SessionConfiguration()
    configuration.interceptors = [CSRFInterceptor(root: CSRFServer.root, partitionLimit: 3)]
    let session = HTTPSession(
      transport: MockTransport { try await server.respond(to: $0) }, configuration: configuration)
    @Sendable func write(in partition: String, _ fields: HTTPFields = [:]) async throws -> HTTPStatus {
      var request = CSRFServer.post()
      request.fields = fields
      request.options.partition = partition
      return try await session.data(for: request).1.status
    }
    let held = Task { try await write(in: "held", ["X-Held": "1"]) }
    try await isRunning.wait()
    for number in 0..<4 { #expect(try await write(in: "\(number)") == .created) }

    #expect(try await write(in: "held") == .created)

    #expect(server.fetches.count == 5)
    gate.open()
    #expect(try await held.value == .created)
  }

  @Test func aPartitionThatWasUsedLastKeepsItsTokens() async throws {
    let server = CSRFServer()
    var configuration = SessionConfiguration()
    configuration.interceptors = [CSRFInterceptor(root: CSRFServer.root, partitionLimit: 3)]
    let session = HTTPSession(
      transport: MockTransport { try await server.respond(to: $0) }, configuration: configuration)

    for partition in ["a", "b", "c", "a", "d", "a"] {
      var request = CSRFServer.post()
      request.options.partition = partition
      #expect(try await session.data(for: request).1.status == .created)
    }

    #expect(server.fetches.count == 4)
  }

  @Test(arguments: ["GET", "HEAD", "OPTIONS", "TRACE", "QUERY"])
  func safeMethodsNeedNoToken(method: String) async throws {
    let server = CSRFServer { _ in .text("ok") }
    let request = HTTPRequest(try #require(HTTPMethod(rawValue: method)), CSRFServer.root)
    _ = try await server.session().data(for: request)
    #expect(server.fetches.isEmpty)
  }

  @Test(arguments: ["POST", "PUT", "PATCH", "DELETE", "MERGE"])
  func unsafeMethodsNeedAToken(method: String) async throws {
    let server = CSRFServer()
    let request = HTTPRequest(try #require(HTTPMethod(rawValue: method)), CSRFServer.root)
    #expect(try await server.session().data(for: request).1.status == .created)
    #expect(server.fetches.count == 1)
  }

  @Test func aTokenOfTheCallerIsNotReplaced() async throws {
    let server = CSRFServer()
    var request = CSRFServer.post()
    request.fields["x-csrf-token"] = "mine"
    let (_, response) = try await server.session().data(for: request)
    #expect(response.status == .forbidden)
    #expect(server.fetches.isEmpty)
  }

  @Test(arguments: [
    ("http://a.example/service", true), ("http://a.example/service/", true), ("http://a.example/service/x?q", true),
    ("http://a.example/services", false), ("http://a.example/", false), ("http://a.example/service/../x", false),
    ("http://b.example/service/", false), ("https://a.example/service/", false),
    ("http://a.example:81/service/", false), ("http://A.EXAMPLE:80/service/x", true),
  ])
  func aRootCoversRequestsAtAndBelowIt(target: String, isProtected: Bool) async throws {
    for root in ["http://a.example/service", "http://a.example/service/"] {
      let server = CSRFServer { request in
        request.method == .post ? CSRFServer.echo(request) : .text("").with("X-CSRF-Token", "t")
      }
      let (data, _) = try await server.session(CSRFInterceptor(root: url(root)))
        .data(for: HTTPRequest(.post, url(target)))
      #expect(String(decoding: data, as: UTF8.self) == (isProtected ? "t" : "none"), "\(root) \(target)")
    }
  }

  @Test func aRequestOutsideTheRootGetsATokenWhenTheServerRequiresIt() async throws {
    let server = CSRFServer()
    let request = HTTPRequest(.post, url("http://a.example/elsewhere"), body: .data(Data("a".utf8)))
    let (_, response) = try await server.session().data(for: request)
    #expect(response.status == .created)
    #expect(response.history.count == 1)
    #expect(server.fetches == ["HEAD /service/"])
  }

  @Test func aPathForWhichThereIsNoTokenIsNotRemembered() async throws {
    let server = CSRFServer { request in
      request.method == .post ? .text("", status: .forbidden).with("X-CSRF-Token", "Required") : .status(.notFound)
    }
    let clock = ManualClock()
    let session = server.session(clock: clock)
    let request = HTTPRequest(.post, url("http://a.example/elsewhere"))
    _ = try await session.data(for: request)
    #expect(server.fetches == ["HEAD /service/", "GET /service/", "HEAD /service"])
    clock.advance(by: .seconds(31))
    #expect(try await session.data(for: request).1.status == .forbidden)
    #expect(server.fetches.count == 6)
    #expect(server.log.lines.filter { $0.hasPrefix("sending POST") }.count == 2)
  }

  @Test(arguments: [false, true])
  func anotherServicesPathKeepsItsOwnTokenAfterAFailedFetch(isFirst: Bool) async throws {
    let givesNone = Mutex(true)
    let server = CSRFServer { request in
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

  @Test func aTokenURLOfAnotherOriginIsIgnored() async throws {
    let server = CSRFServer { CSRFServer.echo($0) }
    let interceptor = CSRFInterceptor { _ in url("http://b.example/token") }
    _ = try await server.session(interceptor).data(for: HTTPRequest(.post, CSRFServer.root))
    #expect(server.fetches.isEmpty)
  }

  @Test func aClosureDecidesFromWhichURLTokensAreFetched() async throws {
    let server = CSRFServer { request in
      guard request.method != .post else { return CSRFServer.echo(request) }
      return .text("").with("X-CSRF-Token", "of" + request.url.path(percentEncoded: true).replacing("/", with: "-"))
    }
    let interceptor = CSRFInterceptor { request in
      request.url.path == "/free" ? nil : request.url.appending(path: "token")
    }
    let session = server.session(interceptor)
    for (path, token) in [("/one", "of-one-token"), ("/two", "of-two-token"), ("/free", "none")] {
      let (data, _) = try await session.data(for: HTTPRequest(.post, url("http://a.example\(path)")))
      #expect(String(decoding: data, as: UTF8.self) == token, "\(path)")
    }
  }

  @Test func aTokenIsNotSentToAnotherOriginAfterARedirect() async throws {
    let server = CSRFServer { request in
      switch (request.url.host(), request.method) {
      case ("b.example", _): CSRFServer.echo(request)
      case (_, .post): .redirect(to: "http://b.example/service/", status: 307)
      default: .text("").with("X-CSRF-Token", "t")
      }
    }
    let (data, _) = try await server.session().data(for: HTTPRequest(.post, CSRFServer.root))
    #expect(String(decoding: data, as: UTF8.self) == "none")
  }

  @Test func anExpiredTokenIsRenewedAndTheRequestSentAgainOnce() async throws {
    let server = CSRFServer()
    let session = server.session()
    _ = try await session.data(for: CSRFServer.post())
    server.forgetSessions()

    let (_, response) = try await session.data(for: CSRFServer.post("again"))

    #expect(response.status == .created)
    #expect(response.history.map(\.reason) == ["the server required a CSRF token"])
    #expect(server.fetches.count == 2)
    #expect(server.accepted == ["a", "again"])
  }

  @Test func manyRequestsWithAnExpiredTokenAreAllAccepted() async throws {
    let server = CSRFServer()
    let session = server.session()
    _ = try await session.data(for: CSRFServer.post())
    for round in 0..<20 {
      server.forgetSessions()
      let calls = (0..<20).map { number in
        Task { try await session.data(for: CSRFServer.post("\(round)/\(number)")).1.status }
      }
      for call in calls { #expect(try await call.value == .created) }
    }
    #expect(server.accepted.count == 401)
    #expect(Set(server.accepted).count == 401)
    #expect(server.fetches.count == 21)
  }

  @Test func aSecondRefusalIsTheCallersResponse() async throws {
    let server = CSRFServer { request in
      request.method == .post ? .text("no", status: .forbidden).with("X-CSRF-Token", "REQUIRED") : nil
    }
    let (data, response) = try await server.session().data(for: CSRFServer.post())
    #expect(response.status == .forbidden)
    #expect(data == Data("no".utf8))
    #expect(response.history.count == 1)
    #expect(server.log.lines.contains { $0.hasPrefix("note: not sent again: the server refused the renewed") })
  }

  @Test func aResponse403WithoutTheFieldIsNotARefusal() async throws {
    let server = CSRFServer { request in request.method == .post ? .status(.forbidden) : nil }
    let (_, response) = try await server.session().data(for: CSRFServer.post())
    #expect(response.status == .forbidden)
    #expect(response.history.isEmpty)
  }

  @Test func statusAndFieldOfRefusalsCanBeConfigured() async throws {
    let count = Mutex(0)
    let server = CSRFServer { request in
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
    let (data, _) = try await server.session(CSRFInterceptor(root: CSRFServer.root, options: options))
      .data(for: CSRFServer.post())
    #expect(data == Data("t".utf8))
  }

  @Test func aStreamedBodyIsSentAgainFromANewStream() async throws {
    let server = CSRFServer()
    let session = server.session()
    _ = try await session.data(for: HTTPRequest(.post, CSRFServer.root))
    server.forgetSessions()
    let body = RequestBody.stream {
      AsyncStream { continuation in
        for text in ["one ", "two"] { continuation.yield(Data(text.utf8)) }
        continuation.finish()
      }
    }
    let (_, response) = try await session.data(for: HTTPRequest(.post, CSRFServer.root, body: body))
    #expect(response.status == .created)
    #expect(server.accepted.last == "one two")
  }

  @Test func aSingleUseBodyIsNotSentAgainButTheNextRequestHasANewToken() async throws {
    let server = CSRFServer()
    let session = server.session()
    _ = try await session.data(for: HTTPRequest(.post, CSRFServer.root))
    server.forgetSessions()
    let chunks = AsyncStream<Data> { $0.finish() }
    let (_, refused) = try await session.data(for: HTTPRequest(.post, CSRFServer.root, body: .singleUse(chunks)))
    let (_, accepted) = try await session.data(for: HTTPRequest(.post, CSRFServer.root))
    #expect(refused.status == .forbidden)
    #expect(accepted.status == .created)
    #expect(accepted.history.isEmpty)
  }
}
