#if os(Linux)
@_spi(Transports) import MartletEngine

/// Runs tasks on a loop's thread, between the other jobs of its turns. A job that waits keeps the thread.
final class LoopExecutor: TaskExecutor {
  private let thread: LoopThread

  init(_ thread: LoopThread) { self.thread = thread }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    thread.jobs.submit { [self] _ in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
#endif
