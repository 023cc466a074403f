import Synchronization

/// Work that callers can wait for and that may itself wait for other work: a call, or work shared by several callers.
package protocol Work: AnyObject, Sendable {
  /// The calls for which the work is done.
  var parent: CallContext { get }
  /// Whether the work has ended, so that nothing waits for it.
  var isOver: Bool { get }
  /// Identifies the object that started the work; nil for a call.
  var owner: UniqueID? { get }
}

extension Work {
  /// The context of code that does this work.
  package var context: CallContext { CallContext(self) }

  /// Waits for this work. Returns nil at once if this work is waiting, directly or indirectly, for one of the works of
  /// the context: the wait would never end.
  package func wait<Result>(in context: CallContext, _ wait: () async throws -> Result) async rethrows -> Result? {
    let waiting = context.works.map(ObjectIdentifier.init)
    guard WaitGraph.begin(waiting, for: ObjectIdentifier(self)) else { return nil }
    defer { WaitGraph.end(waiting, for: ObjectIdentifier(self)) }
    return try await wait()
  }
}

/// The identity of an object as a number. Unlike an `ObjectIdentifier`, it is not reused after the object has ended.
package struct UniqueID: Hashable, Sendable {
  private static let last = Atomic<UInt64>(0)
  private let number = Self.last.add(1, ordering: .relaxed).newValue

  package init() {}
}

/// Records which work waits for which, in the whole process. Every wait is checked before it begins, so that waits
/// never form a cycle.
///
/// The lock is taken only for waits. Works are identified by their object identity: both ends of a wait exist as long
/// as the wait lasts.
private enum WaitGraph {
  private static let edges = Mutex<[ObjectIdentifier: [ObjectIdentifier]]>([:])

  /// Records that works begin to wait for another one.
  ///
  /// - Returns: false, with nothing recorded, if that work is one of the waiting ones or waits for one of them.
  static func begin(_ waiting: [ObjectIdentifier], for work: ObjectIdentifier) -> Bool {
    edges.withLock { edges in
      guard !reaches(waiting, from: work, in: edges) else { return false }
      for waiter in waiting { edges[waiter, default: []].append(work) }
      return true
    }
  }

  /// Records that a wait has ended.
  static func end(_ waiting: [ObjectIdentifier], for work: ObjectIdentifier) {
    edges.withLock { edges in
      for waiter in waiting {
        guard let index = edges[waiter]?.firstIndex(of: work) else { continue }
        edges[waiter]?.remove(at: index)
        if edges[waiter]?.isEmpty == true { edges[waiter] = nil }
      }
    }
  }

  /// Whether a work is one of the targets, or waits for one directly or indirectly.
  private static func reaches(
    _ targets: [ObjectIdentifier], from work: ObjectIdentifier, in edges: [ObjectIdentifier: [ObjectIdentifier]]
  ) -> Bool {
    var seen: Set = [work]
    var next = [work]
    while let work = next.popLast() {
      if targets.contains(work) { return true }
      for other in edges[work] ?? [] where seen.insert(other).inserted { next.append(other) }
    }
    return false
  }
}
