#if !canImport(Combine)
extension Publishers {
  /// The publisher that ``Publisher/receive(on:options:)`` returns.
  public struct ReceiveOn<Upstream: Publisher, Context: Scheduler>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The scheduler that delivers values.
    public let scheduler: Context
    /// The options of the scheduled work.
    public let options: Context.SchedulerOptions?

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, scheduler: Context, options: Context.SchedulerOptions?) {
      self.upstream = upstream
      self.scheduler = scheduler
      self.options = options
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let downstream = DownstreamSubscription<Output, Failure>(to: subscriber) { [scheduler, options] in
        scheduler.schedule(options: options, $0)
      }
      let receiver = downstream.makeUpstreamSubscriber()
      subscriber.receive(subscription: downstream)
      upstream.receive(subscriber: receiver)
    }
  }

  /// The publisher that ``Publisher/subscribe(on:options:)`` returns.
  public struct SubscribeOn<Upstream: Publisher, Context: Scheduler>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The scheduler on which it subscribes.
    public let scheduler: Context
    /// The options of the scheduled work.
    public let options: Context.SchedulerOptions?

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, scheduler: Context, options: Context.SchedulerOptions?) {
      self.upstream = upstream
      self.scheduler = scheduler
      self.options = options
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let downstream = DownstreamSubscription<Output, Failure>(to: subscriber)
      let receiver = downstream.makeUpstreamSubscriber()
      subscriber.receive(subscription: downstream)
      scheduler.schedule(options: options) { [upstream] in upstream.receive(subscriber: receiver) }
    }
  }

  /// The publisher that ``Publisher/delay(for:tolerance:scheduler:options:)`` returns.
  public struct Delay<Upstream: Publisher, Context: Scheduler>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The delay of each value.
    public let interval: Context.SchedulerTimeType.Stride
    /// The tolerance of the delay.
    public let tolerance: Context.SchedulerTimeType.Stride
    /// The scheduler that delivers values.
    public let scheduler: Context
    /// The options of the scheduled work.
    public let options: Context.SchedulerOptions?

    /// Makes the publisher, like the operator.
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
      let downstream = DownstreamSubscription<Output, Failure>(to: subscriber)
      let line = Locked<[(DownstreamSubscription<Output, Failure>) -> Void]>([])
      // Each scheduled action takes the first element of the queue, so equal times do not change the order.
      let later: (@escaping (DownstreamSubscription<Output, Failure>) -> Void) -> Void = {
        [scheduler, interval, tolerance, options] in
        let event = $0
        line.withLock { $0.append(event) }
        scheduler.schedule(after: scheduler.now.advanced(by: interval), tolerance: tolerance, options: options) {
          line.withLock { line in
            let next = line.isEmpty ? nil : line.removeFirst()
            next?(downstream)
          }
          downstream.drain()
        }
      }
      let receiver = UpstreamSubscriber<Output, Failure> { value in
        later { $0.enqueue(value, withoutDemand: .keep) }
        return .none
      } onCompletion: { completion in
        later { $0.enqueue(completion) }
      }
      downstream.connect(
        onDemand: { receiver.request($0) },
        onCancel: {
          line.withLock { $0 = [] }
          receiver.cancel()
        })
      subscriber.receive(subscription: downstream)
      upstream.receive(subscriber: receiver)
    }
  }
}

extension Publisher {
  /// Delivers values and completion on the scheduler, in order: `receive(on: DispatchQueue.main)`, `RunLoop.main`.
  public func receive<S: Scheduler>(on scheduler: S, options: S.SchedulerOptions? = nil)
    -> Publishers.ReceiveOn<Self, S>
  { Publishers.ReceiveOn(upstream: self, scheduler: scheduler, options: options) }

  /// Subscribes on the scheduler, for a publisher that does work when it starts.
  public func subscribe<S: Scheduler>(on scheduler: S, options: S.SchedulerOptions? = nil)
    -> Publishers.SubscribeOn<Self, S>
  { Publishers.SubscribeOn(upstream: self, scheduler: scheduler, options: options) }

  /// Delivers each value and the completion after a delay, on the scheduler.
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
