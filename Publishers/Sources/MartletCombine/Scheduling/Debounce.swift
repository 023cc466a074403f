#if !canImport(Darwin)
extension Publishers {
  /// The publisher that ``Publisher/debounce(for:scheduler:options:)`` returns.
  public struct Debounce<Upstream: Publisher, Context: Scheduler>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The time that must pass after a value without another one.
    public let dueTime: Context.SchedulerTimeType.Stride
    /// The scheduler that measures the time and delivers values.
    public let scheduler: Context
    /// The options of the scheduled work.
    public let options: Context.SchedulerOptions?

    /// Makes the publisher, like the operator.
    public init(
      upstream: Upstream, dueTime: Context.SchedulerTimeType.Stride, scheduler: Context,
      options: Context.SchedulerOptions?
    ) {
      self.upstream = upstream
      self.dueTime = dueTime
      self.scheduler = scheduler
      self.options = options
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.subscribe(
        DebounceRelay(to: subscriber, dueTime: dueTime, scheduler: scheduler, options: options))
    }
  }
}

/// Keeps the latest value until its time has come: in the timer's closure, so that a timer delivers no other value than
/// the one it was set for.
private final class DebounceRelay<Downstream: Subscriber, Context: Scheduler>: Relay<Downstream.Input, Downstream> {
  private let scheduler: Context
  private let timer: ScheduledAction<Context>

  init(
    to downstream: Downstream, dueTime: Context.SchedulerTimeType.Stride, scheduler: Context,
    options: Context.SchedulerOptions?
  ) {
    self.scheduler = scheduler
    timer = ScheduledAction(interval: dueTime, scheduler: scheduler, options: options)
    super.init(to: downstream, name: "Debounce", counting: true)
  }

  override func attached() {
    start()
    upstream.request(.unlimited)
  }

  override func receive(_ input: Downstream.Input) -> Subscribers.Demand {
    if lock.withLock({ isReceiving }) { timer.set { [self] in send(input) } }
    return .none
  }

  /// The pending value is dropped.
  override func end(_ completion: Subscribers.Completion<Downstream.Failure>) {
    timer.stop()
    scheduler.schedule { [self] in finish(completion) }
  }

  override func didClose() {
    super.didClose()
    timer.stop()
  }
}

extension Publisher {
  /// Delivers a value if no other one follows within this time, for example text when the user stops typing.
  ///
  /// Unlimited values are requested upstream. A value is dropped in three cases: another one follows within the time,
  /// none is requested when it is due, or the upstream publisher completes before. The completion is not delayed.
  ///
  /// - Parameters:
  ///   - dueTime: the time that must pass without another value.
  ///   - scheduler: the scheduler that measures the time and delivers values and completion.
  ///   - options: the options of the scheduled work.
  public func debounce<S: Scheduler>(
    for dueTime: S.SchedulerTimeType.Stride, scheduler: S, options: S.SchedulerOptions? = nil
  ) -> Publishers.Debounce<Self, S> {
    Publishers.Debounce(upstream: self, dueTime: dueTime, scheduler: scheduler, options: options)
  }
}
#endif
