import Synchronization

/// Runs an asynchronous responder on the thread that calls it, so that it may block: no other task waits for this
/// thread, as others would on the threads that all tasks share.
final class ResponderThread<Outcome: Sendable>: TaskExecutor {
  private struct State: Sendable {
    var jobs: [UnownedJob] = []
    var outcome: Outcome?
    /// Wakes the thread while it waits for a job.
    var wakeUp: Gate?
  }

  private let state = Mutex(State())

  /// Runs the work on this thread, and returns its outcome. Its task is cancelled when the stream's peer is gone.
  func run(for stream: any ServerStream, _ work: @escaping @Sendable () async -> Outcome) -> Outcome {
    let task = Task(executorPreference: self) {
      let outcome = await work()
      self.end(outcome)
    }
    while true {
      let (job, outcome) = state.withLock { state in
        (state.jobs.isEmpty ? nil : state.jobs.removeFirst(), state.outcome)
      }
      // The job that makes the outcome has to end, too, and it is the last one.
      if let job {
        job.runSynchronously(on: asUnownedTaskExecutor())
      } else if let outcome {
        return outcome
      } else {
        waitForJob(of: task, for: stream)
      }
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let wakeUp = state.withLock { state in
      state.jobs.append(job)
      return state.wakeUp.take()
    }
    wakeUp?.open()
  }

  private func end(_ outcome: Outcome) { state.withLock { $0.outcome = outcome } }

  private func waitForJob(of task: Task<Void, Never>, for stream: any ServerStream) {
    // Without a descriptor for a gate, the thread looks again and again.
    guard let gate = Gate.ifPossible() else { return SystemCalls.blockThread(milliseconds: 5) }
    let isIdle = state.withLock { state in
      guard state.jobs.isEmpty, state.outcome == nil else { return false }
      state.wakeUp = gate
      return true
    }
    guard isIdle else { return }
    do { try stream.wait(for: gate) } catch {
      task.cancel()
      gate.block()
    }
  }
}
