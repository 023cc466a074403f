import Foundation
import MartletEngine
@_spi(Toolkit) import MartletSemantics
import MartletTesting
import SAPFoundation
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Observers that send requests with the session that they observe, during its calls to them. Before the session
/// recognized such requests, the wait took at least as long as the limit for a response.
@Suite("No task waits for itself: observers", .timeLimit(.minutes(5)))
struct CircularObserverTests {
  /// The place where an observer sends its request, once.
  enum Place: String, CaseIterable, Sendable { case response, data, caching, redirect }

  /// The way in which it gets there.
  enum Way: String, CaseIterable, Sendable { case inCallback, inNextCallback, withContext, withTask }

  private final class Asking: SAPURLSessionObserving {
    let place: Place
    let way: Way
    let url: URL
    private let asked = Shared(false)

    init(_ place: Place, _ way: Way, at url: URL) {
      (self.place, self.way, self.url) = (place, way, url)
    }

    /// Gets the URL, and then answers.
    private func ask(
      _ place: Place, _ session: SAPURLSession, _ task: SAPURLSessionTask, _ answer: @escaping @Sendable () -> Void
    ) {
      guard place == self.place, !asked.value else { return answer() }
      asked.change { $0 = true }
      let get: @Sendable (URL, @escaping @Sendable () -> Void) -> Void = { url, done in
        session.dataTask(with: url) { _, _, _ in done() }.resume()
      }
      let (url, context) = (url, SAPURLSession.CallContext.current)
      switch way {
      case .inCallback: get(url, answer)
      case .inNextCallback: get(url.appending(path: "first")) { get(url, answer) }
      case .withContext: DispatchQueue.global().async { context.perform { get(url, answer) } }
      case .withTask: DispatchQueue.global().async { task.callContext.perform { get(url, answer) } }
      }
    }

    func sapURLSession(
      _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (SAPURLSession.ResponseDisposition) -> Void
    ) {
      let response = Kept(response)
      ask(.response, session, task) { completionHandler(.allow(response.value)) }
    }

    func sapURLSession(
      _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive data: Data,
      completionHandler: @escaping @Sendable (SAPURLSession.DataDisposition) -> Void
    ) { ask(.data, session, task) { completionHandler(.allow(data)) } }

    func sapURLSession(
      _ session: SAPURLSession, dataTask task: SAPURLSessionTask, willCacheResponse proposedResponse: CachedURLResponse,
      completionHandler: @escaping @Sendable (SAPURLSession.CacheResponseDisposition) -> Void
    ) {
      let response = Kept(proposedResponse)
      ask(.caching, session, task) { completionHandler(.allow(response.value)) }
    }

    func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest,
      completionHandler: @escaping @Sendable (SAPURLSession.HTTPRedirectDisposition) -> Void
    ) { ask(.redirect, session, task) { completionHandler(.allow(request)) } }
  }

  /// SAFETY: Foundation's responses do not change.
  private final class Kept<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
  }

  @Test(arguments: Place.allCases, Way.allCases)
  func anObserverAsksForTheURLOfItsTask(_ place: Place, _ way: Way) async throws {
    let (requests, isAskedAgain) = (Shared(0), Gate())
    let server = try LoopbackServer { request in
      guard request.path == "/a" else { return .text("b").with("Cache-Control", "max-age=60") }
      if place == .redirect { return .redirect(to: "/b").with("Cache-Control", "max-age=60") }
      requests.change { $0 += 1 }
      if requests.value == 2 { isAskedAgain.open() }
      let text = Reply.text("ab").with("Cache-Control", "max-age=60")
      // the observer has a part of the body, which is not stored before the rest has arrived
      return place == .data ? text.chunked(size: 1).stalled(after: 1, until: isAskedAgain) : text
    }
    let url = server.url("/a")
    let session = SAPURLSession.observed(by: Asking(place, way, at: url))

    #expect(await session.get(url).text == (place == .redirect ? "b" : "ab"))
    // A response is stored after its body has been delivered, if that takes long.
    if place != .redirect { try await until { requests.value == 2 } }
  }

  @Test func aCallbackStartsTaskAfterTaskAndAnswersThen() async throws {
    let server = try LoopbackServer { request in .text(request.path + (request.fields["X-Token"] ?? "")) }
    let probe = ObserverProbe { probe in
      probe.onSend = { _, request in .allow(request) }
    }
    let session = SAPURLSession.observed(by: Fetching(at: server.url("/token")), probe)

    #expect(await session.get(server.url("/a")).text == "/a/token/token")
  }

  /// Fetches two tokens one after another before a request is sent.
  private final class Fetching: SAPURLSessionObserving {
    let token: URL
    init(at url: URL) { token = url }

    func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
      completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
    ) {
      guard request.url != token else { return completionHandler(.allow(request)) }
      let token = token
      session.dataTask(with: token) { first, _, _ in
        session.dataTask(with: token) { second, _, _ in
          var request = request
          request.setValue(
            String(decoding: (first ?? Data()) + (second ?? Data()), as: UTF8.self), forHTTPHeaderField: "X-Token")
          completionHandler(.allow(request))
        }.resume()
      }.resume()
    }
  }
}

