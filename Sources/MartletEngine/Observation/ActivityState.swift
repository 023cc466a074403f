/// When something counts as going on: which tasks run, and whether that has been so for long enough to be shown, or has
/// been over for long enough to be hidden.
struct ActivityState: Sendable {
  private let showsAfter: Duration
  private let hidesAfter: Duration
  private var running: Set<UInt64> = []
  private(set) var isActive = false
  /// Changes whenever a wait that was asked for has lost its point.
  private var generation = 0

  /// A wait that somebody has to do: after the delay, ``waited(_:)`` is to be called with the number.
  struct Wait: Sendable, Equatable {
    let delay: Duration
    let generation: Int
  }

  init(showsAfter: Duration, hidesAfter: Duration) {
    self.showsAfter = showsAfter
    self.hidesAfter = hidesAfter
  }

  var count: Int { running.count }

  mutating func started(_ task: UInt64) -> Wait? {
    let wasIdle = running.isEmpty
    guard running.insert(task).inserted, wasIdle else { return nil }
    return turn(to: true, after: showsAfter)
  }

  mutating func finished(_ task: UInt64) -> Wait? {
    guard running.remove(task) != nil, running.isEmpty else { return nil }
    return turn(to: false, after: hidesAfter)
  }

  mutating func waited(_ generation: Int) {
    if generation == self.generation { isActive = !running.isEmpty }
  }

  private mutating func turn(to active: Bool, after delay: Duration) -> Wait? {
    generation += 1
    guard isActive != active else { return nil }  // the opposite was still being waited for
    guard delay > .zero else {
      isActive = active
      return nil
    }
    return Wait(delay: delay, generation: generation)
  }
}
