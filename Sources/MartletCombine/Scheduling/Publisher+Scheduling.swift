#if !canImport(Combine)
extension Publishers {
  /// What ``Publisher/receive(on:options:)`` returns.
  public struct ReceiveOn<Upstream: Publisher, Context: Scheduler>: Publisher {
    /// What the upstream delivers.
    public typealias Output = Upstream.Output
    /// How the upstream fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream
    /// Where they are delivered.
    public let scheduler: Context
    /// How the scheduler is to run what it runs.
    public let options: Context.SchedulerOptions?

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream, scheduler: Context, options: Context.SchedulerOptions?) {
      self.upstream = upstream
      self.scheduler = scheduler
      self.options = options
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let outlet = Outlet<Output, Failure>(to: subscriber) { [scheduler, options] in
        scheduler.schedule(options: options, $0)
      }
      let inlet = outlet.makeInlet()
      subscriber.receive(subscription: outlet)
      upstream.receive(subscriber: inlet)
    }
  }

  /// What ``Publisher/subscribe(on:options:)`` returns.
  public struct SubscribeOn<Upstream: Publisher, Context: Scheduler>: Publisher {
    /// What the upstream delivers.
    public typealias Output = Upstream.Output
    /// How the upstream fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream
    /// Where it is subscribed to.
    public let scheduler: Context
    /// How the scheduler is to run what it runs.
    public let options: Context.SchedulerOptions?

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream, scheduler: Context, options: Context.SchedulerOptions?) {
      self.upstream = upstream
      self.scheduler = scheduler
      self.options = options
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let outlet = Outlet<Output, Failure>(to: subscriber)
      let inlet = outlet.makeInlet()
      subscriber.receive(subscription: outlet)
      scheduler.schedule(options: options) { [upstream] in upstream.receive(subscriber: inlet) }
    }
  }

  /// What ``Publisher/delay(for:tolerance:scheduler:options:)`` returns.
  public struct Delay<Upstream: Publisher, Context: Scheduler>: Publisher {
    /// What the upstream delivers.
    public typealias Output = Upstream.Output
    /// How the upstream fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream
    /// How much later each of them is delivered.
    public let interval: Context.SchedulerTimeType.Stride
    /// How much later still it may be.
    public let tolerance: Context.SchedulerTimeType.Stride
    /// Where they are delivered.
    public let scheduler: Context
    /// How the scheduler is to run what it runs.
    public let options: Context.SchedulerOptions?

    /// Makes one of its parts; an operator is the usual way.
    public init(
      upstream: Upstream, interval: Context.SchedulerTimeType.Stride, tolerance: Context.SchedulerTimeType.Stride,
      scheduler: Context, options: Context.SchedulerOptions? = nil
    ) {
      self.upstream = upstream
      self.interval = interval
      self.tolerance = tolerance
      self.scheduler = scheduler
      self.options = options
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let outlet = Outlet<Output, Failure>(to: subscriber)
      let line = Guarded<[(Outlet<Output, Failure>) -> Void]>([])
      // Whichever of the scheduled actions comes first takes the first of the line: equal times change no order.
      let later: (@escaping (Outlet<Output, Failure>) -> Void) -> Void = { [scheduler, interval, tolerance, options] in
        let event = $0
        line.withLock { $0.append(event) }
        scheduler.schedule(after: scheduler.now.advanced(by: interval), tolerance: tolerance, options: options) {
          line.withLock { line in
            let next = line.isEmpty ? nil : line.removeFirst()
            next?(outlet)
          }
          outlet.drain()
        }
      }
      let inlet = Inlet<Output, Failure> { value in
        later { $0.offer(value, unasked: .keep) }
        return .none
      } onCompletion: { completion in
        later { $0.offer(completion) }
      }
      outlet.connect(
        onDemand: { inlet.request($0) },
        onCancel: {
          line.withLock { $0 = [] }
          inlet.cancel()
        })
      subscriber.receive(subscription: outlet)
      upstream.receive(subscriber: inlet)
    }
  }
}

extension Publisher {
  /// Delivers values and completion on the scheduler, in their order: `receive(on: DispatchQueue.main)`, `RunLoop.main`.
  public func receive<S: Scheduler>(on scheduler: S, options: S.SchedulerOptions? = nil)
    -> Publishers.ReceiveOn<Self, S>
  { Publishers.ReceiveOn(upstream: self, scheduler: scheduler, options: options) }

  /// Subscribes on the scheduler, for a publisher whose start is work.
  public func subscribe<S: Scheduler>(on scheduler: S, options: S.SchedulerOptions? = nil)
    -> Publishers.SubscribeOn<Self, S>
  { Publishers.SubscribeOn(upstream: self, scheduler: scheduler, options: options) }

  /// Delivers each value and the completion later by this time, on the scheduler.
  public func delay<S: Scheduler>(
    for interval: S.SchedulerTimeType.Stride, tolerance: S.SchedulerTimeType.Stride? = nil, scheduler: S,
    options: S.SchedulerOptions? = nil
  ) -> Publishers.Delay<Self, S> {
    Publishers.Delay(
      upstream: self, interval: interval, tolerance: tolerance ?? scheduler.minimumTolerance, scheduler: scheduler,
      options: options)
  }
}
#endif
