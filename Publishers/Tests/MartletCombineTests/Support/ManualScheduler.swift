import Dispatch
import MartletCombine

/// A scheduler whose time is set by tests, which uses only the public protocol of Combine.
final class ManualScheduler: Scheduler {
  struct SchedulerTimeType: Strideable {
    typealias Stride = DispatchQueue.SchedulerTimeType.Stride
    var nanoseconds = 0

    func distance(to other: SchedulerTimeType) -> Stride { .nanoseconds(other.nanoseconds - nanoseconds) }
    func advanced(by n: Stride) -> SchedulerTimeType { SchedulerTimeType(nanoseconds: nanoseconds + n.magnitude) }
  }

  typealias SchedulerOptions = Never

  private var time = SchedulerTimeType()
  /// Called once, when the time is asked for: what another thread may do at that moment.
  var whenAsked: (() -> Void)?
  let minimumTolerance: SchedulerTimeType.Stride = .nanoseconds(0)
  private var line: [(date: SchedulerTimeType, action: () -> Void)] = []
  private(set) var isRunning = false

  var now: SchedulerTimeType {
    let work = whenAsked.take()
    work?()
    return time
  }

  /// The number of actions that have yet to run.
  var pendingCount: Int { line.count }

  func schedule(options: Never?, _ action: @escaping () -> Void) { line.append((time, action)) }

  func schedule(
    after date: SchedulerTimeType, tolerance: SchedulerTimeType.Stride, options: Never?, _ action: @escaping () -> Void
  ) { line.append((date, action)) }

  func schedule(
    after date: SchedulerTimeType, interval: SchedulerTimeType.Stride, tolerance: SchedulerTimeType.Stride,
    options: Never?, _ action: @escaping () -> Void
  ) -> any Cancellable {
    var isWanted = true
    func run(at date: SchedulerTimeType) {
      schedule(after: date, tolerance: tolerance, options: options) {
        guard isWanted else { return }
        action()
        run(at: date.advanced(by: interval))
      }
    }
    run(at: date)
    return AnyCancellable { isWanted = false }
  }

  /// Runs the work that is due until then, in the order of its time.
  func advance(by duration: SchedulerTimeType.Stride = 0) {
    let end = time.advanced(by: duration)
    isRunning = true
    while let next = line.indices.filter({ line[$0].date <= end }).min(by: { line[$0].date < line[$1].date }) {
      let item = line.remove(at: next)
      time = max(time, item.date)
      item.action()
    }
    isRunning = false
    time = end
  }
}
