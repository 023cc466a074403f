#if !canImport(Combine)
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
      let downstream = DownstreamSubscription<Output, Failure>(to: subscriber)
      // Each value has its own object, to check whether it is still the last.
      let latest = Locked<Candidate<Output>?>(nil)
      let receiver = UpstreamSubscriber<Output, Failure> { [scheduler, dueTime, options] value in
        let candidate = Candidate(value: value)
        _ = latest.replace(by: candidate)
        scheduler.schedule(
          after: scheduler.now.advanced(by: dueTime), tolerance: scheduler.minimumTolerance, options: options
        ) {
          latest.withLock { if $0 === candidate { downstream.enqueue(candidate.value, withoutDemand: .discard) } }
          downstream.drain()
        }
        return .none
      } onCompletion: { [scheduler, options] completion in
        _ = latest.take()
        scheduler.schedule(options: options) { downstream.finish(completion) }
      }
      downstream.connect(onCancel: {
        _ = latest.take()
        receiver.cancel()
      })
      subscriber.receive(subscription: downstream)
      receiver.request(.unlimited)
      upstream.receive(subscriber: receiver)
    }
  }

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
      let downstream = DownstreamSubscription<Output, Failure>(to: subscriber)
      let throttler = Throttler<Output, Failure, Context>(
        downstream: downstream, interval: interval, scheduler: scheduler)
      let receiver = UpstreamSubscriber<Output, Failure> { [latest] value in
        throttler.take(value, replacing: latest)
        return .none
      } onCompletion: {
        throttler.end($0)
      }
      downstream.connect(onCancel: { receiver.cancel() })
      subscriber.receive(subscription: downstream)
      receiver.request(.unlimited)
      upstream.receive(subscriber: receiver)
    }
  }
}

private final class Candidate<Value> {
  let value: Value

  init(value: Value) { self.value = value }
}

/// Delivers one value in each interval.
private final class Throttler<Output, Failure: Error, Context: Scheduler> {
  private struct State {
    /// The next value to deliver. A delivery is scheduled while there is one.
    var value: Output?
    var ending: Subscribers.Completion<Failure>?
    var earliest: Context.SchedulerTimeType?
  }

  private let downstream: DownstreamSubscription<Output, Failure>
  private let interval: Context.SchedulerTimeType.Stride
  private let scheduler: Context
  private let state = Locked(State())

  init(
    downstream: DownstreamSubscription<Output, Failure>, interval: Context.SchedulerTimeType.Stride, scheduler: Context
  ) {
    self.downstream = downstream
    self.interval = interval
    self.scheduler = scheduler
  }

  func take(_ value: Output, replacing isLatestWanted: Bool) {
    guard downstream.outstanding > .none else { return }
    let (old, earliest) = state.withLock { state in
      let old = state.value
      if old == nil || isLatestWanted { state.value = .some(value) }
      return (old, state.earliest)
    }
    guard old == nil else { return }
    if let earliest, earliest > scheduler.now {
      scheduler.schedule(after: earliest) { self.deliver() }
    } else {
      scheduler.schedule { self.deliver() }
    }
  }

  func end(_ completion: Subscribers.Completion<Failure>) {
    let isIdle = state.withLock { state in
      state.ending = completion
      return state.value == nil
    }
    if isIdle { scheduler.schedule { self.deliver() } }
  }

  private func deliver() {
    let earliest = scheduler.now.advanced(by: interval)
    let delivered = state.withLock { state in
      if let value = state.value { downstream.enqueue(value, withoutDemand: .discard) }
      if let ending = state.ending { downstream.enqueue(ending) }
      state.earliest = earliest
      defer { state.value = nil }
      return state.value
    }
    withExtendedLifetime(delivered) {}  // Released outside the lock, because deinitializers may call other code.
    downstream.drain()
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

  /// Delivers at most one value in each interval. The first one is delivered immediately. At the end of an interval,
  /// the latest or the first of the values that arrived in it is delivered.
  ///
  /// Unlimited values are requested upstream. Other values are dropped, including those that arrive while none is
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
