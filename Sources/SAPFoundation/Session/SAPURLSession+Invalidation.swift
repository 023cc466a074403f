import Foundation

extension SAPURLSession {
  /// Starts no more tasks, and lets those that run end. Observers and the delegate are told then, and let go.
  public func finishTasksAndInvalidate() { invalidate { _ in } }

  /// Starts no more tasks, and cancels those that run. Observers and the delegate are told when they are over, and let go.
  public func invalidateAndCancel() { invalidate { $0.cancel() } }

  private func invalidate(_ end: (SAPURLSessionTask) -> Void) {
    let (wasValid, running) = state.withLock { state in
      defer { state.isValid = false }
      return (state.isValid, state.running)
    }
    for task in running.values { end(task) }
    if wasValid, running.isEmpty { tellOfInvalidation() }
  }

  /// Takes a task up that begins; false if the session was invalidated.
  func admit(_ task: SAPURLSessionTask) -> Bool {
    state.withLock { state in
      if state.isValid { state.running[task.taskID] = task }
      return state.isValid
    }
  }

  /// Lets go of a task that is over.
  func dismiss(_ task: SAPURLSessionTask) {
    let isLast = state.withLock { state in
      state.running.removeValue(forKey: task.taskID) != nil && state.running.isEmpty && !state.isValid
    }
    if isLast { tellOfInvalidation() }
  }

  /// Nobody is waited for: who is told last need not depend on who is told first.
  private func tellOfInvalidation() {
    let (observers, delegate) = state.withLock { state in
      defer { (state.observers, state.delegate) = ([], nil) }
      return (Handed(value: state.observers), Handed(value: state.delegate))
    }
    delegateQueue.addOperation { [self] in
      for observer in observers.value { observer.sapURLSession(self, didBecomeInvalidWithError: nil) {} }
      delegate.value?.sapURLSession(self, didBecomeInvalidWithError: nil)
    }
  }

  /// The number of the next backing task.
  func nextNumber() -> Int {
    state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
  }
}
