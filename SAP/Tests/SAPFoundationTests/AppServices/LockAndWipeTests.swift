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

  /// Wipes the app when it is locked, and awaits that.
  private final class Wiping: LockAndWipeEventObserving, Sendable {
    let calls = Shared<[String]>([])
    private let manager: LockAndWipeManager

    init(_ manager: LockAndWipeManager) { self.manager = manager }

    func didLock() async {
      calls.change { $0.append("didLock") }
      await manager.wipe()
      calls.change { $0.append("returned") }
    }

    func didWipe() async { calls.change { $0.append("didWipe") } }
  }

  /// Waits at a gate before each wipe.
  private final class Slow: LockAndWipeEventObserving, Sendable {
    let gate = Gate()
    let calls = Shared<[String]>([])
    func didLock() async { calls.change { $0.append("didLock") } }
    func willWipe() async {
      calls.change { $0.append("willWipe") }
      try? await gate.wait()
    }
    func didWipe() async { calls.change { $0.append("didWipe") } }
  }

  /// Waits at a gate during a lock.
  private final class SlowManager: LockAndWipeManaging {
    let gate = Gate()
    let calls = Shared<[String]>([])
    func lock() async {
      calls.change { $0.append("lock") }
      try? await gate.wait()
      calls.change { $0.append("locked") }
    }
    func wipe() async { calls.change { $0.append("wipe") } }
  }

  private final class FailingOnce: DataStoring {
    private let base = MemoryDataStore()
    private var hasFailed = false

    func put(data: Data, for key: String) throws {
      defer { hasFailed = true }
      guard hasFailed else { throw TestFailure(name: "full") }
      base.put(data: data, for: key)
    }

    func data(for key: String) throws -> Data? { base.data(for: key) }
    func removeData(for key: String) throws { base.removeData(for: key) }
    func keys() throws -> Set<String> { base.keys() }
  }

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

  @Test func anEventBeginsAfterTheEndOfTheOneBefore() async {
    let slow = Slow()
    manager.register(slow)
    manager.Wipe()
    await slow.calls.wait { $0 == ["willWipe"] }
    manager.Wipe()
    manager.Lock()
    for _ in 0..<1_000 { await Task.yield() }  // Time for an event that does not wait.
    #expect(slow.calls.value == ["willWipe"])
    slow.gate.open()
    await manager.lock()

    #expect(slow.calls.value == ["willWipe", "didWipe", "willWipe", "didWipe", "didLock", "didLock"])
  }

  @Test func anEventThatAwaitsAnotherDoesNotWaitForItself() async {
    let wiping = Wiping(manager)
    manager.register(wiping)
    await manager.lock()
    await wiping.calls.wait { $0.count == 3 }

    #expect(wiping.calls.value == ["didLock", "returned", "didWipe"])
  }

  @Test func theManagerIsToldOfAWipeAfterTheLockBeforeIt() async throws {
    let manager = SlowManager()
    let session = SAPURLSession.observed(by: SAPcpmsLockAndWipeObserver(store: storage, manager: manager))
    service.lock()
    await session.get(service.url)
    await manager.calls.wait { $0 == ["lock"] }
    service.unblock()
    service.wipe()
    await session.get(service.url)
    for _ in 0..<1_000 { await Task.yield() }  // Time for a wipe that does not wait.
    manager.gate.open()
    await manager.calls.wait { $0.count == 3 }

    #expect(manager.calls.value == ["lock", "locked", "wipe"])
  }

  @Test func aContactThatCouldNotBeStoredIsStoredWithTheNextResponse() async {
    let observer = SAPcpmsLockAndWipeObserver(store: CodableStorage(store: FailingOnce()), manager: manager)
    let session = SAPURLSession.observed(by: observer)
    await session.get(service.url)
    #expect(observer.lastContact == nil)
    await session.get(service.url)
    #expect(observer.lastContact != nil)
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
