import Synchronization

// No call waits for itself. A call may wait for work that others share: the response to an identical request, a token,
// an image. That work may make requests of its own, and one of them may need the same work: it would wait forever.
//
// - Where the context shows for which calls a request is made (`CallContext`), a cycle is detected before it exists.
//   `WaitGraph` records every wait in the process, and refuses the one that would close a cycle. The caller then
//   continues without the shared result: it sends its own request, or sends it without the token.
// - Where the context was lost, as in a detached task or on a dispatch queue, the graph sees two unrelated calls. A
//   call that began after the work did may then be part of it, so its wait has a `WaitLimit`: the response timeout.
//
// Without waits, the graph costs nothing. The limit costs something only if a later call waits.

/// Work that callers can wait for and that may itself wait for other work: a call, or work shared by several callers.
package protocol Work: AnyObject, Sendable {
  /// The calls for which the work is done.
  var parent: CallContext { get }
  /// Whether the work has ended, so that nothing waits for it.
  var isOver: Bool { get }
  /// Identifies the object that started the work; nil for a call.
  var owner: UniqueID? { get }
  /// Its place in the order in which calls and works begin; several works may have one.
  var position: UInt64 { get }
}

extension Work {
  /// The context of code that does this work.
  package var context: CallContext { CallContext(self) }
}

/// A wait of a context's works for another work.
final class Wait: Sendable {
  /// Held until the wait is released: a work may end before its wait does, and its identity must not be used again.
  private let works: [any Work]
  private let work: ObjectIdentifier
  private let isOver = Atomic(false)

  private var waiting: [ObjectIdentifier] { works.map(ObjectIdentifier.init) }

  /// - Parameter context: the calls for which the caller waits. It also waits for those of the current code, which may
  ///   have got the call from other code.
  init(of context: CallContext, for work: any Work) {
    let works = Array(context.works)
    self.works = works + CallContext.current.works.filter { work in !works.contains { $0 === work } }
    self.work = ObjectIdentifier(work)
  }

  /// Begins the wait. Returns false if the other work is waiting, directly or indirectly, for one of the works of the
  /// context: the wait would never end.
  func begin() -> Bool { WaitGraph.begin(waiting, for: work) }

  /// Ends the wait, which has begun. Only the first end counts.
  func end() {
    guard !isOver.exchange(true, ordering: .relaxed) else { return }
    WaitGraph.end(waiting, for: work)
  }
}

/// Records which work waits for which, in the whole process. Every wait is checked before it begins, so that waits
/// never form a cycle.
///
/// The lock is taken only for waits. Works are identified by their object identity: the ``Wait`` holds the waiting
/// ones, and its code the other one.
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

/// The maximum time that a caller waits for work that may be waiting for the caller.
@_spi(Toolkit) public struct WaitLimit: Sendable {
  /// The time.
  public let duration: Duration
  /// Measures the time.
  public let clock: any Clock<Duration>

  /// Makes a limit.
  public init(_ duration: Duration, on clock: any Clock<Duration>) {
    self.duration = duration
    self.clock = clock
  }
}

/// The identity of an object as a number. Unlike an `ObjectIdentifier`, it is not reused after the object has ended.
@_spi(Toolkit) public struct UniqueID: Hashable, Sendable {
  private static let last = Atomic<UInt64>(0)
  private let number = Self.last.add(1, ordering: .relaxed).newValue

  public init() {}
}
