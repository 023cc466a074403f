#if !canImport(Combine)
extension Publishers {
  /// What ``Publisher/debounce(for:scheduler:options:)`` returns.
  public struct Debounce<Upstream: Publisher, Context: Scheduler>: Publisher {
    /// What the upstream delivers.
    public typealias Output = Upstream.Output
    /// How the upstream fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream
    /// How long no other value may come after one that is delivered.
    public let dueTime: Context.SchedulerTimeType.Stride
    /// What measures the time, and where values are delivered.
    public let scheduler: Context
    /// How the scheduler is to run what it runs.
    public let options: Context.SchedulerOptions?

    /// Makes one of its parts; an operator is the usual way.
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
      let outlet = Outlet<Output, Failure>(to: subscriber)
      // An object of its own for each value tells whether it is still the last.
      let latest = Guarded<Candidate<Output>?>(nil)
      let inlet = Inlet<Output, Failure> { [scheduler, dueTime, options] value in
        let candidate = Candidate(value: value)
        _ = latest.replace(by: candidate)
        scheduler.schedule(
          after: scheduler.now.advanced(by: dueTime), tolerance: scheduler.minimumTolerance, options: options
        ) {
          latest.withLock { if $0 === candidate { outlet.offer(candidate.value, unasked: .forget) } }
          outlet.drain()
        }
        return .none
      } onCompletion: { [scheduler, options] completion in
        _ = latest.take()
        scheduler.schedule(options: options) { outlet.finish(completion) }
      }
      outlet.connect(onCancel: {
        _ = latest.take()
        inlet.cancel()
      })
      subscriber.receive(subscription: outlet)
      inlet.request(.unlimited)
      upstream.receive(subscriber: inlet)
    }
  }

  /// What ``Publisher/throttle(for:scheduler:latest:)`` returns.
  public struct Throttle<Upstream: Publisher, Context: Scheduler>: Publisher {
    /// What the upstream delivers.
    public typealias Output = Upstream.Output
    /// How the upstream fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream
    /// The time from one delivery to the next, at least.
    public let interval: Context.SchedulerTimeType.Stride
    /// What measures the time, and where values are delivered.
    public let scheduler: Context
    /// Whether the last value of an interval is delivered, or the first.
    public let latest: Bool

    /// Makes one of its parts; an operator is the usual way.
    public init(
      upstream: Upstream, interval: Context.SchedulerTimeType.Stride, scheduler: Context, latest: Bool
    ) {
      self.upstream = upstream
      self.interval = interval
      self.scheduler = scheduler
      self.latest = latest
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let outlet = Outlet<Output, Failure>(to: subscriber)
      let valve = Valve<Output, Failure, Context>(outlet: outlet, interval: interval, scheduler: scheduler)
      let inlet = Inlet<Output, Failure> { [latest] value in
        valve.take(value, replacing: latest)
        return .none
      } onCompletion: {
        valve.end($0)
      }
      outlet.connect(onCancel: { inlet.cancel() })
      subscriber.receive(subscription: outlet)
      inlet.request(.unlimited)
      upstream.receive(subscriber: inlet)
    }
  }
}

private final class Candidate<Value> {
  let value: Value

  init(value: Value) { self.value = value }
}

/// Lets one value pass in an interval.
private final class Valve<Output, Failure: Error, Context: Scheduler> {
  private struct State {
    /// What is delivered next; a delivery is scheduled as long as there is one.
    var value: Output?
    var ending: Subscribers.Completion<Failure>?
    var earliest: Context.SchedulerTimeType?
  }

  private let outlet: Outlet<Output, Failure>
  private let interval: Context.SchedulerTimeType.Stride
  private let scheduler: Context
  private let state = Guarded(State())

  init(outlet: Outlet<Output, Failure>, interval: Context.SchedulerTimeType.Stride, scheduler: Context) {
    self.outlet = outlet
    self.interval = interval
    self.scheduler = scheduler
  }

  func take(_ value: Output, replacing isLatestWanted: Bool) {
    guard outlet.outstanding > .none else { return }
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
      if let value = state.value { outlet.offer(value, unasked: .forget) }
      if let ending = state.ending { outlet.offer(ending) }
      state.earliest = earliest
      defer { state.value = nil }
      return state.value
    }
    withExtendedLifetime(delivered) {}  // its end may call out, and must not do that under the lock
    outlet.drain()
  }
}

extension Publisher {
  /// Delivers a value when no other has followed it for this time: what somebody types, once they pause.
  ///
  /// Everything is asked for upstream. A value that another one follows in time is dropped, and so is one that nobody has
  /// asked for when it is due, and one that still waits when the upstream completes: the completion does not wait for it.
  ///
  /// - Parameters:
  ///   - dueTime: how long no other value may come.
  ///   - scheduler: what measures the time, and where values and completion are delivered.
  ///   - options: how the scheduler is to run what it runs.
  public func debounce<S: Scheduler>(
    for dueTime: S.SchedulerTimeType.Stride, scheduler: S, options: S.SchedulerOptions? = nil
  ) -> Publishers.Debounce<Self, S> {
    Publishers.Debounce(upstream: self, dueTime: dueTime, scheduler: scheduler, options: options)
  }

  /// Delivers at most one value in this time: the first at once, and then, when the time is over, the latest or the first of
  /// those that came meanwhile.
  ///
  /// Everything is asked for upstream. The other values are dropped, and so are those that come while nobody has asked for
  /// one. The completion comes with the value that waits, when that is due; at once where none waits.
  ///
  /// - Parameters:
  ///   - interval: the time from one delivery to the next, at least.
  ///   - scheduler: what measures the time, and where values and completion are delivered.
  ///   - latest: whether the last value of the time is delivered, or the first.
  public func throttle<S: Scheduler>(
    for interval: S.SchedulerTimeType.Stride, scheduler: S, latest: Bool
  ) -> Publishers.Throttle<Self, S> {
    Publishers.Throttle(upstream: self, interval: interval, scheduler: scheduler, latest: latest)
  }
}
#endif
