import Foundation
import MartletCombine
import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("The activity indicator", .timeLimit(.minutes(5)))
struct NetworkActivityTests {
  private let controller = NetworkActivityIndicatorController()
  private var observer: NetworkActivityIndicatorObserver { NetworkActivityIndicatorObserver(controller: controller) }

  private func wait(for isVisible: Bool) async {
    for await now in controller.visibility where now == isVisible { return }
  }

  @Test func itIsVisibleWhileATaskRuns() async throws {
    let service = try MobileServices()
    let gate = Gate()
    service.answer("/", with: .text("").held(by: gate), times: 2)
    let sessions = (0..<2).map { _ in SAPURLSession.observed(by: observer) }

    async let first = sessions[0].get(service.url)
    async let second = sessions[1].get(service.url)
    _ = try await service.request(2)
    #expect(controller.isVisible)
    gate.open()
    _ = await (first, second)
    await wait(for: false)

    #expect(!controller.isVisible)
  }

  private final class Refusal: SAPURLSessionObserving {
    struct Error: Swift.Error {}

    func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
      completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
    ) { completionHandler(.cancel(Error())) }
  }

  @Test func everyCompletionEndsTheActivity() async throws {
    let service = try MobileServices()
    service.answer("/backend/x", with: .csrfRequired())
    let session = SAPURLSession.observed(by: observer, CSRFTokenObserver(rootUrl: service.url))

    await session.post(service.url("/backend/x"))  // sent again
    await session.get(service.url("/backend/none"))  // refused
    service.answer("/cut", with: .hangUp, times: 5)
    #expect(await session.get(service.url("/cut")).error != nil)
    _ = await session.outcome(of: URLRequest(url: service.url)) { $0.cancel() }
    session.register(Refusal())
    #expect(await session.get(service.url).error is Refusal.Error)
    await wait(for: false)

    #expect(!controller.isVisible)
  }

  @Test func aTaskOfAnUnregisteredObserverIsCountedToItsEnd() async throws {
    let service = try MobileServices()
    let gate = Gate()
    service.answer("/", with: .text("").held(by: gate))
    let observer = observer
    let session = SAPURLSession.observed(by: observer)

    async let ending = session.get(service.url)
    _ = try await service.request(1)
    session.unregister(observer)
    #expect(controller.isVisible)
    gate.open()
    _ = await ending
    await wait(for: false)
  }

  @Test func theAppsOwnActivitiesNeverGoBelowZero() {
    controller.shouldHideActivityIndicator()
    #expect(!controller.isVisible)
    controller.shouldShowActivityIndicator()
    controller.shouldShowActivityIndicator()
    controller.shouldHideActivityIndicator()
    #expect(controller.isVisible)
    controller.shouldHideActivityIndicator()
    controller.shouldHideActivityIndicator()
    #expect(!controller.isVisible)
    controller.shouldShowActivityIndicator()
    #expect(controller.isVisible)
  }

  @Test func thePublisherPublishesChanges() {
    let seen = Shared<[Bool]>([])
    let subscription = controller.visibilityPublisher.sink { isVisible in seen.change { $0.append(isVisible) } }
    controller.shouldShowActivityIndicator()
    controller.shouldShowActivityIndicator()
    controller.shouldHideActivityIndicator()
    controller.shouldHideActivityIndicator()
    subscription.cancel()
    controller.shouldShowActivityIndicator()
    #expect(seen.value == [false, true, false])
  }

  @Test func theSharedControllerIsThereForAll() {
    #expect(NetworkActivityIndicatorController.shared === NetworkActivityIndicatorController.shared)
    #expect(NetworkActivityIndicatorObserver().copy() is NetworkActivityIndicatorObserver)
  }
}
