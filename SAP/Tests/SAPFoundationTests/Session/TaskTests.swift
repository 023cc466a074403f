import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import Testing

@testable import SAPFoundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Short request", .timeLimit(.minutes(5)))
struct ShortRequestTests {
  @Test func nothingIsSentBeforeResume() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let session = SAPURLSession.uncached()
    let task = session.dataTask(with: server.url("/early")) { _, _, _ in }

    #expect(await session.outcome(of: server.url("/late")).text == "hello")

    #expect(server.requests.map(\.path) == ["/late"])
    #expect(task.state == .suspended)
  }

  @Test func theHandlerIsCalledOnceHoweverOftenTheTaskIsResumed() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let session = SAPURLSession.uncached()
    let count = Atomic(0)
    await withCheckedContinuation { continuation in
      let task = session.dataTask(with: server.url("/")) { _, _, _ in
        count.add(1, ordering: .relaxed)
        continuation.resume()
      }
      task.resume()
      task.resume()
    }

    #expect(await session.outcome(of: server.url("/")).text == "hello")
    #expect(count.load(ordering: .relaxed) == 1)
    #expect(server.requests.count == 2)
  }

  @Test func aTaskCancelledBeforeItBeganFailsAndSendsNothing() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let outcome = await SAPURLSession.uncached().outcome(of: URLRequest(url: server.url("/"))) { $0.cancel() }

    #expect(outcome.code == .cancelled)
    #expect(server.requests.isEmpty)
  }

  @Test func anEmptyBodyIsEmptyData() async throws {
    let server = try LoopbackServer { _ in .status(.noContent) }
    let outcome = await SAPURLSession.uncached().outcome(of: server.url("/"))

    #expect(outcome.data == Data())
    #expect(outcome.status == 204)
    #expect(outcome.error == nil)
  }

  @Test func aFailureIsAURLErrorWithTheEnginesBeneath() async throws {
    let stopped = try LoopbackServer { _ in .text("hello") }
    stopped.stop()
    defer { withExtendedLifetime(stopped) {} }  // its port stays its own

    let outcome = await SAPURLSession.uncached().outcome(of: stopped.url("/"))

    #expect(outcome.code == .cannotConnectToHost)
    #expect((outcome.error as? URLError)?.underlyingHTTPError?.kind == .cannotConnect)
    #expect(outcome.data == nil)
  }

  @Test func aRequestWithoutURLFails() async {
    var request = URLRequest(url: URL(filePath: "/"))
    request.url = nil
    #expect(
      await SAPURLSession(configuration: .ephemeral).outcome(of: request).error as? SAPURLSessionError
        == .invalidRequest)
  }

  @Test func theResponseHasItsFieldsAndLength() async throws {
    let server = try LoopbackServer { _ in .json(#"{"a":1}"#).with("X-Twice", "one").with("X-Twice", "two") }
    let response = try #require(
      await SAPURLSession.uncached().outcome(of: server.url("/")).response as? HTTPURLResponse)

    #expect(response.url == server.url("/"))
    #expect(response.expectedContentLength == 7)
    #expect(response.mimeType == "application/json")
    #expect(response.value(forHTTPHeaderField: "x-twice") == "one, two")
  }
}

@Suite("A body in batches", .timeLimit(.minutes(5)))
struct BatchesTests {
  /// The results of three handlers, in order.
  private final class Log: Sendable {
    let events = Mutex<[String]>([])
    func note(_ event: String) { events.withLock { $0.append(event) } }
  }

  private func run(
    _ session: SAPURLSession, _ url: URL, _ log: Log,
    onData: @escaping @Sendable (Data, SAPURLSessionTask?) -> Void = { _, _ in }
  ) async -> (any Error)? {
    let running = Mutex<SAPURLSessionTask?>(nil)
    return await withCheckedContinuation { continuation in
      let task = session.dataTask(
        with: URLRequest(url: url),
        receivedResponseHandler: { log.note("response \(($0 as? HTTPURLResponse)?.statusCode ?? 0)") },
        receivedDataHandler: { data in
          log.note(String(decoding: data, as: UTF8.self))
          onData(data, running.withLock { $0 })
        },
        completionHandler: { error in
          log.note(error == nil ? "end" : "error")
          continuation.resume(returning: error)
        })
      running.withLock { $0 = task }
      task.resume()
    }
  }

  @Test func theHandlersGetTheResponseThenTheBodyInOrderThenTheCompletion() async throws {
    let gate = Gate()
    let server = try LoopbackServer { _ in .text("hello world").stalled(after: 5, until: gate) }
    let log = Log()

    let error = await run(SAPURLSession.uncached(), server.url("/"), log) { _, _ in gate.open() }

    #expect(error == nil)
    #expect(log.events.withLock { $0 } == ["response 200", "hello", " world", "end"])
  }

