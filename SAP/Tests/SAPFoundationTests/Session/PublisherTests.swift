import Foundation
import MartletCombine
import MartletEngine
import MartletSemantics
import MartletTesting
import SAPFoundation
import Synchronization
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Publishers", .timeLimit(.minutes(5)))
struct PublisherTests {
  /// The output that a subscriber received: values, and how it ended.
  private final class Log: Sendable {
    let events = Mutex<[String]>([])
    let end = Gate()

    func value(_ output: SAPURLSession.DataTaskPublisher.Output) {
      let status = (output.response as? HTTPURLResponse)?.statusCode ?? 0
      events.withLock { $0.append("\(status) \(String(decoding: output.data, as: UTF8.self))") }
    }

    func completion(_ completion: Subscribers.Completion<any Error>) {
      events.withLock { $0.append(completion.isFinished ? "finished" : "failed") }
      end.open()
    }
  }

  private func watch(_ publisher: SAPURLSession.DataTaskPublisher, _ log: Log) -> AnyCancellable {
    publisher.sink {
      log.completion($0)
    } receiveValue: {
      log.value($0)
    }
  }

  @Test(arguments: [("/", "200 hello"), ("/empty", "204 ")])
  func itPublishesOneValueAndFinishes(path: String, value: String) async throws {
    let server = try LoopbackServer { $0.path == "/empty" ? .status(.noContent) : .text("hello") }
    let log = Log()
    let watching = watch(SAPURLSession.uncached().dataTaskPublisher(for: server.url(path)), log)
    defer { watching.cancel() }

    try await log.end.wait()

    #expect(log.events.withLock { $0 } == [value, "finished"])
  }

  @Test func itFailsWithExactlyWhatAnObserverFailedTheTaskWith() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let failure = TestFailure(name: "blocked")
    let session = SAPURLSession.uncached(ObserverProbe { $0.onResponse = { _, _ in .cancel(failure) } })
    let errors = Mutex<[any Error]>([])
    let end = Gate()
    let watching = session.dataTaskPublisher(for: URLRequest(url: server.url("/"))).sink { completion in
      if case .failure(let error) = completion { errors.withLock { $0.append(error) } }
      end.open()
    } receiveValue: { _ in
    }
    defer { watching.cancel() }

    try await end.wait()

    #expect(errors.withLock { $0.map { $0 as? TestFailure } } == [failure])
  }

  /// Subscribes, and requests nothing before the test does.
  private final class Patient: Subscriber {
    typealias Input = SAPURLSession.DataTaskPublisher.Output
    typealias Failure = any Error
    let subscription = Mutex<[any Subscription & Sendable]>([])
    let log = Log()
    nonisolated(unsafe) var ask: (() -> Void)?

    func receive(subscription: any Subscription) { ask = { subscription.request(.max(1)) } }
    func receive(_ input: Input) -> Subscribers.Demand {
      log.value(input)
      return .none
    }
    func receive(completion: Subscribers.Completion<any Error>) { log.completion(completion) }
  }

  @Test func nothingIsSentBeforeAValueIsRequested() async throws {
    let server = try LoopbackServer { .text($0.path) }
    let session = SAPURLSession.uncached()
    let patient = Patient()
    session.dataTaskPublisher(for: server.url("/patient")).subscribe(patient)

    #expect(await session.outcome(of: server.url("/other")).text == "/other")
    #expect(server.requests.map(\.path) == ["/other"])
    patient.ask?()
    try await patient.log.end.wait()

    #expect(patient.log.events.withLock { $0 } == ["200 /patient", "finished"])
  }

  @Test func everySubscriberHasACallOfItsOwn() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let publisher = SAPURLSession.uncached().dataTaskPublisher(for: server.url("/"))
    let logs = [Log(), Log(), Log()]
    let watching = logs.map { watch(publisher, $0) }
    defer { for each in watching { each.cancel() } }

    for log in logs { try await log.end.wait() }

    #expect(server.requests.count == 3)
  }

  @Test func cancellingTheSubscriptionCancelsTheCall() async throws {
    let server = try LoopbackServer { _ in .text("never").stalled(after: 0) }
    let probe = ObserverProbe()
    let log = Log()
    let watching = watch(SAPURLSession.uncached(probe).dataTaskPublisher(for: server.url("/")), log)
    _ = try await server.request(1)

    watching.cancel()

    try await server.end(ofConnection: 1)
    await probe.wait(for: "failed")
    #expect(log.events.withLock { $0 }.isEmpty)
  }
}

extension Subscribers.Completion {
  fileprivate var isFinished: Bool {
    if case .finished = self { true } else { false }
  }
}
