#if !canImport(Darwin)
extension Publishers {
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
      let relay = SubscribeOnRelay(to: subscriber, scheduler: scheduler, options: options)
      scheduler.schedule(options: options) { [upstream] in upstream.subscribe(relay) }
    }
  }
}

/// Passes everything on, requests and the cancellation on the scheduler.
private final class SubscribeOnRelay<Downstream: Subscriber, Context: Scheduler>: Relay<Downstream.Input, Downstream> {
  private let scheduler: Context
  private let options: Context.SchedulerOptions?

  init(to downstream: Downstream, scheduler: Context, options: Context.SchedulerOptions?) {
    self.scheduler = scheduler
    self.options = options
    super.init(to: downstream, name: "SubscribeOn", counting: false)
  }

  override func receive(_ input: Downstream.Input) -> Subscribers.Demand { pass(input) }

  override func request(_ demand: Subscribers.Demand) {
    guard !lock.withLock({ isClosed }) else { return }
    scheduler.schedule(options: options) { [self] in upstream.request(demand) }
  }

  override func cancel() {
    guard !lock.withLock({ isClosed }) else { return }
    close()
    scheduler.schedule(options: options) { [self] in upstream.cancel() }
  }

  override func didClose() {}  // After a completion there is nothing to cancel.
}

extension Publisher {
  /// Subscribes, requests and cancels on the scheduler, for a publisher that does work when it starts.
  ///
  /// Values come on the thread from which this publisher sends them.
  public func subscribe<S: Scheduler>(on scheduler: S, options: S.SchedulerOptions? = nil)
    -> Publishers.SubscribeOn<Self, S>
  { Publishers.SubscribeOn(upstream: self, scheduler: scheduler, options: options) }
}
#endif
