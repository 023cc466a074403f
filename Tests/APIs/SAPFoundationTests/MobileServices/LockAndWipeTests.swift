import Foundation
import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("An app that is locked or wiped", .timeLimit(.minutes(5)))
struct LockAndWipeTests {
  private final class Events: LockAndWipeEventObserving, Sendable {
    let calls = Shared<[String]>([])
    func willLock() { calls.change { $0.append("willLock") } }
    func didLock() async { calls.change { $0.append("didLock") } }
    func willWipe() { calls.change { $0.append("willWipe") } }
    func didWipe() { calls.change { $0.append("didWipe") } }
  }

  private final class Indifferent: LockAndWipeEventObserving {}

  private let service: MobileServices
  private let events = Events()
  private let manager = LockAndWipeManager()
  private let storage = CodableStorage()

  init() throws {
    service = try MobileServices(.init(media: ["a": Media(Data([1]))]))
    manager.register(events)
    manager.register(events)
    manager.register(Indifferent())
  }

  private func session(_ backend: URL? = nil) -> SAPURLSession {
    .observed(by: SAPcpmsLockAndWipeObserver(store: storage, backend: backend, manager: manager))
  }

  @Test func everyRequestFailsAndTheManagerIsToldOnce() async throws {
    let session = session()
    service.lock()
    for _ in 0..<3 { #expect(await session.get(service.url).error as? LockWipePolicyError == .trafficLocked) }
    await events.calls.wait { $0.contains("didLock") }
    service.unblock()
    #expect(await session.get(service.url).status == 200)
    service.wipe()
    for _ in 0..<2 { #expect(await session.get(service.url).error as? LockWipePolicyError == .trafficWiped) }
    await events.calls.wait { $0.contains("didWipe") }

    #expect(events.calls.value == ["willLock", "didLock", "willWipe", "didWipe"])
  }

  @Test func anObserverThatLeftIsNotTold() async {
    manager.unregister(events)
    await manager.lock()
    await manager.wipe()
    #expect(events.calls.value.isEmpty)
    manager.register(events)
    manager.Lock()
    await events.calls.wait { $0 == ["willLock", "didLock"] }
  }

  @Test func theLastContactIsStored() async throws {
    let observer = SAPcpmsLockAndWipeObserver(store: storage, backend: service.url, manager: manager)
    let stranger = try ThirdParty()
    let session = SAPURLSession.observed(by: observer)
    await session.get(stranger.url)
    service.lock()
    await session.get(service.url)
    #expect(observer.lastContact == nil)
    service.unblock()
    await session.get(service.url)

    let date = try #require(observer.lastContact)
    #expect(abs(date.timeIntervalSinceNow) < 300)
    #expect(SAPcpmsLockAndWipeObserver(store: storage).lastContact == date)
  }

  @Test func another403IsNeither() async throws {
    service.answer("/a", with: .forbidden)
    service.answer("/b", with: .blocked("TRAFFIC_BLOCKED"))
    service.answer("/c", with: .text("fine").with("x-message-code", "TRAFFIC_REG_LOCKED"))
    let session = session()
    #expect(await session.get(service.url("/a")).status == 403)
    #expect(await session.get(service.url("/b")).status == 403)
    #expect(await session.get(service.url("/c")).status == 200)
    #expect(events.calls.value.isEmpty)
  }
}

@Suite("A version of the app that is switched off", .timeLimit(.minutes(5)))
struct ApplicationVersionTests {
  @Test func everyRequestOfAnInactiveVersionFails() async throws {
    let service = try MobileServices()
    let session = SAPURLSession.observed(by: ApplicationVersionObserver())
    #expect(await session.get(service.url).status == 200)
    service.isVersionInactive = true
    for _ in 0..<2 { #expect(await session.get(service.url).error as? ApplicationVersioningError == .inactive) }
    service.isVersionInactive = false
    service.answer("/x", with: .text("fine").with("x-app-version-inactive", "false"))
    #expect(await session.get(service.url("/x")).status == 200)
    #expect(ApplicationVersionObserver().copy() is ApplicationVersionObserver)
  }
}
