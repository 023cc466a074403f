import Foundation
import MartletTesting
import Testing

@testable import SAPFoundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Observers and delegates that do not answer.
@Suite("Observers that do not answer", .timeLimit(.minutes(5)))
struct SilentObserverTests {
  /// Does not answer one method.
  private final class Silent: SAPURLSessionObserving, SAPURLSessionDelegate, Sendable {
    enum Method: CaseIterable {
      case delayed, send, stream, redirect, challenge, response, data, cache, completion
    }

    let method: Method
    let isCalled = Gate()
    let answers = Shared<[@Sendable () -> Void]>([])

    init(_ method: Method) { self.method = method }

    private func answer(_ asked: Method, _ answer: @escaping @Sendable () -> Void) {
      guard asked == method else { return answer() }
      answers.change { $0.append(answer) }
      isCalled.open()
    }

    func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask, willBeginDelayedRequest request: URLRequest,
      completionHandler: @escaping @Sendable (SAPURLSession.DelayedRequestDisposition) -> Void
    ) { answer(.delayed) { completionHandler(.continueLoading) } }

    func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
      completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
    ) { answer(.send) { completionHandler(.allow(request)) } }

    func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask,
      needNewBodyStream completionHandler: @escaping @Sendable (SAPURLSession.InputStreamDisposition) -> Void
    ) { answer(.stream) { completionHandler(.allow(nil)) } }

    func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest,
      completionHandler: @escaping @Sendable (SAPURLSession.HTTPRedirectDisposition) -> Void
    ) { answer(.redirect) { completionHandler(.allow(request)) } }

    func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
    ) { answer(.challenge) { completionHandler(.performDefaultHandling) } }

    func sapURLSession(
      _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (SAPURLSession.ResponseDisposition) -> Void
    ) { answer(.response) { completionHandler(.allow(response)) } }

    func sapURLSession(
      _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive data: Data,
      completionHandler: @escaping @Sendable (SAPURLSession.DataDisposition) -> Void
    ) { answer(.data) { completionHandler(.allow(data)) } }

    func sapURLSession(
      _ session: SAPURLSession, dataTask task: SAPURLSessionTask, willCacheResponse proposed: CachedURLResponse,
      completionHandler: @escaping @Sendable (SAPURLSession.CacheResponseDisposition) -> Void
    ) { answer(.cache) { completionHandler(.allow(proposed)) } }

    func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask, didCompleteWithError error: (any Error)?,
      completionHandler: @escaping @Sendable (SAPURLSession.CancellableDisposition) -> Void
    ) { answer(.completion) { completionHandler(.allow) } }
  }

  private let clock = ManualClock()
  private let log = LogCollector.shared
  private let name = UUID().uuidString

  private var url: URL { URL(string: "https://a.example/\(name)?key=secret") ?? URL(filePath: "/") }

  /// The session's lines in the log, without the process's others.
  private var lines: [String] { log.lines.value.filter { $0.contains(name) && $0.contains("waits for its answer") } }

  private func session(
    _ configuration: URLSessionConfiguration = SAPURLSession.plain, delegate: (any SAPURLSessionDelegate)? = nil,
    queue: OperationQueue? = nil, _ answer: MockResponse = .text("done")
  ) -> SAPURLSession {
    SAPURLSession(
      configuration: configuration, delegate: delegate, delegateQueue: queue,
      in: .init(
        transport: MockTransport(clock: clock) { request in
          _ = try await request.readBody()
          return answer
        }, clock: clock))
  }

  @Test func theLogNamesObserverMethodAndTaskAfterFiveSecondsAndAfterAMinute() async throws {
    let (session, silent) = (session(), Silent(.send))
    session.register(silent)
    let task = Shared<SAPURLSessionTask?>(nil)
    async let outcome = session.outcome(of: URLRequest(url: url)) { asked in task.change { $0 = asked } }
    try await silent.isCalled.wait()

    clock.advance(by: .seconds(4))
    #expect(lines.isEmpty)
    try await clock.sleepers(1)
    clock.advance(by: .seconds(1))
    await log.lines.wait { $0.contains { $0.contains(name) } }
    let first = lines.first ?? ""
    #expect(
      first.hasSuffix(
        " Silent.sapURLSession(_:task:willSend:completionHandler:) has not called its completion handler for 5 s: "
          + "a task that was not sent yet (GET https://a.example/\(name)?…) waits for its answer"))

    try await clock.sleepers(1)
    clock.advance(by: .seconds(55))
    await log.lines.wait { _ in lines.count == 2 }
    #expect(lines.last?.contains("for 60 s") == true)
    task.value?.cancel()
    #expect(await outcome.code == .cancelled)
  }

  @Test func theDelegateIsNamedLikewise() async throws {
    let silent = Silent(.response)
    let session = session(delegate: silent)
    async let outcome = session.outcome(of: .post(url))
    try await silent.isCalled.wait()
    try await clock.sleepers(1)
    clock.advance(by: .seconds(5))
    await log.lines.wait { _ in !lines.isEmpty }
    #expect(lines.first?.contains("task 1 (POST https://") == true)
    for answer in silent.answers.value { answer() }
    #expect(await outcome.text == "done")
  }

  @Test func aSuspendedDelegateQueueIsNamed() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    queue.isSuspended = true
    let session = session(delegate: Silent(.challenge), queue: queue)
    async let outcome = session.outcome(of: url)
    try await clock.sleepers(1)
    clock.advance(by: .seconds(5))
    await log.lines.wait { _ in !lines.isEmpty }
    #expect(lines.first?.contains("was not called, because the delegate queue is blocked or suspended") == true)
    queue.isSuspended = false
    #expect(await outcome.text == "done")
  }

  @Test func observersThatAnswerCauseNoWarningAndOneAlarm() async throws {
    let session = session(delegate: Silent(.challenge))
    for _ in 0..<10 { #expect(await session.outcome(of: url).text == "done") }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(60))
    #expect(await session.outcome(of: url).text == "done")
    #expect(lines.isEmpty)
  }

  /// Starts a task whose observer does not answer a method. Returns when that is called.
  private func start(
    _ method: Silent.Method, _ configuration: URLSessionConfiguration = .ephemeral
  ) async throws -> (task: SAPURLSessionTask, outcome: Shared<Outcome?>) {
    let answer: MockResponse =
      switch method {
      case .redirect: .redirect(to: "https://a.example/next")
      case .challenge: .status(.unauthorized, fields: [.wwwAuthenticate: "Basic realm=r"])
      case .cache: .text("done").with(.cacheControl, "max-age=60")
      default: .text("done")
      }
    let (session, silent, outcome) = (session(configuration, answer), Silent(method), Shared<Outcome?>(nil))
    session.register(silent)
    let receive: @Sendable (Data?, URLResponse?, (any Error)?) -> Void = { data, response, error in
      outcome.change { $0 = Outcome(data: data, response: response, error: error) }
    }
    var upload = URLRequest(url: url)
    upload.httpMethod = "POST"
    let task =
      method == .stream
      ? session.uploadTask(withStreamedRequest: upload, needNewBodyStream: { nil }, completionHandler: receive)
      : session.dataTask(with: url, completionHandler: receive)
    if method == .delayed { task.earliestBeginDate = .now }
    task.resume()
    try await silent.isCalled.wait()
    return (task, outcome)
  }

  @Test(arguments: Silent.Method.allCases)
  private func cancellingTheTaskEndsTheWait(for method: Silent.Method) async throws {
    let (task, outcome) = try await start(method)
    task.cancel()
    await outcome.wait { $0 != nil }
    #expect(outcome.value?.code == (method == .completion ? nil : .cancelled))
  }

  @Test(arguments: [Silent.Method.send, .stream, .redirect, .challenge, .response, .cache])
  private func theTimeoutOfTheResourceEndsTheWait(for method: Silent.Method) async throws {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForResource = 100
    let (_, outcome) = try await start(method, configuration)
    try await clock.sleepers(2)
    clock.advance(by: .seconds(100))
    await outcome.wait { $0 != nil }
    #expect(outcome.value?.code == .timedOut)
  }
}
