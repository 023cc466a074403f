#if !canImport(Combine)
import Synchronization

extension Publishers {
  /// The publisher that ``Publisher/timeout(_:scheduler:options:customError:)`` returns.
  public struct Timeout<Upstream: Publisher, Context: Scheduler>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The maximum time between values.
    public let interval: Context.SchedulerTimeType.Stride
    /// The scheduler that measures the time and delivers values.
    public let scheduler: Context
    /// The options of the scheduled work.
    public let options: Context.SchedulerOptions?
    /// Makes the error; nil to complete instead.
    public let customError: (() -> Failure)?

    /// Makes the publisher, like the operator.
    public init(
      upstream: Upstream, interval: Context.SchedulerTimeType.Stride, scheduler: Context,
      options: Context.SchedulerOptions?, customError: (() -> Failure)?
    ) {
      self.upstream = upstream
      self.interval = interval
      self.scheduler = scheduler
      self.options = options
      self.customError = customError
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let downstream = DownstreamSubscription<Output, Failure>(to: subscriber) { [scheduler, options] in
        scheduler.schedule(options: options, $0)
      }
      let timer = TimeoutTimer(
        downstream: downstream, interval: interval, scheduler: scheduler, options: options, customError: customError)
      let receiver = UpstreamSubscriber<Output, Failure> { value in
        timer.restart()
        downstream.send(value)
        return .none
      } onCompletion: { completion in
        timer.stop()
        downstream.finish(completion)
      }
      timer.connect(receiver)
      downstream.connect(
        onDemand: { receiver.request($0) },
        onCancel: {
          timer.stop()
          receiver.cancel()
        })
      subscriber.receive(subscription: downstream)
      timer.restart()
      upstream.receive(subscriber: receiver)
    }
  }
}

/// Measures the time since the last value.
private final class TimeoutTimer<Output, Failure: Error, Context: Scheduler> {
  private let downstream: DownstreamSubscription<Output, Failure>
  private let interval: Context.SchedulerTimeType.Stride
  private let scheduler: Context
  private let options: Context.SchedulerOptions?
  private let customError: (() -> Failure)?
  private let generation = Mutex(0)
  private let upstream = Locked<UpstreamSubscriber<Output, Failure>?>(nil)

  init(
    downstream: DownstreamSubscription<Output, Failure>, interval: Context.SchedulerTimeType.Stride, scheduler: Context,
    options: Context.SchedulerOptions?, customError: (() -> Failure)?
  ) {
    self.downstream = downstream
    self.interval = interval
    self.scheduler = scheduler
    self.options = options
    self.customError = customError
  }

  func connect(_ receiver: UpstreamSubscriber<Output, Failure>) { upstream.withLock { $0 = receiver } }

  func restart() {
    let current = next()
    scheduler.schedule(
      after: scheduler.now.advanced(by: interval), tolerance: scheduler.minimumTolerance, options: options
    ) { [weak self] in self?.fire(current) }
  }

  func stop() { _ = next() }

  private func next() -> Int {
    generation.withLock { generation in
      generation += 1
      return generation
    }
  }

  private func fire(_ current: Int) {
    guard generation.withLock({ $0 == current }) else { return }
    upstream.withLock { $0 }?.cancel()
    downstream.finish(customError.map { .failure($0()) } ?? .finished)
  }
}

extension Publisher {
  /// Fails with the error, or completes if there is none, when no value has arrived for this time.
  public func timeout<S: Scheduler>(
    _ interval: S.SchedulerTimeType.Stride, scheduler: S, options: S.SchedulerOptions? = nil,
    customError: (() -> Failure)? = nil
  ) -> Publishers.Timeout<Self, S> {
    Publishers.Timeout(
      upstream: self, interval: interval, scheduler: scheduler, options: options, customError: customError)
  }
}
#endif
