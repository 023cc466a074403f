import Dispatch

/// Where writes run, one after another: threads that may block, which those that run Swift's tasks may not.
final class WriterQueue: SerialExecutor {
  private let queue = DispatchQueue(label: "martlet-sqlite")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}
