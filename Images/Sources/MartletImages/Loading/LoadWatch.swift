@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Synchronization

/// Notices that a call makes no progress: that it has had no event for a time in which its transport would have ended
/// the attempt.
final class LoadWatch: EventListener {
  private struct State {
    /// The time since the latest event.
    var quiet: Stopwatch
    /// How long the call may have no event.
    var limit: Duration
    /// nil before the start and after the end.
    var alarm: Alarm?
    var isOver = false
  }

  /// The transport's own events are not needed: they come while the response timeout runs.
  let events: Event.Kinds = [.attempt, .sending, .informational, .response, .resend, .limit]
  private let limit: Duration
  private let clock: any Clock<Duration>
  private let action: @Sendable () -> Void
  private let state: Mutex<State>

  /// Starts to watch a call.
  ///
  /// - Parameter action: runs once, if the call has no event for `limit`.
  init(limit: Duration, on clock: any Clock<Duration>, _ action: @escaping @Sendable () -> Void) {
    (self.limit, self.clock, self.action) = (limit, clock, action)
    state = Mutex(State(quiet: Stopwatch(clock), limit: limit))
    setAlarm(after: limit)
  }

  func receive(_ event: Event, in call: Call) {
    var allowed = limit
    if case .resend(_, let delay, _, _) = event { allowed += delay.bounded }
    state.withLock { [allowed] in ($0.quiet, $0.limit) = (Stopwatch(clock), allowed) }
  }

  /// Ends the watch.
  func stop() {
    state.withLock { state in
      state.isOver = true
      return state.alarm.take()
    }?.cancel()
  }

  private func setAlarm(after delay: Duration) {
    let alarm = Alarm(after: delay, on: clock) { [weak self] in self?.check() }
    let isLate = state.withLock { state in
      if !state.isOver { state.alarm = alarm }
      return state.isOver
    }
    if isLate { alarm.cancel() }
  }

  private func check() {
    let rest = state.withLock { $0.limit - $0.quiet.elapsed }
    if rest > .zero { setAlarm(after: rest) } else { action() }
  }
}