/// Authenticators that use the session for which they get tokens, like client code.
@Suite("No task waits for itself: authenticators", .timeLimit(.minutes(5)))
struct CircularAuthenticatorTests {
  /// The way in which an authenticator gets to its request.
  enum Way: String, CaseIterable, Sendable {
    case inCall, inNextCallback, withContext, asTokenRequest, asQuery, asMetadata
  }

  private final class Authenticator: OAuth2Authentication, Sendable {
    typealias Handler = @Sendable (OAuth2Token?, (any Error)?) -> Void
    let work: @Sendable (SAPURLSession, @escaping Handler) -> Void
    let session = Shared<SAPURLSession?>(nil)

    init(_ work: @escaping @Sendable (SAPURLSession, @escaping Handler) -> Void) { self.work = work }

    func authenticate(completionHandler: @escaping Handler) {
      guard let session = session.value else { return completionHandler(nil, nil) }
      work(session, completionHandler)
    }

    func refresh(token: OAuth2Token, completionHandler: @escaping Handler) {
      authenticate(completionHandler: completionHandler)
    }

    func cancelAuthentication() {}
  }

  private static func login(
    _ request: URLRequest, in session: SAPURLSession, _ done: @escaping Authenticator.Handler
  ) {
    session.dataTask(with: request) { data, response, error in
      guard let data, (response as? HTTPURLResponse)?.statusCode == 200 else { return done(nil, error) }
      done(OAuth2Token(accessToken: String(decoding: data, as: UTF8.self), tokenType: "Bearer"), nil)
    }.resume()
  }

  private func server() throws -> LoopbackServer {
    try LoopbackServer { request in
      guard request.path != "/data" else {
        return request.fields[.authorization] == "Bearer t" ? .text("in") : .status(.unauthorized)
      }
      return request.fields.contains(.authorization) ? .status(.badRequest) : .text("t")
    }
  }

  private func session(_ server: LoopbackServer, _ authenticator: Authenticator) -> SAPURLSession {
    let session = SAPURLSession.observed(by: OAuth2Observer(authenticator: authenticator, backend: server.url))
    authenticator.session.change { $0 = session }
    return session
  }

  @Test(arguments: Way.allCases)
  func anAuthenticatorUsesTheSameSession(_ way: Way) async throws {
    let server = try server()
    let plain = URLRequest(url: server.url("/login"))
    let authenticator = Authenticator { session, done in
      let context = SAPURLSession.CallContext.current
      switch way {
      case .inCall: Self.login(plain, in: session, done)
      case .inNextCallback:
        session.dataTask(with: server.url("/metadata")) { _, _, _ in Self.login(plain, in: session, done) }.resume()
      case .withContext:
        DispatchQueue.global().async { context.perform { Self.login(plain, in: session, done) } }
      case .asTokenRequest:
        var request = URLRequest("POST", server.url("/login"), body: "client_id=c&grant_type=client_credentials")
        request.setValue("application/x-www-form-urlencoded; charset=utf-8", forHTTPHeaderField: "Content-Type")
        DispatchQueue.global().async { [request] in Self.login(request, in: session, done) }
      case .asQuery:
        DispatchQueue.global().async {
          Self.login(URLRequest(url: server.url("/login?response_type=code&client_id=c")), in: session, done)
        }
      case .asMetadata:
        DispatchQueue.global().async {
          Self.login(URLRequest(url: server.url("/.well-known/openid-configuration")), in: session, done)
        }
      }
    }
    let session = session(server, authenticator)
    defer { authenticator.session.change { $0 = nil } }

    #expect(await session.get(server.url("/data")).text == "in")
  }

