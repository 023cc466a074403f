import Foundation
import MartletEngine

/// Keeps a task's counters, and tells observers and delegate what they can only watch.
struct TaskListener: EventListener {
  let task: SAPURLSessionTask

  func receive(_ event: Event, in exchange: Exchange) {
    switch event {
    case .attempt(_, let request):
      task.mutable.withLock {
        $0.counts = TaskState.ByteCounts()
        $0.counts.expectedToSend = request.body.length ?? -1
      }
    case .progress(let progress) where progress.direction == .sent: sent(progress)
    case .progress(let progress): received(progress)
    case .metrics(let metrics):
      task.mutable.withLock { $0.metrics.append(metrics) }
      task.session.tell { [task] in $0.sapURLSession(task.session, task: task, didFinishCollecting: metrics) }
    default: break
    }
  }

  private func sent(_ progress: TransferProgress) {
    let step = task.mutable.withLock { state in
      defer { state.counts.sent = progress.completed }
      return progress.completed - state.counts.sent
    }
    task.session.tell { [task] in
      $0.sapURLSession(
        task.session, task: task, didSendBodyData: step, totalBytesSent: progress.completed,
        totalBytesExpectedToSend: progress.total ?? -1)
    }
  }

  private func received(_ progress: TransferProgress) {
    let (step, shown) = task.mutable.withLock { state in
      defer {
        state.counts.received = progress.completed
        state.counts.expectedToReceive = progress.total ?? -1
      }
      return (progress.completed - state.counts.received, Handed(value: state.progress))
    }
    if shown.value != nil {
      task.session.delegateQueue.addOperation {
        shown.value?.totalUnitCount = progress.total ?? -1
        shown.value?.completedUnitCount = progress.completed
      }
    }
    guard let download = task as? SAPURLSessionDownloadTask else { return }
    task.session.tell { [session = task.session] in
      $0.sapURLSession(
        session, downloadTask: download, didWriteData: step, totalBytesWritten: progress.completed,
        totalBytesExpectedToWrite: progress.total ?? -1)
    }
  }
}
