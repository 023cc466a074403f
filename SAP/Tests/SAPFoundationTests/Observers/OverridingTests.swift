import Foundation
import Martlet
import MartletEngine
import MartletSemantics
import MartletTesting
import SAPFoundationTesting
import TestSupport
import Testing

@testable import SAPFoundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Observers that are subclassed", .timeLimit(.minutes(5)))
struct OverridingTests {
  private final class GermanShop: LanguageObserver {
    override func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
      completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
    ) {
      guard request.url?.path() != "/plain" else { return completionHandler(.allow(request)) }
      var marked = request
      marked.setValue("shop", forHTTPHeaderField: "X-App")
      super.sapURLSession(session, task: task, willSend: marked, completionHandler: completionHandler)
    }
  }

  @Test func aLanguageObserversWillSendIsCalled() async throws {
    let server = try LoopbackServer { _ in .text("in") }
    let session = SAPURLSession.observed(by: GermanShop(language: "de"))

    await session.get(server.url("/a"))
    await session.get(server.url("/plain"))

    #expect(server.requests.map { $0.fields["X-App"] } == ["shop", nil])
    #expect(server.requests.first?.fields[.acceptLanguage] == "de")
    #expect(server.requests.last?.fields[.acceptLanguage] != "de")
  }

  private final class Indicator: NetworkActivityIndicatorObserver {
    let calls = Shared<[String]>([])

    override func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
      completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
    ) {
      calls.change { $0.append("willSend") }
      super.sapURLSession(session, task: task, willSend: request, completionHandler: completionHandler)
    }

    override func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask, didCreate sessionTask: URLSessionTask
    ) { calls.change { $0.append("didCreate") } }
  }

  @Test func anActivityObserversMethodsAreCalled() async throws {
    let server = try LoopbackServer { _ in .text("in") }
    let indicator = Indicator(controller: NetworkActivityIndicatorController())

    await SAPURLSession.observed(by: indicator).get(server.url("/"))

    #expect(indicator.calls.value == ["willSend", "didCreate"])
  }

  /// Overrides everything that a subclass of any observer may override.
  private final class Listener: CorrelationObserver {
    let calls = Shared<Set<String>>([])

    private func note(_ call: String) { calls.change { _ = $0.insert(call) } }

    override func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask,
      needNewBodyStream completionHandler: @escaping @Sendable (SAPURLSession.InputStreamDisposition) -> Void
    ) {
      note("stream")
      completionHandler(.allow(nil))
    }

    override func sapURLSession(
      _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive data: Data,
      completionHandler: @escaping @Sendable (SAPURLSession.DataDisposition) -> Void
    ) {
      note("data")
      completionHandler(.allow(data))
    }

    override func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
      totalBytesExpectedToSend: Int64
    ) { note("sent") }

    override func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask, didFinishCollecting metrics: TransferMetrics
    ) { note("metrics") }

    override func sapURLSession(
      _ session: SAPURLSession, didBecomeInvalidWithError error: (any Error)?,
      completionHandler: @escaping @Sendable () -> Void
    ) {
      note("invalid")
      completionHandler()
    }
  }

  @Test func everyCallbackOfABuiltInObserverIsCalledWhereItIsOverridden() async throws {
    let server = try LoopbackServer { _ in .text("in") }
    let listener = Listener()
    let session = SAPURLSession.observed(by: listener)
    let ended = Gate()

    session.uploadTask(
      withStreamedRequest: URLRequest("POST", server.url("/")),
      needNewBodyStream: { InputStream(data: Data("body".utf8)) }
    ) { _, _, _ in ended.open() }.resume()
    try await ended.wait()
    session.finishTasksAndInvalidate()
    await listener.calls.wait { $0.contains("invalid") }

    #expect(listener.calls.value == ["stream", "data", "sent", "metrics", "invalid"])
    #expect(server.requests.first?.fields.contains("X-CorrelationID") == true)
  }
}

@Suite("Callbacks that a subclass of a built-in observer overrides", .timeLimit(.minutes(5)))
struct OverridingBuiltInTests {
  private final class Marking: CorrelationObserver {
    let identifiers = Shared<[String?]>([])
    let statuses = Shared<[Int]>([])

    override func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
      completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
    ) {
      identifiers.change { $0.append(request.value(forHTTPHeaderField: "X-CorrelationID")) }
      var marked = request
      marked.setValue("shop", forHTTPHeaderField: "X-App")
      super.sapURLSession(session, task: task, willSend: marked, completionHandler: completionHandler)
    }

