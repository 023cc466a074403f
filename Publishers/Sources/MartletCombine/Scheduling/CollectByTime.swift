#if !canImport(Darwin)
extension Publishers {
  /// When a group of values is complete.
  public enum TimeGroupingStrategy<Context: Scheduler> {
    /// At the end of each interval.
    case byTime(Context, Context.SchedulerTimeType.Stride)
    /// At the end of each interval, and as soon as there are this many values.
    case byTimeOrCount(Context, Context.SchedulerTimeType.Stride, Int)
  }

  /// The publisher that ``Publisher/collect(_:options:)`` returns.
  public struct CollectByTime<Upstream: Publisher, Context: Scheduler>: Publisher {
    /// The output type.
    public typealias Output = [Upstream.Output]
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// When a group is complete.
    public let strategy: TimeGroupingStrategy<Context>
    /// The options of the scheduled work.
    public let options: Context.SchedulerOptions?

    /// Makes the publisher, like the operator.
    public init(
      upstream: Upstream, strategy: TimeGroupingStrategy<Context>, options: Context.SchedulerOptions?
    ) {
      self.upstream = upstream
      self.strategy = strategy
      self.options = options
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.subscribe(
        CollectRelay<Upstream.Output, S, Context>(to: subscriber, strategy: strategy, options: options))
    }
  }
}

/// Collects values, and delivers them at the end of an interval or in groups of a size.
private final class CollectRelay<Input, Downstream: Subscriber, Context: Scheduler>: Relay<Input, Downstream>
where Downstream.Input == [Input] {
  private let scheduler: Context
  private let interval: Context.SchedulerTimeType.Stride
  private let size: Int
  private let options: Context.SchedulerOptions?
  private var values: [Input] = []
  /// An interval has ended without demand for its values.
  private var isOverdue = false
  private var repetition: (any Cancellable)?

  init(
    to downstream: Downstream, strategy: Publishers.TimeGroupingStrategy<Context>, options: Context.SchedulerOptions?
  ) {
    switch strategy {
    case .byTime(let scheduler, let interval): (self.scheduler, self.interval, size) = (scheduler, interval, .max)
    case .byTimeOrCount(let scheduler, let interval, let count):
      precondition(count > 0, "a group of \(count) values is impossible: use 1 or more")
      (self.scheduler, self.interval, size) = (scheduler, interval, count)
    }
    self.options = options
    super.init(to: downstream, name: "CollectByTime", counting: true)
  }

  override func attached() {
    start()
    let repetition = scheduler.schedule(
      after: scheduler.now.advanced(by: interval), interval: interval, tolerance: scheduler.minimumTolerance,
      options: options
    ) { [weak self] in self?.deliverGroups(withRest: true) }
    let isKept = lock.withLock {
      if !isClosed { self.repetition = repetition }
      return !isClosed
    }
    if isKept { upstream.request(.unlimited) } else { repetition.cancel() }
  }

  override func receive(_ input: Input) -> Subscribers.Demand {
    let isFull = lock.withLock {
      guard isReceiving else { return false }
      values.append(input)
      return values.count.isMultiple(of: size)
    }
    if isFull { scheduleGroups(withRest: false) }
    return .none
  }

  private func scheduleGroups(withRest isEnd: Bool) {
    scheduler.schedule(options: options) { [self] in deliverGroups(withRest: isEnd) }
  }

  private func deliverGroups(withRest isEnd: Bool) {
    while true {
      var group: [Input] = []
      let permit = lock.withLock { () -> DeliveryPermit? in
        guard !values.isEmpty, isEnd || values.count >= size else { return nil }
        guard isOpen, demand > .none else {
          isOverdue = isOverdue || isEnd
          return nil
        }
        group = Array(values.prefix(size))
        values.removeFirst(group.count)
        if values.isEmpty { isOverdue = false }
        return offer(group)
      }
      if let permit { deliver(group, by: permit, receivingDemand: super.request) }
      if group.isEmpty { return }
    }
  }

  override func request(_ demand: Subscribers.Demand) {
    super.request(demand)
    let (isDue, isEnd) = lock.withLock { (!values.isEmpty && (isOverdue || values.count >= size), isOverdue) }
    if isDue { scheduleGroups(withRest: isEnd) }
  }

  override func end(_ completion: Subscribers.Completion<Downstream.Failure>) {
    lock.withLock { repetition.take() }?.cancel()
    scheduler.schedule(options: options) { [self] in
      if case .finished = completion { deliverGroups(withRest: true) }
      finish(completion)
    }
  }

  override func didClose() {
    super.didClose()
    let (repetition, values) = lock.withLock {
      defer { (self.repetition, self.values) = (nil, []) }
      return (self.repetition, self.values)
    }
    repetition?.cancel()
    withExtendedLifetime(values) {}
  }
}

extension Publisher {
  /// Collects the values of each interval, and delivers them as an array on the scheduler. An interval without values
  /// delivers nothing.
  ///
  /// Unlimited values are requested upstream. Values that are not requested here are kept, and delivered with the next
  /// request. The rest is delivered before it finishes, if it is requested; a failure drops it.
  ///
  /// - Parameters:
  ///   - strategy: the scheduler and the interval, and how many values complete a group earlier.
  ///   - options: the options of the scheduled work.
  public func collect<S: Scheduler>(
    _ strategy: Publishers.TimeGroupingStrategy<S>, options: S.SchedulerOptions? = nil
  ) -> Publishers.CollectByTime<Self, S> {
    Publishers.CollectByTime(upstream: self, strategy: strategy, options: options)
  }
}
#endif
