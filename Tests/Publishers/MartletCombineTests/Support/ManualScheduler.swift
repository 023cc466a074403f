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

  private(set) var now = SchedulerTimeType()
  let minimumTolerance: SchedulerTimeType.Stride = .nanoseconds(0)
  private var line: [(date: SchedulerTimeType, action: () -> Void)] = []
  private(set) var isRunning = false

  func schedule(options: Never?, _ action: @escaping () -> Void) { line.append((now, action)) }

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
  func advance(by time: SchedulerTimeType.Stride = 0) {
    let end = now.advanced(by: time)
    isRunning = true
    while let next = line.indices.filter({ line[$0].date <= end }).min(by: { line[$0].date < line[$1].date }) {
      let item = line.remove(at: next)
      now = max(now, item.date)
      item.action()
    }
    isRunning = false
    now = end
  }
}
