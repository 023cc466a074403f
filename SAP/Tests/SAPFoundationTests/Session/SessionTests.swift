import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import SAPFoundation
import Synchronization
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("The life of a session", .timeLimit(.minutes(5)))
struct SessionLifeTests {
  @Test func itIsReleasedWhenItsTasksHaveCompleted() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let released = Gate()
    do {
      let session = SAPURLSession.uncached(ReleaseSignal(released))
      #expect(await session.outcome(of: server.url("/")).text == "hello")
    }

    // the session is the only owner of its observer; the last callback may still run
    try await released.wait()
    #expect(released.isOpen)
  }
}

@Suite("Custom configuration", .timeLimit(.minutes(5)))
struct ConfigurationTests {
  @Test func itIsReadWhenTheSessionIsMade() async throws {
    let server = try LoopbackServer { .text($0.fields["X-Tag"] ?? "none") }
    let configuration = SAPURLSession.plain
    configuration.httpAdditionalHeaders = ["X-Tag": "before"]
    let session = SAPURLSession(configuration: configuration)
    configuration.httpAdditionalHeaders = ["X-Tag": "after"]

    #expect(await session.outcome(of: server.url("/")).text == "before")
    #expect(session.configuration.httpAdditionalHeaders?["X-Tag"] as? String == "before")
  }

  @Test func aRequestsOwnFieldComesBeforeThatOfTheConfiguration() async throws {
    let server = try LoopbackServer { .text($0.fields[values: "X-Tag"].joined(separator: "|")) }
    let configuration = SAPURLSession.plain
    configuration.httpAdditionalHeaders = ["X-Tag": "general"]
    var request = URLRequest(url: server.url("/"))
    request.setValue("own", forHTTPHeaderField: "x-tag")

    #expect(await SAPURLSession(configuration: configuration).outcome(of: request).text == "own")
  }

  @Test func aSecretOfTheConfigurationStaysWithTheOriginThatWasAsked() async throws {
    let other = try LoopbackServer { .text("\($0.fields[.authorization] ?? "-") \($0.fields["X-Tag"] ?? "-")") }
    let target = other.url("/").absoluteString
    let server = try LoopbackServer { _ in .redirect(to: target) }
    let configuration = SAPURLSession.plain
    configuration.httpAdditionalHeaders = ["Authorization": "Bearer secret", "X-Tag": "general"]

    #expect(await SAPURLSession(configuration: configuration).outcome(of: server.url("/")).text == "- general")
    #expect(server.requests.first?.fields[.authorization] == "Bearer secret")
  }

  @Test(arguments: [true, false], [true, false])
  func theTimeoutIsTheRequestsOrElseTheSessions(isRequests: Bool, hasHead: Bool) async throws {
    let gate = Gate()
    defer { gate.open() }
    let server = try LoopbackServer { _ in hasHead ? .text("never").stalled(after: 0) : .text("never").held(by: gate) }
    let configuration = SAPURLSession.plain
    var request = URLRequest(url: server.url("/"))
    if isRequests { request.timeoutInterval = 0.2 } else { configuration.timeoutIntervalForRequest = 0.2 }

    #expect(await SAPURLSession(configuration: configuration).outcome(of: request).code == .timedOut)
  }

  @Test func theTotalTimeLimitEndsASlowBody() async throws {
    let server = try LoopbackServer { _ in
      .text(String(repeating: "a", count: 1000)).dripped(1, every: .milliseconds(50))
    }
    let configuration = SAPURLSession.plain
    configuration.timeoutIntervalForResource = 0.3

    #expect(await SAPURLSession(configuration: configuration).outcome(of: server.url("/")).code == .timedOut)
  }

