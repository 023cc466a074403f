import Synchronization

/// The actions at the end of a call. Each runs once.
struct EndActions: ~Copyable, Sendable {
  private let hasEnded = Atomic(false)
  private let hasActions = Atomic(false)
  private let actions = Mutex<[@Sendable () -> Void]>([])

  /// Whether the call has ended, so that later actions run at once.
  var haveRun: Bool { hasEnded.load(ordering: .relaxed) }

  func add(_ action: @escaping @Sendable () -> Void) {
    actions.withLock { $0.append(action) }
    hasActions.store(true, ordering: .sequentiallyConsistent)
    if hasEnded.load(ordering: .sequentiallyConsistent) { runAdded() }
  }

  func run() {
    hasEnded.store(true, ordering: .sequentiallyConsistent)
    if hasActions.load(ordering: .sequentiallyConsistent) { runAdded() }
  }

  private func runAdded() {
    let added = actions.withLock { actions in
      defer { actions = [] }
      return actions
    }
    for action in added { action() }
  }
}
