#if canImport(Darwin)
public import Combine
#endif

/// Delivers the values of an asynchronous stream. The stream is created when a subscriber first requests a value, once
/// for every subscriber, and released with the subscription. The next value replaces one that was not requested yet.
/// Use this for states, if only the latest matters.
///
/// ```swift
/// LatestPublisher { counter.activity }.receive(on: DispatchQueue.main).sink { spinner.isHidden = !$0 }
/// ```
public struct LatestPublisher<Output: Sendable>: Publisher {
  /// The publisher never fails.
  public typealias Failure = Never

  private let makeValues: @Sendable () -> AsyncStream<Output>

  /// Makes a publisher of the values of a stream.
  public init(_ makeValues: @escaping @Sendable () -> AsyncStream<Output>) { self.makeValues = makeValues }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Never {
    CallbackPublisher<Output, Never>("LatestPublisher", starting: .withTheFirstRequest) { [makeValues] receiver in
      let task = Task {
        for await value in makeValues() { receiver.sendLatest(value) }
        receiver.finish(.finished)
      }
      return { task.cancel() }
    }.receive(subscriber: subscriber)
  }
}
