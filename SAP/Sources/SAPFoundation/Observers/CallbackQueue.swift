/// Runs callbacks on a delegate queue, one after another, in the order in which they were added.
///
/// An `OperationQueue` takes longer to begin an operation than most callbacks take. Therefore one operation runs all
/// callbacks that were added before it began. If a callback suspends the queue, the following ones wait. The operation
/// cannot be cancelled: an app that cancels the operations of its queue still gets the results of its tasks.
final class CallbackQueue: Sendable {
  typealias Callback = @Sendable () -> Void

  private struct State {
    var waiting: [Callback] = []
    /// The operation that will run them; nil if none was added.
    var operation: CallbackOperation?
  }

  private let queue: OperationQueue
  private let state = Locked(State())

  init(_ queue: OperationQueue) { self.queue = queue }

  func add(_ callback: @escaping Callback) {
    let operation = state.withLock { state in
      state.waiting.append(callback)
      return addOperation(to: &state)
    }
    if let operation { queue.addOperation(operation) }
  }

  /// Returns a new operation to be added to the queue; nil if an earlier one has not begun yet.
  private func addOperation(to state: inout State) -> CallbackOperation? {
    guard state.operation == nil else { return nil }
    let operation = CallbackOperation { [self] in runWaiting() }
    state.operation = operation
    return operation
  }

  private func runWaiting() {
    let callbacks = state.withLock { state in
      defer { state = State() }
      return state.waiting
    }
    for (index, callback) in callbacks.enumerated() {
      guard !queue.isSuspended else { return putBack(callbacks[index...]) }
      callback()
    }
  }

  private func putBack(_ callbacks: ArraySlice<Callback>) {
    let operation = state.withLock { state in
      state.waiting.insert(contentsOf: callbacks, at: 0)
      return addOperation(to: &state)
    }
    if let operation { queue.addOperation(operation) }
  }
}

/// An operation that `cancelAllOperations()` does not cancel.
///
/// SAFETY: its property is a constant, and its superclass is safe to use from any thread.
private final class CallbackOperation: Operation, @unchecked Sendable {
  private let work: @Sendable () -> Void

  init(_ work: @escaping @Sendable () -> Void) { self.work = work }

  override func main() { work() }

  override func cancel() {}
}
