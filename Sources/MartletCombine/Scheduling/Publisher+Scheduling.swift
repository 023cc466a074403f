#if !canImport(Combine)
public import Dispatch
import Synchronization

extension Publishers {
  /// Delivers on a scheduler: `receive(on:)`, `delay`.
  public struct ReceiveOn<Upstream: Publisher>: Publisher {
    /// What the upstream delivers.
    public typealias Output = Upstream.Output
    /// How the upstream fails.
    public typealias Failure = Upstream.Failure

    let upstream: Upstream
    let run: @Sendable (@escaping @Sendable () -> Void) -> Void

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let outlet = Outlet<Output, Failure>(to: subscriber, run: run)
      let inlet = outlet.makeInlet()
      subscriber.receive(subscription: outlet)
      upstream.receive(subscriber: inlet)
    }
  }

  /// Subscribes on a scheduler.
  public struct SubscribeOn<Upstream: Publisher, Context: Scheduler>: Publisher {
    /// What the upstream delivers.
    public typealias Output = Upstream.Output
    /// How the upstream fails.
    public typealias Failure = Upstream.Failure

    let upstream: Upstream
    let scheduler: Context

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let outlet = Outlet<Output, Failure>(to: subscriber)
      let inlet = outlet.makeInlet()
      subscriber.receive(subscription: outlet)
      let elsewhere = Guarded { [upstream] in upstream.receive(subscriber: inlet) }
      scheduler.schedule { elsewhere.withLock { $0 }() }
    }
  }

  /// Fails, or ends, when nothing was delivered for a time.
  public struct Timeout<Upstream: Publisher, Context: Scheduler>: Publisher {
    /// What the upstream delivers.
    public typealias Output = Upstream.Output
    /// How the upstream fails.
    public typealias Failure = Upstream.Failure

    let upstream: Upstream
    let interval: DispatchTimeInterval
    let scheduler: Context
    let customError: (() -> Failure)?

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let outlet = Outlet<Output, Failure>(to: subscriber) { [scheduler] in scheduler.schedule($0) }
      let watch = Watch(outlet: outlet, interval: interval, scheduler: scheduler, customError: customError)
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
private final class Watch<Output, Failure: Error, Context: Scheduler>: Sendable {
  private let outlet: Outlet<Output, Failure>
  private let interval: DispatchTimeInterval
  private let scheduler: Context
  private let customError: Guarded<(() -> Failure)?>
  private let round = Mutex(0)
  private let upstream = Guarded<Inlet<Output, Failure>?>(nil)

  init(
    outlet: Outlet<Output, Failure>, interval: DispatchTimeInterval, scheduler: Context,
    customError: (() -> Failure)?
  ) {
    self.outlet = outlet
    self.interval = interval
    self.scheduler = scheduler
    self.customError = Guarded(customError)
  }

  func connect(_ inlet: Inlet<Output, Failure>) { upstream.withLock { $0 = inlet } }

  func restart() {
    let mine = next()
    scheduler.schedule(after: interval) { [weak self] in self?.fire(mine) }
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
    outlet.finish(customError.withLock { $0 }.map { .failure($0()) } ?? .finished)
  }
}

extension Publisher {
  /// Delivers values and completion on the scheduler: `receive(on: DispatchQueue.main)`.
  public func receive(on scheduler: some Scheduler) -> Publishers.ReceiveOn<Self> {
    Publishers.ReceiveOn(upstream: self) { scheduler.schedule($0) }
  }

  /// Subscribes on the scheduler, for a publisher whose start is work.
  public func subscribe<S: Scheduler>(on scheduler: S) -> Publishers.SubscribeOn<Self, S> {
    Publishers.SubscribeOn(upstream: self, scheduler: scheduler)
  }

  /// Delivers everything later by this time, on the scheduler.
  public func delay(for interval: DispatchTimeInterval, scheduler: some Scheduler) -> Publishers.ReceiveOn<Self> {
    Publishers.ReceiveOn(upstream: self) { scheduler.schedule(after: interval, $0) }
  }

  /// Fails with the error, or completes where none is given, when nothing came for this time.
  public func timeout<S: Scheduler>(
    _ interval: DispatchTimeInterval, scheduler: S, customError: (() -> Failure)? = nil
  ) -> Publishers.Timeout<Self, S> {
    Publishers.Timeout(upstream: self, interval: interval, scheduler: scheduler, customError: customError)
  }
}
#endif
