#if !canImport(Darwin)
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
      upstream.subscribe(
        LaterRelay(to: subscriber, name: "ReceiveOn") { [scheduler, options] in
          scheduler.schedule(options: options, $0)
        })
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
      upstream.subscribe(
        LaterRelay(to: subscriber, name: "Delay") { [scheduler, interval, tolerance, options] in
          scheduler.schedule(after: scheduler.now.advanced(by: interval), tolerance: tolerance, options: options, $0)
        })
    }
  }
}

/// Passes values and the completion on in scheduled actions, one for each.
///
/// Each action takes the next event in line. So the order is kept even if the scheduler runs actions concurrently, and
/// a cancellation releases the values at once. The actions keep the subscriber until they have run.
class LaterRelay<Downstream: Subscriber>: Relay<Downstream.Input, Downstream> {
  private let schedule: (@escaping () -> Void) -> Void
  private var values = FIFO<Downstream.Input>()
  /// Follows the values.
  private var completion: Subscribers.Completion<Downstream.Failure>?

  init(to downstream: Downstream, name: String, schedule: @escaping (@escaping () -> Void) -> Void) {
    self.schedule = schedule
    super.init(to: downstream, name: name, counting: false)
  }

  override func receive(_ input: Downstream.Input) -> Subscribers.Demand {
    let isAccepted = lock.withLock {
      if isReceiving { values.append(input) }
      return isReceiving
    }
    if isAccepted { schedule { [self] in deliverNext() } }
    return .none
  }

  override func end(_ completion: Subscribers.Completion<Downstream.Failure>) {
    lock.withLock { if !isClosed { self.completion = completion } }
    schedule { [self] in deliverNext() }
  }

  private func deliverNext() {
    var value: Downstream.Input?
    let permit = lock.withLock { () -> DeliveryPermit? in
      value = values.popFirst()
      if let value { return offer(value) }
      if let completion { enqueue(completion) }
      return nil
    }
    if let value {
      if let permit { deliver(value, by: permit, receivingDemand: receiveDemand) }
    } else {
      deliver()
    }
  }

  override final func receiveDemand(_ more: Subscribers.Demand) { upstream.request(more) }

  override func didClose() {
    super.didClose()
    let released = lock.withLock {
      defer { values = FIFO() }
      return values
    }
    withExtendedLifetime(released) {}
  }
}

extension Publisher {
  /// Delivers values and completion on the scheduler, in order: `receive(on: DispatchQueue.main)`, `RunLoop.main`.
  public func receive<S: Scheduler>(on scheduler: S, options: S.SchedulerOptions? = nil)
    -> Publishers.ReceiveOn<Self, S>
  { Publishers.ReceiveOn(upstream: self, scheduler: scheduler, options: options) }

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
