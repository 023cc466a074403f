#if canImport(Combine)
public import Combine
#endif

/// The values of an asynchronous stream, which is made when a subscriber first asks for one, anew for every subscriber, and
/// given up with the subscription. A value that nobody has asked for yet gives way to the next: for states, of which the
/// latest counts.
///
/// ```swift
/// LatestPublisher { counter.activity }.receive(on: DispatchQueue.main).sink { spinner.isHidden = !$0 }
/// ```
public struct LatestPublisher<Output: Sendable>: Publisher {
  /// It never fails.
  public typealias Failure = Never

  private let makeValues: @Sendable () -> AsyncStream<Output>

  /// Makes a publisher of a stream's values.
  public init(_ makeValues: @escaping @Sendable () -> AsyncStream<Output>) { self.makeValues = makeValues }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Never {
    let outlet = Outlet<Output, Never>(to: subscriber)
    let task = LazyTask()
    let begin = { [makeValues, weak outlet] in
      guard let outlet else { return }
      task.start {
        for await value in makeValues() { outlet.sendLatest(value) }
        outlet.finish(.finished)
      }
    }
    outlet.connect(onDemand: { _ in begin() }, onCancel: { task.cancel() })
    subscriber.receive(subscription: outlet)
  }
}