  @Test func aDiscardedResponseIsNotDelivered() async throws {
    let server = try LoopbackServer {
      $0.fields[.authorization] == nil ? .text("refused", status: .unauthorized) : .text("welcome")
    }
    let log = Log()
    let probe = ObserverProbe { probe in
      probe.onResponse = { task, response in
        guard (response as? HTTPURLResponse)?.statusCode == 401, var request = task.originalRequest else {
          return .allow(response)
        }
        request.setValue("Bearer t", forHTTPHeaderField: "Authorization")
        return .resend(request)
      }
    }

    #expect(await run(SAPURLSession.uncached(probe), server.url("/"), log) == nil)

    #expect(log.events.withLock { $0 } == ["response 200", "welcome", "end"])
  }

  @Test func aSlowHandlerMakesTheSenderWait() async throws {
    let taken = Atomic(Int64(0))
    let server = try LoopbackServer { _ in
      .generated(length: 64 << 20) { offset in
        taken.store(offset, ordering: .relaxed)
        return Data(count: min(64 << 10, Int((64 << 20) - offset)))
      }
    }
    let log = Log()
    let error = await run(SAPURLSession.uncached(), server.url("/"), log) { _, task in
      // the handler takes one batch and then stops the task: the rest was never received from the server
      task?.cancel()
    }

    #expect((error as? URLError)?.code == .cancelled)
    #expect(taken.load(ordering: .relaxed) < 32 << 20)
    #expect(log.events.withLock { $0.last } == "error")
  }

  @Test func aBatchIsDeliveredAsAnObserverChangedIt() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let log = Log()
    let probe = ObserverProbe { $0.onData = { .allow(Data(String(decoding: $0, as: UTF8.self).uppercased().utf8)) } }

    _ = await run(SAPURLSession.uncached(probe), server.url("/"), log)

    #expect(log.events.withLock { $0 } == ["response 200", "HELLO", "end"])
  }
}

@Suite("Wrapped task", .timeLimit(.minutes(5)))
struct TaskTests {
  @Test func itsStateIsKnownBeforeItIsSentAndAfter() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let session = SAPURLSession.uncached()
    let states = Mutex<[URLSessionTask.State]>([])
    let kept = Mutex<SAPURLSessionTask?>(nil)
    let probe = ObserverProbe { probe in
      probe.onSend = { task, request in
        states.withLock { $0.append(task.state) }
        #expect(task.urlSessionTask == nil)
        return .allow(request)
      }
    }
    session.register(probe)

    let outcome = await session.outcome(of: URLRequest(url: server.url("/"))) { task in
      states.withLock { $0.append(task.state) }
      kept.withLock { $0 = task }
    }

