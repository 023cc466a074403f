#if !canImport(Combine)
import Synchronization

extension Publishers {
  /// What ``Publisher/timeout(_:scheduler:options:customError:)`` returns.
  public struct Timeout<Upstream: Publisher, Context: Scheduler>: Publisher {
    /// What the upstream delivers.
    public typealias Output = Upstream.Output
    /// How the upstream fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream
    /// How long nothing may come.
    public let interval: Context.SchedulerTimeType.Stride
    /// What measures the time, and where values are delivered.
    public let scheduler: Context
    /// How the scheduler is to run what it runs.
    public let options: Context.SchedulerOptions?
    /// Makes the error; where nil, it completes.
    public let customError: (() -> Failure)?

    /// Makes one of its parts; an operator is the usual way.
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
      let outlet = Outlet<Output, Failure>(to: subscriber) { [scheduler, options] in
        scheduler.schedule(options: options, $0)
      }
      let watch = Watch(
        outlet: outlet, interval: interval, scheduler: scheduler, options: options, customError: customError)
      let inlet = Inlet<Output, Failure> { value in
        watch.restart()
        outlet.send(value)
        return .none
      } onCompletion: { completion in
        watch.stop()
        outlet.finish(completion)
      }
      watch.connect(inlet)
      outlet.connect(
        onDemand: { inlet.request($0) },
        onCancel: {
          watch.stop()
          inlet.cancel()
        })
      subscriber.receive(subscription: outlet)
      watch.restart()
      upstream.receive(subscriber: inlet)
    }
  }
}

/// Counts the silence of a publisher.
private final class Watch<Output, Failure: Error, Context: Scheduler> {
  private let outlet: Outlet<Output, Failure>
  private let interval: Context.SchedulerTimeType.Stride
  private let scheduler: Context
  private let options: Context.SchedulerOptions?
  private let customError: (() -> Failure)?
  private let round = Mutex(0)
  private let upstream = Guarded<Inlet<Output, Failure>?>(nil)

  init(
    outlet: Outlet<Output, Failure>, interval: Context.SchedulerTimeType.Stride, scheduler: Context,
    options: Context.SchedulerOptions?, customError: (() -> Failure)?
  ) {
    self.outlet = outlet
    self.interval = interval
    self.scheduler = scheduler
    self.options = options
    self.customError = customError
  }

  func connect(_ inlet: Inlet<Output, Failure>) { upstream.withLock { $0 = inlet } }

  func restart() {
    let mine = next()
    scheduler.schedule(
      after: scheduler.now.advanced(by: interval), tolerance: scheduler.minimumTolerance, options: options
    ) { [weak self] in self?.fire(mine) }
  }

  func stop() { _ = next() }

  private func next() -> Int {
    round.withLock { round in
      round += 1
      return round
    }
  }

  private func fire(_ mine: Int) {
    guard round.withLock({ $0 == mine }) else { return }
    upstream.withLock { $0 }?.cancel()
    outlet.finish(customError.map { .failure($0()) } ?? .finished)
  }
}

extension Publisher {
  /// Fails with the error, or completes where none is given, when nothing came for this time.
  public func timeout<S: Scheduler>(
    _ interval: S.SchedulerTimeType.Stride, scheduler: S, options: S.SchedulerOptions? = nil,
    customError: (() -> Failure)? = nil
  ) -> Publishers.Timeout<Self, S> {
    Publishers.Timeout(
      upstream: self, interval: interval, scheduler: scheduler, options: options, customError: customError)
  }
}
#endif
