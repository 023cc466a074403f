import MartletCombine

/// A publisher of one subscriber that a test drives by hand. It records what it is asked for, and releases its
/// subscriber at the end, as every publisher should.
final class Source<Output, Failure: Error>: Publisher {
  private(set) var asked: [String] = []
  private(set) weak var subscription: Subscription?
  private var deliver: ((Output) -> Subscribers.Demand)?
  private var complete: ((Subscribers.Completion<Failure>) -> Void)?

  final class Subscription: MartletCombine.Subscription, CustomStringConvertible {
    let description = "Source"
    private let source: Source

    init(_ source: Source) { self.source = source }

    func request(_ demand: Subscribers.Demand) { source.asked.append("\(demand)") }

    func cancel() {
      source.asked.append("cancel")
      source.release()
    }
  }

  func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    deliver = { subscriber.receive($0) }
    complete = { subscriber.receive(completion: $0) }
    let subscription = Subscription(self)
    self.subscription = subscription
    subscriber.receive(subscription: subscription)
  }

  /// Delivers a value, whether it was asked for or not, and returns what the subscriber requests in return.
  @discardableResult
  func send(_ value: Output) -> Subscribers.Demand { deliver?(value) ?? .none }

  func send(completion: Subscribers.Completion<Failure>) {
    let complete = complete
    release()
    complete?(completion)
  }

  private func release() { (deliver, complete) = (nil, nil) }
}
