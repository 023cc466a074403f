#if !canImport(Darwin)
extension Publishers {
  /// The publisher that ``Publisher/measureInterval(using:options:)`` returns.
  public struct MeasureInterval<Upstream: Publisher, Context: Scheduler>: Publisher {
    /// The output type: an interval of the scheduler's time.
    public typealias Output = Context.SchedulerTimeType.Stride
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The scheduler whose time is measured.
    public let scheduler: Context

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, scheduler: Context) {
      self.upstream = upstream
      self.scheduler = scheduler
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      var last = scheduler.now
      upstream.subscribe(subscriber, through: "MeasureInterval") { [scheduler] _, link in
        let (before, now) = (last, scheduler.now)
        last = now
        link.request(link.emit(before.distance(to: now)))
        return .none
      }
    }
  }
}

extension Publisher {
  /// Delivers, for each value, the time since the value before it, and since the subscription for the first one.
  ///
  /// - Parameters:
  ///   - scheduler: the scheduler whose time is measured.
  ///   - options: not used.
  public func measureInterval<Context: Scheduler>(
    using scheduler: Context, options: Context.SchedulerOptions? = nil
  ) -> Publishers.MeasureInterval<Self, Context> {
    Publishers.MeasureInterval(upstream: self, scheduler: scheduler)
  }
}
#endif
