import Synchronization

/// A list that several threads append to.
package final class Log<Entry>: @unchecked Sendable {
  // SAFETY: `content` is only touched while `mutex` is held.
  private var content: [Entry] = []
  private let mutex = Mutex(())

  package init() {}

  /// All entries, in the order in which they were appended.
  package var entries: [Entry] { mutex.withLock { _ in content } }

  /// Appends an entry.
  package func append(_ entry: Entry) { mutex.withLock { _ in content.append(entry) } }
}

/// A number that several threads change.
package final class Counter: Sendable {
  private let count = Mutex(0)

  package init() {}

  package var value: Int { count.withLock { $0 } }

  /// Adds one, and returns the new value.
  @discardableResult
  package func next() -> Int {
    count.withLock {
      $0 += 1
      return $0
    }
  }

  /// Sets the value, unless it is larger already.
  package func raise(to value: Int) { count.withLock { $0 = max($0, value) } }
}
