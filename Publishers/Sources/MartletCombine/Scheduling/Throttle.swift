#if !canImport(Darwin)
extension Publishers {
  /// The publisher that ``Publisher/throttle(for:scheduler:latest:)`` returns.
  public struct Throttle<Upstream: Publisher, Context: Scheduler>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The minimum time between deliveries.
    public let interval: Context.SchedulerTimeType.Stride
    /// The scheduler that measures the time and delivers values.
    public let scheduler: Context
    /// Whether the last value of an interval is delivered, or the first.
    public let latest: Bool

    /// Makes the publisher, like the operator.
    public init(
      upstream: Upstream, interval: Context.SchedulerTimeType.Stride, scheduler: Context, latest: Bool
    ) {
      self.upstream = upstream
      self.interval = interval
      self.scheduler = scheduler
      self.latest = latest
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.subscribe(
        ThrottleRelay(to: subscriber, interval: interval, scheduler: scheduler, keepsLatest: latest))
    }
  }
}

/// Delivers one value in each interval.
private final class ThrottleRelay<Downstream: Subscriber, Context: Scheduler>: Relay<Downstream.Input, Downstream> {
  private let interval: Context.SchedulerTimeType.Stride
  private let scheduler: Context
  private let keepsLatest: Bool
  /// The next value to deliver. A delivery is scheduled while there is one.
  private var value: Downstream.Input?
  private var ending: Subscribers.Completion<Downstream.Failure>?
  /// The time from which the next value may be delivered.
  private var earliest: Context.SchedulerTimeType

  init(
    to downstream: Downstream, interval: Context.SchedulerTimeType.Stride, scheduler: Context, keepsLatest: Bool
  ) {
    self.interval = interval
    self.scheduler = scheduler
    self.keepsLatest = keepsLatest
    earliest = scheduler.now
    super.init(to: downstream, name: "Throttle", counting: true)
  }

  override func attached() {
    let now = scheduler.now
    lock.withLock { earliest = now }
    start()
    upstream.request(.unlimited)
  }

  override func receive(_ input: Downstream.Input) -> Subscribers.Demand {
    guard lock.withLock({ isReceiving }) else { return .none }
    var old: Downstream.Input?
    schedule { _ in
      guard isReceiving, demand > .none else { return nil }
      old = value
      if old == nil || keepsLatest { value = input }
      return old == nil ? earliest : nil
    }
    withExtendedLifetime(old) {}
    return .none
  }

  override func end(_ completion: Subscribers.Completion<Downstream.Failure>) {
    schedule { now in
      ending = completion
      return value == nil ? now : nil
    }
  }

  /// Schedules a delivery, unless the closure returns nil. It is called while the lock is held.
  private func schedule(_ due: (_ now: Context.SchedulerTimeType) -> Context.SchedulerTimeType?) {
    let now = scheduler.now
    guard let due = lock.withLock({ due(now) }) else { return }
    if due > now {
      scheduler.schedule(after: due, tolerance: scheduler.minimumTolerance) { [weak self] in self?.deliverNext() }
    } else {
      scheduler.schedule { [weak self] in self?.deliverNext() }
    }
  }

  private func deliverNext() {
    guard let isLast = lock.withLock({ isOpen ? ending != nil : nil }) else { return }
    let next = isLast ? nil : scheduler.now.advanced(by: interval)
    var value: Downstream.Input?
    let permit = lock.withLock { () -> DeliveryPermit? in
      if let next { earliest = next }
      value = self.value.take()
      let permit = value.flatMap { offer($0) }
      if let ending { enqueue(ending) }
      return permit
    }
    if let value, let permit { deliver(value, by: permit, receivingDemand: request) } else { deliver() }
  }

  override func didClose() {
    super.didClose()
    let released = lock.withLock { value.take() }
    withExtendedLifetime(released) {}
  }
}

extension Publisher {
  /// Delivers at most one value in each interval. The first one is delivered immediately. At the end of an interval,
  /// the latest or the first of the values that arrived in it is delivered.
  ///
  /// Unlimited values are requested upstream. Other values are dropped, including values that arrive while none is
  /// requested. The completion is delivered together with the pending value, or immediately if there is none.
  ///
  /// - Parameters:
  ///   - interval: the minimum time between deliveries.
  ///   - scheduler: the scheduler that measures the time and delivers values and completion.
  ///   - latest: whether the last value of an interval is delivered, or the first.
  public func throttle<S: Scheduler>(
    for interval: S.SchedulerTimeType.Stride, scheduler: S, latest: Bool
  ) -> Publishers.Throttle<Self, S> {
    Publishers.Throttle(upstream: self, interval: interval, scheduler: scheduler, latest: latest)
  }
}
#endif
