import Combine
import Foundation
import Testing
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A view model as it stands in apps, in their language mode, without an edit.
final class SearchModel: ObservableObject {
  @Published var query = ""
  @Published private(set) var results: [String] = []
  @Published private(set) var isBusy = false
  private var cancellables = Set<AnyCancellable>()

  init(search: @escaping (String) -> AnyPublisher<[String], URLError>, on queue: DispatchQueue) {
    $query
      .removeDuplicates()
      .filter { !$0.isEmpty }
      .debounce(for: .milliseconds(1), scheduler: queue)
      .handleEvents(receiveOutput: { [weak self] _ in self?.isBusy = true })
      .map { query in search(query).catch { _ in Just([]) } }
      .switchToLatest()
      .receive(on: queue)
      .sink { [weak self] results in
        self?.results = results
        self?.isBusy = false
      }
      .store(in: &cancellables)
  }
}

@Suite(.timeLimit(.minutes(5)))
struct MovedCodeTests {
  @Test func aViewModelSearchesAsItDoesInAnApp() async {
    let queue = DispatchQueue(label: "model")
    let model = SearchModel(
      search: { query in Just([query, query.uppercased()]).setFailureType(to: URLError.self).eraseToAnyPublisher() },
      on: queue)

    model.query = "rain"

    let found = await model.$results.values.first { !$0.isEmpty }
    #expect(found == ["rain", "RAIN"])
  }

  @Test func aSubscriberComparesDemandWithNumbers() {
    final class Numbers: Subscription {
      func request(_ demand: Subscribers.Demand) { requested = demand > 0 && demand == 3 }
      func cancel() {}
      var requested = false
    }
    let numbers = Numbers()

    numbers.request(.max(3))

    #expect(numbers.requested)
  }

  @Test func aTimerConnectsWithItsFirstSubscriber() async {
    let timer = Timer.publish(every: 0.001, on: .main, in: .common).autoconnect()

    var dates: [Date] = []
    for await date in timer.prefix(3).values { dates.append(date) }

    #expect(dates.count == 3 && dates == dates.sorted())
  }

  @Test func aNotificationArrivesUntilTheSubscriptionIsReleased() {
    let center = NotificationCenter()
    let name = Notification.Name("changed")
    var received: [Int] = []
    var subscription: AnyCancellable? = center.publisher(for: name)
      .compactMap { $0.userInfo?["number"] as? Int }
      .sink { received.append($0) }

    center.post(name: name, object: nil, userInfo: ["number": 1])
    withExtendedLifetime(subscription) {}
    subscription = nil
    center.post(name: name, object: nil, userInfo: ["number": 2])

    #expect(received == [1])
  }

  @Test func workOfAnOperationQueueIsDelivered() async {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1

    let sum = await [1, 2, 3].publisher.receive(on: queue).reduce(0, +).values.first { _ in true }

    #expect(sum == 6)
  }

  @Test func theMainQueueDeliversInAProgramWithAnAsyncEntryPoint() async {
    // On Linux, the main queue of such a program runs on any thread.
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    func isMain() -> Bool { DispatchQueue.getSpecific(key: key) == true }

    let onQueue = await Just(1).receive(on: DispatchQueue.main).map { _ in isMain() }.values.first { _ in true }
    let onLoop = await Just(1).receive(on: RunLoop.main).map { _ in isMain() }.values.first { _ in true }

    #expect(onQueue == true && onLoop == true)
  }
}
