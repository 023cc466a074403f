#if !canImport(Darwin)
public import Foundation
public import MartletCombine

extension Timer {
  /// Makes a publisher of the current date, at every interval, once it is connected: `autoconnect()` connects it with
  /// the first subscriber. A date that a subscriber has not requested is lost.
  ///
  /// The main run loop's timers also fire in programs with an `async` entry point.
  ///
  /// - Parameters:
  ///   - interval: seconds between two dates.
  ///   - tolerance: how many seconds later a date may come; nil for the run loop's own.
  ///   - runLoop: the run loop in which dates are delivered.
  ///   - mode: the mode in which it has to run.
  ///   - options: none are supported.
  public static func publish(
    every interval: TimeInterval, tolerance: TimeInterval? = nil, on runLoop: RunLoop, in mode: RunLoop.Mode,
    options: RunLoop.SchedulerOptions? = nil
  ) -> TimerPublisher {
    TimerPublisher(interval: interval, tolerance: tolerance, runLoop: runLoop, mode: mode, options: options)
  }

  /// The publisher that ``publish(every:tolerance:on:in:options:)`` returns.
  public final class TimerPublisher: ConnectablePublisher {
    /// The date at which the timer fired.
    public typealias Output = Date
    /// The publisher never fails.
    public typealias Failure = Never

    /// Seconds between two dates.
    public let interval: TimeInterval
    /// How many seconds later a date may come.
    public let tolerance: TimeInterval?
    /// The run loop in which dates are delivered.
    public let runLoop: RunLoop
    /// The mode in which the run loop has to run.
    public let mode: RunLoop.Mode
    /// None are supported.
    public let options: RunLoop.SchedulerOptions?
    private let subject = PassthroughSubject<Date, Never>()

    /// Makes the publisher, like ``Timer/publish(every:tolerance:on:in:options:)``.
    public init(
      interval: TimeInterval, tolerance: TimeInterval? = nil, runLoop: RunLoop, mode: RunLoop.Mode,
      options: RunLoop.SchedulerOptions? = nil
    ) {
      self.interval = interval
      self.tolerance = tolerance
      self.runLoop = runLoop
      self.mode = mode
      self.options = options
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Date, S.Failure == Never {
      subject.receive(subscriber: subscriber)
    }

    /// Starts a timer. Each connection has its own, which fires until the returned object is cancelled; releasing the
    /// object does not stop it.
    public func connect() -> any Cancellable {
      let ticking = Ticking(self) { [subject] in subject.send($0) }
      ticking.schedule(after: Date())
      return ticking
    }
  }
}

/// A timer that is set again each time it fires, for dates that were computed before: it does not drift.
private final class Ticking: Cancellable, Sendable {
  private let interval: TimeInterval
  private let tolerance: TimeInterval
  private let runLoop: Locked<RunLoop>
  private let mode: RunLoop.Mode
  private let onDate: Locked<((Date) -> Void)?>

  init(_ publisher: Timer.TimerPublisher, _ onDate: @escaping (Date) -> Void) {
    interval = max(publisher.interval, 0.000_1)  // As `Timer` itself does.
    tolerance = publisher.tolerance ?? 0
    runLoop = Locked(publisher.runLoop)
    mode = publisher.mode
    self.onDate = Locked(onDate)
  }

  func schedule(after date: Date) {
    let next = date.addingTimeInterval(interval)
    runLoop.value.schedule(at: next, tolerance: tolerance, in: mode) { [self] in
      guard let onDate = onDate.value else { return }
      let now = Date()
      onDate(now)
      // Dates that passed while the run loop was busy are skipped.
      let missed = max(0, (now.timeIntervalSince(next) / interval).rounded(.down))
      schedule(after: next.addingTimeInterval(missed * interval))
    }
  }

  func cancel() { _ = onDate.take() }
}
#endif