    override func sapURLSession(
      _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (SAPURLSession.ResponseDisposition) -> Void
    ) {
      let status = (response as? HTTPURLResponse)?.statusCode ?? 0
      statuses.change { $0.append(status) }
      completionHandler(status == 410 ? .cancel(TestFailure(name: "gone")) : .allow(response))
    }
  }

  @Test func theyAreCalledAfterTheObserversOwnWork() async throws {
    let server = try LoopbackServer { $0.path == "/gone" ? .status(.gone) : .text("in") }
    let marking = Marking()
    let session = SAPURLSession.observed(by: marking)

    #expect(await session.get(server.url("/a")).text == "in")
    #expect(await session.get(server.url("/gone")).error as? TestFailure == TestFailure(name: "gone"))

    #expect(server.requests.map { $0.fields["X-App"] } == ["shop", "shop"])
    #expect(server.requests.map { $0.fields["X-CorrelationID"] } == marking.identifiers.value)
    #expect(!marking.identifiers.value.contains(nil))
    #expect(marking.statuses.value == [200, 410])
  }

  private final class Login: SAMLObserver {
    let statuses = Shared<[String?]>([])

    override func sapURLSession(
      _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (SAPURLSession.ResponseDisposition) -> Void
    ) {
      let challenge = (response as? HTTPURLResponse)?.value(forHTTPHeaderField: SAMLChallengeHeaderName)
      if task.originalRequest?.url?.path() != "/login" { statuses.change { $0.append(challenge) } }
      completionHandler(.allow(response))
    }
  }

  private struct Page: SAMLAuthentication {
    let url: URL
    func authenticate(session: SAPURLSession, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
      session.dataTask(with: url) { _, _, error in completionHandler(error) }.resume()
    }
    func cancelAuthentication() {}
  }

  @Test func aResponseThatTheObserverAnswersIsNotShown() async throws {
    let server = try LoopbackLogins()
    let login = Login(authenticator: Page(url: server.url("/login")))
    #expect(await SAPURLSession.observed(by: login).get(server.url("/saml/a")).text == "/saml/a ")
    #expect(login.statuses.value == [nil])
  }
}

@Suite("The methods for a challenge", .timeLimit(.minutes(5)))
struct ChallengeNameTests {
  /// Admits anna, with the password "secret", by Basic.
  private let server: LoopbackServer

  init() throws {
    server = try LoopbackServer { request in
      request.fields[.authorization] == "Basic YW5uYTpzZWNyZXQ="
        ? .text("welcome") : .text("refused", status: .unauthorized).with(.wwwAuthenticate, #"Basic realm="office""#)
    }
  }

  private static var answer: SAPURLSession.AuthChallengeDisposition {
    .use(URLCredential(user: "anna", password: "secret", persistence: .none))
  }

  /// In the guide's form.
  private final class Guide: SAPURLSessionObserving {
    func sapURLSession(
      session: SAPURLSession, dataTask: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping (SAPURLSession.AuthChallengeDisposition) -> Void
    ) { completionHandler(ChallengeNameTests.answer) }
  }

  private final class Unlabelled: SAPURLSessionDelegate {
    func sapURLSession(
      _ session: SAPURLSession, dataTask: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping (SAPURLSession.AuthChallengeDisposition) -> Void
    ) { completionHandler(ChallengeNameTests.answer) }
  }

  @Test func theGuidesSpellingIsCalled() async throws {
    #expect(await SAPURLSession.uncached(Guide()).outcome(of: server.url("/")).text == "welcome")
  }

  @Test func theGuidesNameWithAnUnlabelledSessionIsCalled() async throws {
    let session = SAPURLSession(configuration: SAPURLSession.plain, delegate: Unlabelled())
    #expect(await session.outcome(of: server.url("/")).text == "welcome")
  }

  private final class ByConnection: SAPURLSessionDelegate {
    let calls = Shared<[String]>([])

    func sapURLSession(
      _ session: SAPURLSession, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping (SAPURLSession.AuthChallengeDisposition) -> Void
    ) {
      calls.change { $0.append("session") }
      completionHandler(.performDefaultHandling)
    }

    func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping (SAPURLSession.AuthChallengeDisposition) -> Void
    ) {
      calls.change { $0.append("task") }
      completionHandler(.performDefaultHandling)
    }
  }

  @Test func aPasswordIsTheTasksAffair() async throws {
    let delegate = ByConnection()
    let session = SAPURLSession(configuration: SAPURLSession.plain, delegate: delegate)
    #expect(await session.outcome(of: server.url("/")).status == 401)
    #expect(delegate.calls.value == ["task"])
  }

  #if os(Linux)
  @Test func theSessionIsAskedFirstAboutAConnection() async throws {
    let delegate = ByConnection()
    let session = SAPURLSession(configuration: SAPURLSession.plain, delegate: delegate)
    let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))  // asked before the connection is made
    _ = await session.outcome(of: url)
    #expect(delegate.calls.value.prefix(2) == ["session", "task"])
  }
  #endif
}

@Suite("Waiting for a connection", .timeLimit(.minutes(5)))
struct ConnectivityTests {
  private final class Waiting: SAPURLSessionDelegate {
    let told = Shared(0)
    func sapURLSession(_ session: SAPURLSession, taskIsWaitingForConnectivity task: SAPURLSessionTask) {
      told.change { $0 += 1 }
    }
  }

