import Foundation
import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Copies of observers for another user", .timeLimit(.minutes(5)))
struct CopyTests {
  private struct Manager: SAPPassportManaging {
    func getPassport() throws -> Passport { Passport(component: "shop", user: "ANNA") }
    func setPassport(_ passport: Passport) {}
    func clearPassport() {}
  }

  @Test func anObserverWithoutAUsersDataCanBeCopied() throws {
    let url = try #require(URL(string: "https://h/"))
    let observers: [any SAPURLSessionObserving] = [
      SAPcpmsObserver(applicationID: "app", deviceID: nil), CorrelationObserver(), LanguageObserver(),
      CSRFTokenObserver(rootUrl: url), ApplicationVersionObserver(), NetworkActivityIndicatorObserver(),
      SAPcpmsUserBlockedObserver { _ in }, SAPPassportObserver(), APIKeyAuthenticationObserver(apiKey: "key"),
    ]

    for observer in observers {
      let copy = try #require(observer.copy() as? any SAPURLSessionObserving, "\(type(of: observer))")
      #expect(type(of: copy) == type(of: observer))
      #expect(copy !== observer)
    }
    #expect(SAPPassportObserver(passportManager: Manager()).copy() == nil)
    #expect(BasicAuthenticationObserver().copy() == nil)
  }

  @Test func aCopyReportsTheBlockOfItsOwnUser() async throws {
    let service = try MobileServices()
    let told = Shared(0)
    let observer = SAPcpmsUserBlockedObserver { _ in told.change { $0 += 1 } }
    service.block()
    await SAPURLSession.observed(by: observer).get(service.url)

    let copy = try #require(observer.copy() as? SAPcpmsUserBlockedObserver)
    await SAPURLSession.observed(by: copy).get(service.url)
    await SAPURLSession.observed(by: observer).get(service.url)

    #expect(told.value == 2)
  }

  @Test func aCopyHasTheKeyOfTheApp() async throws {
    let server = try LoopbackServer { _ in .status(.ok) }
    let observer = APIKeyAuthenticationObserver(apiKey: "key", backend: server.url("/"))
    let copy = try #require(observer.copy() as? APIKeyAuthenticationObserver)

    await SAPURLSession.observed(by: copy).get(server.url("/"))

    #expect(server.requests.first?.fields["X-API-Key"] == "key")
  }
}

@Suite("Registering", .timeLimit(.minutes(5)), .serialized)
struct RegistrationTests {
  @Test func observersAreACopyInTheOrderOfRegistration() {
    let session = SAPURLSession(configuration: .ephemeral)
    let (one, two) = (ObserverProbe(), ObserverProbe())
    session.register(one)
    let before = session.observers
    session.register(two)

    #expect(before.count == 1)
    #expect(session.observers.map { ObjectIdentifier($0) } == [ObjectIdentifier(one), ObjectIdentifier(two)])
    #expect(session.isRegistered(one))
    session.unregister(one)
    session.unregister(one)
    #expect(!session.isRegistered(one))
  }

  @Test func registeringTwiceChangesNothing() async throws {
    let server = try LoopbackServer { .text($0.fields["X-Tags"] ?? "") }
    let probe = tagging("a")
    let session = SAPURLSession.uncached(probe, probe)

    #expect(session.observers.count == 1)
    #expect(await session.outcome(of: server.url("/")).text == "a")
  }

  @Test func anObserverMayUnregisterItselfAndTheNextWithinACallback() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let session = SAPURLSession.uncached()
    let second = ObserverProbe()
    let first = ObserverProbe()
    first.onSend = { [weak first] _, request in
      if let first { session.unregister(first) }
      session.unregister(second)
      return .allow(request)
    }
    session.register(first)
    session.register(second)

    #expect(await session.outcome(of: server.url("/")).text == "hello")
    #expect(first.log == ["send"])
    #expect(second.log.isEmpty)
  }

  private func suspendedQueue() -> OperationQueue {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    queue.isSuspended = true
    return queue
  }

  @Test func aQuestionThatWaitsInTheQueueIsDroppedWhenItsObserverIsUnregistered() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let queue = suspendedQueue()
    let session = SAPURLSession(configuration: SAPURLSession.plain, delegateQueue: queue)
    let probe = ObserverProbe { $0.onSend = { _, _ in .cancel(TestFailure(name: "asked")) } }
    session.register(probe)
    async let outcome = session.outcome(of: server.url("/"))
    try await until { queue.operationCount > 0 }

    session.unregister(probe)
    queue.isSuspended = false

    #expect(await outcome.text == "hello")
    #expect(probe.log.isEmpty)
  }

  @Test func aNotificationThatWaitsInTheQueueIsDroppedWhenItsObserverIsUnregistered() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let session = SAPURLSession(configuration: SAPURLSession.plain, delegateQueue: queue)
    let probe = ObserverProbe { probe in
      probe.onSend = { _, request in
        queue.isSuspended = true
        return .allow(request)
      }
    }
    session.register(probe)
    async let outcome = session.outcome(of: server.url("/"))
    _ = try await server.request(1)  // Before it was sent, the notification of its task was queued.

    session.unregister(probe)
    queue.isSuspended = false

    #expect(await outcome.text == "hello")
    #expect(probe.log == ["send"])
  }

  @Test(arguments: [true, false])
  func theNotificationOfTheInvalidationIsDroppedOnlyIfTheObserverIsUnregistered(_ leaves: Bool) async {
    let queue = suspendedQueue()
    let session = SAPURLSession(configuration: SAPURLSession.plain, delegateQueue: queue)
    let probe = ObserverProbe()
    session.register(probe)

    session.invalidateAndCancel()
    if leaves { session.unregister(probe) }
    queue.isSuspended = false
    await session.callbacksHaveReturned()

    #expect(probe.log == (leaves ? [] : ["invalid"]))
  }

  @Test func anObserverRegisteredWhileATaskRunsIsAskedFromThenOn() async throws {
    let gate = Gate()
    let server = try LoopbackServer { _ in .text("hello").held(by: gate) }
    let session = SAPURLSession.uncached()
    let late = ObserverProbe()
    async let outcome = session.outcome(of: server.url("/"))
    _ = try await server.request(1)
    session.register(late)
    gate.open()

    #expect(await outcome.text == "hello")
    #expect(late.log == ["response 200", "data hello", "complete"])
  }
}
