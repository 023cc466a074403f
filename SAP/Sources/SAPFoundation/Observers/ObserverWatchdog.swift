@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Synchronization

/// Warns in the log about observers and delegates that do not answer, because their tasks wait for them.
///
/// All questions of a session share one alarm, which is set at most once in five seconds, unless a warning is due.
final class ObserverWatchdog: Sendable {
  /// A question to a handler.
  final class Question: Sendable {
    private enum Progress: UInt8, AtomicRepresentable { case waiting, called, returned }

    private let handler: SessionEventHandler
    private let method: StaticString
    private let task: SAPURLSessionTask
    /// How far the call of the method has come.
    private let progress = Atomic(Progress.waiting)

    init(to handler: SessionEventHandler, _ method: StaticString, of task: SAPURLSessionTask) {
      (self.handler, self.method, self.task) = (handler, method, task)
    }

    /// Runs the call of the method.
    func watch(_ call: () -> Void) {
      progress.store(.called, ordering: .relaxed)
      call()
      progress.store(.returned, ordering: .relaxed)
    }

    /// Returns a line for the log.
    fileprivate func warning(after delay: Duration) -> String {
      let fault =
        switch progress.load(ordering: .relaxed) {
        case .waiting: "was not called, because the delegate queue is blocked or suspended"
        case .called: "has not returned, and blocks the delegate queue"
        case .returned: "has not called its completion handler"
        }
      let name = "\(type(of: handler.events)).\(method)"
      return "\(name) \(fault) for \(Quantity.text(delay)): \(task.description) waits for its answer"
    }
  }

  /// A question without an answer.
  private struct Entry {
    let question: Question
    /// When it was asked.
    let time: Duration
    var warnings = 0

    /// When the next warning is due; nil if all were written.
    var due: Duration? { warnings < delays.count ? time + delays[warnings] : nil }
  }

  private struct State {
    var entries: [ObjectIdentifier: Entry] = [:]
    var alarm: Alarm?
    /// When the alarm is due; nil without one.
    var due: Duration?
  }

  /// The times after which a warning is written.
  private static let delays: [Duration] = [.seconds(5), .seconds(60)]
  private let clock: any Clock<Duration>
  private let stopwatch: Stopwatch
  private let state = Mutex(State())

  init(_ clock: any Clock<Duration>) { (self.clock, stopwatch) = (clock, Stopwatch(clock)) }

  deinit { state.withLock { $0.alarm }?.cancel() }

  func add(_ question: Question) {
    let entry = Entry(question: question, time: stopwatch.elapsed)
    let replaced = state.withLock { state in
      state.entries[ObjectIdentifier(question)] = entry
      return setAlarm(&state, to: entry.due)
    }
    replaced?.cancel()
  }

  func remove(_ question: Question) {
    state.withLock { _ = $0.entries.removeValue(forKey: ObjectIdentifier(question)) }
  }

  /// Sets the alarm, unless it is due before that time. Returns the alarm that it replaces.
  private func setAlarm(_ state: inout State, to time: Duration?) -> Alarm? {
    guard let time, time < state.due ?? .seconds(Int64.max) else { return nil }
    let replaced = state.alarm
    state.due = time
    state.alarm = Alarm(after: time - stopwatch.elapsed, on: clock) { [weak self] in self?.warn() }
    return replaced
  }

  /// Writes the warnings that are due.
  private func warn() {
    let now = stopwatch.elapsed
    let late = state.withLock { state in
      var late: [(Question, Duration)] = []
      for (key, entry) in state.entries {
        guard let due = entry.due, due <= now else { continue }
        late.append((entry.question, due - entry.time))
        state.entries[key]?.warnings += 1
      }
      (state.alarm, state.due) = (nil, nil)
      _ = setAlarm(&state, to: state.entries.values.compactMap(\.due).min())
      return late
    }
    for (question, delay) in late { SessionLog.write(.warning, nil, question.warning(after: delay)) }
  }
}

extension SAPURLSessionTask {
  /// The number of the task, if it was sent, and its request, for the log.
  fileprivate var description: String {
    let request = currentRequest ?? originalRequest
    let number = urlSessionTask.map { "task \($0.taskIdentifier)" } ?? "a task that was not sent yet"
    return "\(number) (\(request?.httpMethod ?? "GET") \(request?.url?.redacted ?? "without a URL"))"
  }
}