  @Test func protocolClassesAnswerInPlaceOfTheNetwork() async throws {
    let configuration = SAPURLSession.plain
    configuration.protocolClasses = [Canned.self]
    let probe = ObserverProbe()
    let session = SAPURLSession(configuration: configuration)
    session.register(probe)

    let outcome = await session.outcome(of: try #require(URL(string: "http://mocked.invalid/a")))

    #expect(outcome.text == "canned /a")
    #expect(outcome.status == 203)
    #expect(probe.log.prefix(3) == ["send", "create", "response 203"])
  }

  @Test func aProxyOfTheConfigurationIsUsed() async throws {
    let proxy = try LoopbackServer { .text("through the proxy: \($0.target)") }
    let configuration = SAPURLSession.plain
    configuration.connectionProxyDictionary = [
      "HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": proxy.port,
    ]
    let session = SAPURLSession(configuration: configuration)

    let outcome = await session.outcome(of: try #require(URL(string: "http://nowhere.invalid/x")))

    #expect(outcome.text == "through the proxy: http://nowhere.invalid/x")
  }

  @Test func aCachePolicyIsHonoured() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    var request = URLRequest(url: server.url("/"))
    request.cachePolicy = .returnCacheDataDontLoad

    #expect(await SAPURLSession(configuration: .ephemeral).outcome(of: request).code == .resourceUnavailable)
    #expect(server.requests.isEmpty)
  }
}

/// Answers everything by itself.
private final class Canned: URLProtocol {
  override class func canInit(with request: URLRequest) -> Bool { true }
  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
  override func startLoading() {
    guard let url = request.url,
      let response = HTTPURLResponse(url: url, statusCode: 203, httpVersion: "HTTP/1.1", headerFields: nil)
    else { return }
    client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
    client?.urlProtocol(self, didLoad: Data("canned \(url.path)".utf8))
    client?.urlProtocolDidFinishLoading(self)
  }
  override func stopLoading() {}
}

@Suite("Delegate", .timeLimit(.minutes(5)))
struct DelegateTests {
  @Test func itIsCalledAfterTheObserversAndGetsTheBackingTask() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let order = ObserverProbe("shared")
    let backing = Mutex<URLSessionTask?>(nil)
    let delegate = DelegateProbe("delegate") { probe in
      probe.onSend = {
        order.note("delegate")
        return .allow($1)
      }
      probe.onCreate = { _, task in backing.withLock { $0 = task } }
    }
    let session = SAPURLSession(configuration: SAPURLSession.plain, delegate: delegate)
    session.register(order)

    let outcome = await session.outcome(of: server.url("/"))

    #expect(outcome.text == "hello")
    #expect(order.log.prefix(2) == ["send", "delegate"])
    #expect(delegate.log == ["send", "create", "response 200", "data hello", "complete"])
    #expect(backing.withLock { $0?.originalRequest?.url } == server.url("/"))
  }

  @Test func aDelegateThatIsAnObserverTooIsToldOnce() async throws {
    final class Both: SAPURLSessionDelegate, SAPURLSessionObserving, Sendable {
      let log = Shared<[String]>([])

      func sapURLSession(
        _ session: SAPURLSession, task: SAPURLSessionTask, didCompleteWithError error: (any Error)?,
        completionHandler: @escaping @Sendable (SAPURLSession.CancellableDisposition) -> Void
      ) {
        log.change { $0.append("as observer") }
        completionHandler(.allow)
      }

      func sapURLSession(_ session: SAPURLSession, task: SAPURLSessionTask, didCompleteWithError error: (any Error)?) {
        log.change { $0.append("as delegate") }
      }
    }
    let server = try LoopbackServer { _ in .text("hello") }
    let both = Both()

    _ = await SAPURLSession(configuration: SAPURLSession.plain, delegate: both).outcome(of: server.url("/"))

    #expect(both.log.value == ["as delegate"])
  }

  @Test func itIsHeldUntilTheSessionIsInvalidatedAndNoLonger() async throws {
    let released = Gate()
    let session = SAPURLSession(delegate: ReleaseSignal(released))
    #expect(!released.isOpen)

    session.finishTasksAndInvalidate()

    try await released.wait()
    #expect(session.delegate == nil)
  }
}

@Suite("No stream tasks")
struct StreamTaskTests {
  @Test func aSessionHasNoTaskWithoutARequest() {
    // `streamTask(withHostName:port:)` is not declared: every existing task has a request.
    let session = SAPURLSession(configuration: .ephemeral)
    let request = URLRequest(url: URL(filePath: "/"))
    let tasks = [
      session.dataTask(with: request), session.dataTask(with: request) { _, _, _ in },
      session.downloadTask(with: request) { _, _, _ in },
    ]
    #expect(tasks.allSatisfy { $0.originalRequest == request })
  }
}

@Suite("Context", .timeLimit(.minutes(5)))
struct ContextTests {
  @Test func aTasksMarkSurvivesAResend() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let seen = Mutex<[Int]>([])
    let probe = ObserverProbe { probe in
      probe.onResponse = { task, response in
        let count = task.context["count"] as? Int ?? 0
        seen.withLock { $0.append(count) }
        task.context["count"] = count + 1
        return count < 2 ? task.originalRequest.map { .resend($0) } ?? .allow(response) : .allow(response)
      }
    }

