#if os(Linux)
@_spi(Transports) import MartletEngine

/// Runs tasks on a loop's thread, between the other jobs of its turns. A job that waits keeps the thread.
final class LoopExecutor: TaskExecutor {
  private let thread: LoopThread

  init(_ thread: LoopThread) { self.thread = thread }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    if thread.ownership.isHeldByThisThread { return thread.resumed.append(job, on: self) }
    thread.jobs.submit { [self] _ in run(job) }
  }

  fileprivate func run(_ job: UnownedJob) { job.runSynchronously(on: asUnownedTaskExecutor()) }
}

/// The jobs of tasks that a turn of a loop has resumed. They run at its end, without a wake-up and another turn.
///
/// SAFETY: only the thread that owns the loop uses it; see ``LoopOwnership``.
final class ResumedJobs: @unchecked Sendable {
  @exclusivity(unchecked) private var jobs: [(job: UnownedJob, executor: LoopExecutor)] = []

  fileprivate func append(_ job: UnownedJob, on executor: LoopExecutor) { jobs.append((job, executor)) }

  /// Runs them. Returns whether they have added others, which belong to the next turn.
  func run() -> Bool {
    guard !jobs.isEmpty else { return false }
    var batch: [(job: UnownedJob, executor: LoopExecutor)] = []
    swap(&batch, &jobs)
    for (job, executor) in batch { executor.run(job) }
    return !jobs.isEmpty
  }
}
#endif