    let task = try #require(kept.withLock { $0 })
    #expect(states.withLock { $0 } == [.suspended, .running])
    #expect(task.state == .completed)
    #expect(task.error == nil)
    #expect(task.response === outcome.response)
    #expect(task.countOfBytesReceived == 5)
    #expect(task.countOfBytesExpectedToReceive == 5)
    #expect(task.progress.completedUnitCount == 5)
    #expect(!task.metrics.isEmpty)
  }

  @Test func itHasTheOriginalAndTheSentRequest() async throws {
    let server = try LoopbackServer { $0.path == "/there" ? .text("hello") : .redirect(to: "/there") }
    let kept = Mutex<SAPURLSessionTask?>(nil)
    let probe = ObserverProbe { probe in
      probe.onSend = { _, request in
        var request = request
        request.setValue("yes", forHTTPHeaderField: "X-Observed")
        return .allow(request)
      }
    }

    _ = await SAPURLSession.uncached(probe).outcome(of: URLRequest(url: server.url("/here"))) { task in
      kept.withLock { $0 = task }
    }

    let task = try #require(kept.withLock { $0 })
    #expect(task.originalRequest == URLRequest(url: server.url("/here")))
    #expect(task.currentRequest?.url == server.url("/there"))
    #expect(task.currentRequest?.value(forHTTPHeaderField: "X-Observed") == "yes")
    #expect(server.requests.map { $0.fields["X-Observed"] } == ["yes", "yes"])
  }

  @Test func theBackingTaskTellsTheTruthAndDoesNothingOnResume() async throws {
    let gate = Gate()
    let server = try LoopbackServer { _ in .text("hello").held(by: gate) }
    let session = SAPURLSession.uncached()
    let kept = Mutex<SAPURLSessionTask?>(nil)
    async let outcome = session.outcome(of: URLRequest(url: server.url("/"))) { task in kept.withLock { $0 = task } }
    _ = try await server.request(1)
    let backing = try #require(kept.withLock { $0?.urlSessionTask })

    backing.resume()
    #expect(backing.state == .running)
    #expect(backing.originalRequest?.url == server.url("/"))
    gate.open()

    #expect(await outcome.text == "hello")
    #expect(backing.state == .completed)
    #expect((backing.response as? HTTPURLResponse)?.statusCode == 200)
    #expect(server.requests.count == 1)
  }

  @Test func cancellingTheBackingTaskCancelsTheTask() async throws {
    let server = try LoopbackServer { _ in .text("never").stalled(after: 0) }
    let probe = ObserverProbe { $0.onCreate = { _, backing in backing.cancel() } }

    #expect(await SAPURLSession.uncached(probe).outcome(of: server.url("/")).code == .cancelled)
  }

  @Test func aTaskIsCancelledWhileAnObserverHasNotAnswered() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let silent = SilentObserver()
    let session = SAPURLSession.uncached(silent)
    let kept = Mutex<SAPURLSessionTask?>(nil)
    async let outcome = session.outcome(of: URLRequest(url: server.url("/"))) { task in kept.withLock { $0 = task } }
    try await silent.wasAsked.wait()

    let task = try #require(kept.withLock { $0 })
    task.cancel()

    #expect(await outcome.code == .cancelled)
    #expect(task.state == .completed)
    #expect(server.requests.isEmpty)
  }

  @Test func aSuspendedTaskReadsNoBodyUntilItIsResumed() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let kept = Mutex<SAPURLSessionTask?>(nil)
    let session = SAPURLSession.uncached()
    let suspended = Gate()
    let probe = ObserverProbe { probe in
      probe.onResponse = { task, response in
        task.suspend()
        suspended.open()
        return .allow(response)
      }
    }
    session.register(probe)
    let arrived = Gate()
    async let outcome = session.outcome(of: URLRequest(url: server.url("/"))) { task in
      kept.withLock { $0 = task }
      arrived.open()
    }
    try await arrived.wait()
    let task = try #require(kept.withLock { $0 })
    try await suspended.wait()
    #expect(task.state == .suspended)
    #expect(!probe.log.contains("data hello"))

    task.resume()

    #expect(await outcome.text == "hello")
  }

  @Test func aTaskThatAnObserverSuspendsBeforeItIsSentWaits() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let kept = Mutex<SAPURLSessionTask?>(nil)
    let suspended = Gate()
    let probe = ObserverProbe { probe in
      probe.onSend = { task, request in
        task.suspend()
        suspended.open()
        return .allow(request)
      }
    }
    let session = SAPURLSession.uncached(probe)
    async let outcome = session.outcome(of: URLRequest(url: server.url("/held"))) { task in kept.withLock { $0 = task }
    }
    try await suspended.wait()
    // another task of the session is sent and answered in the meantime
    session.unregister(probe)
    #expect(await session.outcome(of: server.url("/other")).text == "hello")
    #expect(server.requests.map(\.path) == ["/other"])

    try #require(kept.withLock { $0 }).resume()

    #expect(await outcome.text == "hello")
    #expect(server.requests.map(\.path) == ["/other", "/held"])
  }

  @Test func itWaitsForItsEarliestDate() async throws {
    let first = try #require(URL(string: "http://a.example/")), other = first.appending(path: "other")
    let transport = MockTransport { request in .text(request.url.path) }
    let probe = ObserverProbe { $0.onDelayed = { _ in .useNewRequest(URLRequest(url: other)) } }

    let clock = ManualClock()
    let session = SAPURLSession(
      configuration: SAPURLSession.plain, in: .init(transport: transport, clock: clock))
    session.register(probe)
    async let outcome = session.outcome(of: URLRequest(url: first)) { task in
      task.earliestBeginDate = Date(timeIntervalSinceNow: 60)
      task.priority = 1
      task.taskDescription = "later"
    }
    try await clock.sleepers(1, within: .seconds(60))
    #expect(probe.log.isEmpty)
    clock.advance(by: .seconds(60))

    #expect(await outcome.text == "/other")
    #expect(probe.log.first == "delayed")
  }

  @Test func itIsReleasedWhenItHasCompleted() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let session = SAPURLSession.uncached(ObserverProbe())
    let released = Gate()

    _ = await session.outcome(of: URLRequest(url: server.url("/"))) { task in
      task.context["signal"] = ReleaseSignal(released)
    }

    try await released.wait()
    #expect(released.isOpen)
  }
}

/// Is called and never answers.
final class SilentObserver: SAPURLSessionObserving, Sendable {
  let wasAsked = Gate()

  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
  ) { wasAsked.open() }
}
