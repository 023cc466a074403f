#if !canImport(Darwin)
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
      upstream.subscribe(
        TimeoutRelay(
          to: subscriber, timer: ScheduledAction(interval: interval, scheduler: scheduler, options: options),
          customError: customError
        ) { [scheduler, options] in scheduler.schedule(options: options, $0) })
    }
  }
}

/// Ends upstream and the subscriber if no value arrives in time.
private final class TimeoutRelay<Downstream: Subscriber, Context: Scheduler>: LaterRelay<Downstream> {
  private let timer: ScheduledAction<Context>
  private var customError: (() -> Downstream.Failure)?
  private var isRequested = false

  init(
    to downstream: Downstream, timer: ScheduledAction<Context>, customError: (() -> Downstream.Failure)?,
    schedule: @escaping (@escaping () -> Void) -> Void
  ) {
    self.timer = timer
    self.customError = customError
    super.init(to: downstream, name: "Timeout", schedule: schedule)
  }

  override func attached() {
    restart()
    super.attached()
  }

  private func restart() {
    guard !lock.withLock({ isClosed }) else { return }
    timer.set { [self] in
      let makeError = lock.withLock { customError }
      upstream.cancel()
      finish(makeError.map { .failure($0()) } ?? .finished)
    }
  }

  override func request(_ demand: Subscribers.Demand) {
    let isFirst = lock.withLock { () -> Bool in
      defer { isRequested = true }
      return !isRequested
    }
    if isFirst { restart() }
    upstream.request(demand)
  }

  override func receive(_ input: Downstream.Input) -> Subscribers.Demand {
    guard lock.withLock({ isReceiving }) else { return .none }
    restart()
    return super.receive(input)
  }

  override func end(_ completion: Subscribers.Completion<Downstream.Failure>) {
    timer.stop()
    super.end(completion)
  }

  override func didClose() {
    timer.stop()
    super.didClose()
    let released = lock.withLock { customError.take() }
    withExtendedLifetime(released) {}
  }
}

extension Publisher {
  /// Fails with the error, or finishes if there is none, when no value has arrived for this time.
  ///
  /// The time begins with the subscription, and anew with the first request and with each value. Values and the
  /// completion are delivered on the scheduler.
  ///
  /// - Parameters:
  ///   - interval: the maximum time between values.
  ///   - scheduler: the scheduler that measures the time and delivers values and completion.
  ///   - options: the options of the scheduled work.
  ///   - customError: makes the error; nil to finish instead.
  public func timeout<S: Scheduler>(
    _ interval: S.SchedulerTimeType.Stride, scheduler: S, options: S.SchedulerOptions? = nil,
    customError: (() -> Failure)? = nil
  ) -> Publishers.Timeout<Self, S> {
    Publishers.Timeout(
      upstream: self, interval: interval, scheduler: scheduler, options: options, customError: customError)
  }
}
#endif