  private var patient: URLSessionConfiguration {
    let configuration = SAPURLSession.plain
    configuration.waitsForConnectivity = true
    return configuration
  }

  @Test(arguments: [HTTPError.Kind.cannotResolveHost, .cannotConnect, .connectTimeout])
  func theTaskWaitsTheHandlersAreToldOnceAndTheTaskContinues(_ kind: HTTPError.Kind) async throws {
    let clock = ManualClock()
    let failures = Shared(2)
    let wire = MockTransport { _ in
      failures.change { $0 -= 1 }
      if failures.value >= 0 { throw HTTPError(kind, "nobody is there", phase: .preparing) }
      return MockResponse(content: Data("in".utf8))
    }
    let delegate = Waiting()
    let session = SAPURLSession(configuration: patient, delegate: delegate, in: .init(transport: wire, clock: clock))
    let url = try #require(URL(string: "https://mobile.example.com/"))

    async let outcome = session.outcome(of: url)
    for seconds in [1, 2] {
      try await clock.sleepers(2)  // the task, and the watch for observers that do not answer
      clock.advance(by: .seconds(seconds))
    }

    #expect(await outcome.text == "in")
    #expect(delegate.told.value == 1)
  }

  @Test(arguments: [(HTTPError.Kind.responseTimeout, HTTPError.Phase.connecting), (.cannotConnect, .sending)])
  func aTaskDoesNotWaitAfterAnotherFailure(_ kind: HTTPError.Kind, _ phase: HTTPError.Phase) async throws {
    let wire = MockTransport { _ in throw HTTPError(kind, "nobody is there", phase: phase) }
    let delegate = Waiting()
    let session = SAPURLSession(
      configuration: patient, delegate: delegate, in: .init(transport: wire, clock: ManualClock()))
    let url = try #require(URL(string: "https://mobile.example.com/"))

    #expect(await session.outcome(of: url).code != nil)
    #expect(delegate.told.value == 0)
  }

  /// A request with a stream, and the stream.
  private func streamed() throws -> (URLRequest, InputStream) {
    let stream = InputStream(data: Data("body".utf8))
    var request = URLRequest("PUT", try #require(URL(string: "https://mobile.example.com/")))
    request.httpBodyStream = stream
    return (request, stream)
  }

  /// Opens the body before it connects, like the transport over sockets.
  @Test func aStreamThatWasOnlyOpenedIsSentWhenThereIsAConnection() async throws {
    let clock = ManualClock()
    let failures = Shared(2)
    let wire = MockTransport { request in
      failures.change { $0 -= 1 }
      guard failures.value >= 0 else { return MockResponse(content: try await request.readBody()) }
      _ = try await request.body.open()
      throw HTTPError(.cannotConnect, "nobody is there", phase: .preparing)
    }
    let session = SAPURLSession(configuration: patient, in: .init(transport: wire, clock: clock))
    let request = try streamed().0

    async let outcome = session.outcome(of: request)
    for seconds in [1, 2] {
      try await clock.sleepers(1)
      clock.advance(by: .seconds(seconds))
    }

    #expect(await outcome.text == "body")
  }

  @Test func aStreamThatWasOnlyOpenedIsClosedWhenItsTaskHasFailed() async throws {
    let wire = MockTransport { request in
      _ = try await request.body.open()
      throw HTTPError(.cannotConnect, "nobody is there", phase: .preparing)
    }
    let session = SAPURLSession(configuration: SAPURLSession.plain, in: .init(transport: wire))
    let (request, stream) = try streamed()

    #expect(await session.outcome(of: request).code == .cannotConnectToHost)

    await session.callbacksHaveReturned()
    try await until { stream.streamStatus == .closed }
  }

  #if os(Linux)
  @Test(arguments: [true, false]) func aTaskWaitsForAServerThatRefusesConnectionsOnlyIfConfigured(_ waits: Bool)
    async throws
  {
    let stopped = try LoopbackServer { _ in .text("hello") }
    stopped.stop()
    defer { withExtendedLifetime(stopped) {} }  // its port stays its own
    let configuration = patient
    configuration.waitsForConnectivity = waits
    let (clock, delegate, ended) = (ManualClock(), Waiting(), Shared<Outcome?>(nil))
    let session = SAPURLSession(
      configuration: configuration, delegate: delegate,
      in: .init(transport: IdentifiedTransport(ConnectionConfiguration()), clock: clock))
    let task = session.dataTask(with: stopped.url("/")) { data, response, error in
      ended.change { $0 = Outcome(data: data, response: response, error: error) }
    }

    task.resume()
    if waits {
      for count in [2, 1, 1] {
        try await clock.sleepers(count)  // at first with the watch for observers that do not answer
        clock.advance(by: .seconds(30))
      }
      task.cancel()
    }
    await ended.wait { $0 != nil }

    #expect(ended.value?.code == (waits ? .cancelled : .cannotConnectToHost))
    #expect(delegate.told.value == (waits ? 1 : 0))
  }
  #endif
}