    _ = await SAPURLSession.uncached(probe).outcome(of: URLRequest(url: server.url("/"))) { $0.context["count"] = 0 }

    #expect(seen.withLock { $0 } == [0, 1, 2])
  }

  @Test func aMarkMayBeReadWhileMarksAreChanged() async throws {
    let session = SAPURLSession(configuration: .ephemeral)
    let task = session.dataTask(with: URLRequest(url: URL(filePath: "/")))
    session.context["user"] = "anna"
    task.context["count"] = 1

    session.context.merge(["user": "berta"]) { old, new in
      "\(old) \(new) \(session.context["user"] as? String ?? "")"
    }
    task.context.merge(["count": 2]) { _, new in (new as? Int ?? 0) + (task.context["count"] as? Int ?? 0) }

    #expect(session.context["user"] as? String == "anna berta anna")
    #expect(task.context["count"] as? Int == 3)
  }

  @Test func noChangeOfAMarkIsLost() async {
    let session = SAPURLSession(configuration: .ephemeral)
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask { for count in 0..<100 { session.context["\(number) \(count)"] = true } }
      }
    }
    #expect(session.context.count == 800)
  }

  @Test func aSessionsMarkIsItsOwn() async {
    let (one, other) = (SAPURLSession(configuration: .ephemeral), SAPURLSession(configuration: .ephemeral))
    one.context["user"] = "anna"

    #expect(one.context["user"] as? String == "anna")
    #expect(other.context.isEmpty)
    #expect(one.dataTask(with: URLRequest(url: URL(filePath: "/"))).context.isEmpty)
  }

  @Test func itMayBeUsedFromManyTasksAtOnce() async {
    let task = SAPURLSession(configuration: .ephemeral).dataTask(with: URLRequest(url: URL(filePath: "/")))
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<100 { group.addTask { task.context["\(number)"] = number } }
    }
    #expect(task.context.count == 100)
  }
}

@Suite("Names of methods", .timeLimit(.minutes(5)))
struct MethodTests {
  typealias Names = SAPURLSession.HTTPMethod

  @Test(arguments: [
    (Names.get, "GET"), (Names.put, "PUT"), (Names.post, "POST"), (Names.patch, "PATCH"), (Names.merge, "MERGE"),
    (Names.delete, "DELETE"), (Names.options, "OPTIONS"), (Names.head, "HEAD"), (Names.trace, "TRACE"),
  ]) func theyAreSentAsTheyAre(method: String, name: String) async throws {
    let server = try LoopbackServer { _ in .status(.noContent) }
    var request = URLRequest(url: server.url("/"))
    request.httpMethod = method

    #expect(await SAPURLSession.uncached().outcome(of: request).status == 204)
    #expect(server.requests.map(\.method.rawValue) == [name])
  }
}

@Suite("Invalidating", .timeLimit(.minutes(5)))
struct InvalidationTests {
  @Test func observersAndDelegateAreToldWhenTheLastTaskHasCompleted() async throws {
    let gate = Gate()
    let server = try LoopbackServer { _ in .text("hello").held(by: gate) }
    let (observer, delegate) = (ObserverProbe(), DelegateProbe())
    let session = SAPURLSession(configuration: SAPURLSession.plain, delegate: delegate)
    session.register(observer)
    async let outcome = session.outcome(of: server.url("/"))
    _ = try await server.request(1)

    session.finishTasksAndInvalidate()
    #expect(!session.isValid)
    #expect(!observer.log.contains("invalid"))
    gate.open()

    #expect(await outcome.text == "hello")
    await delegate.wait(for: "invalid")
    #expect(observer.log.suffix(2) == ["complete", "invalid"])
    #expect(delegate.log.suffix(2) == ["complete", "invalid"])
  }

  @Test func invalidateAndCancelCancelsRunningTasks() async throws {
    let server = try LoopbackServer { _ in .text("never").stalled(after: 0) }
    let session = SAPURLSession.uncached()
    async let outcome = session.outcome(of: server.url("/"))
    _ = try await server.request(1)

    session.invalidateAndCancel()

    #expect(await outcome.code == .cancelled)
  }

  @Test func aTaskOfAnInvalidatedSessionFailsAndSaysWhy() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let session = SAPURLSession.uncached()
    session.invalidateAndCancel()
    session.finishTasksAndInvalidate()

    let outcome = await session.outcome(of: server.url("/"))

    #expect(outcome.error as? SAPURLSessionError == .invalidURLSession)
    #expect(server.requests.isEmpty)
  }
}