  @Test func aRequestWithoutContextIsSentWithoutATokenAfterItsTimeout() async throws {
    let server = try server()
    var request = URLRequest(url: server.url("/login"))
    request.timeoutInterval = 1
    let authenticator = Authenticator { [request] session, done in
      DispatchQueue.global().async { Self.login(request, in: session, done) }
    }
    let session = session(server, authenticator)
    defer { authenticator.session.change { $0 = nil } }

    #expect(await session.get(server.url("/data")).text == "in")
    #expect(server.requests.map(\.path) == ["/login", "/data"])
  }

  @Test func theCallerThatBeganBeforeWaitsLongerThanItsTimeout() async throws {
    let server = try server()
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let authenticator = Authenticator { _, done in
      Task {
        isAsked.open()
        try await mayAnswer.wait()
        done(OAuth2Token(accessToken: "t", tokenType: "Bearer"), nil)
      }
    }
    let session = session(server, authenticator)
    defer { authenticator.session.change { $0 = nil } }
    var first = URLRequest(url: server.url("/data"))
    first.timeoutInterval = 1
    var second = URLRequest(url: server.url("/login"))
    second.timeoutInterval = 1.5

    async let early = session.outcome(of: first)
    try await isAsked.wait()
    _ = await session.outcome(of: second)
    mayAnswer.open()

    #expect(await early.text == "in")
  }

  @Test(arguments: [Way.inCall, .inNextCallback, .withContext])
  func aLoginScreenUsesTheSameSession(_ way: Way) async throws {
    let server = try LoopbackServer { request in
      request.path == "/hint" || request.fields.contains(.authorization)
        ? .text("in") : .status(.unauthorized, fields: [.wwwAuthenticate: "Basic realm=r"])
    }
    let screen = LoginScreen(way, server.url("/users"), server.url("/hint"))
    let session = SAPURLSession.observed(by: BasicAuthenticationObserver(credentialDiscovery: screen))
    screen.session.change { $0 = session }
    defer { screen.session.change { $0 = nil } }

    #expect(await session.get(server.url("/data")).text == "in")
    #expect(screen.statuses.value == [401])
  }

  /// Sends the server a request that needs a credential before it provides one.
  private final class LoginScreen: BasicCredentialDiscovery, Sendable {
    let (way, users, hint): (Way, URL, URL)
    let session = Shared<SAPURLSession?>(nil)
    let statuses = Shared<[Int]>([])

    init(_ way: Way, _ users: URL, _ hint: URL) { (self.way, self.users, self.hint) = (way, users, hint) }

    func provideBasicCredential(
      for url: URL, challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (BasicCredential?, (any Error)?) -> Void
    ) {
      guard let session = session.value else { return completionHandler(nil, nil) }
      let context = SAPURLSession.CallContext.current
      let ask: @Sendable () -> Void = { [self] in
        session.dataTask(with: users) { _, response, _ in
          self.statuses.change { $0.append((response as? HTTPURLResponse)?.statusCode ?? 0) }
          completionHandler(BasicCredential(username: "a", password: "b"), nil)
        }.resume()
      }
      switch way {
      case .inNextCallback: session.dataTask(with: hint) { _, _, _ in ask() }.resume()
      case .withContext: DispatchQueue.global().async { context.perform(ask) }
      default: ask()
      }
    }
  }
}
