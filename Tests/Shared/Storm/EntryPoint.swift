import Synchronization

/// A way to begin work with the product that can be cancelled: a verb of the session, a task, a publisher, a load.
package struct EntryPoint: Sendable {
  package let name: String
  /// Makes an operation that was not started.
  let make: @Sendable (StormService, Ticket) throws -> Operation

  init(_ name: String, make: @escaping @Sendable (StormService, Ticket) throws -> Operation) {
    (self.name, self.make) = (name, make)
  }

  /// An asynchronous function. It is cancelled by its task.
  ///
  /// - Parameter work: returns the text of the answer, which has the ticket's mark; nil if it has no text.
  init(_ name: String, async work: @escaping @Sendable (StormService, Ticket) async throws -> String?) {
    self.init(name) { service, ticket in
      let running = Running()
      return Operation {
        running.start {
          do { ticket.complete(.answer(try await work(service, ticket))) } catch { ticket.complete(.failure(error)) }
        }
      } cancel: {
        running.cancel()
      }
    }
  }
}

/// One use of an entry point.
struct Operation: Sendable {
  let start: @Sendable () -> Void
  let cancel: @Sendable () -> Void
  /// Whether it completes after a cancellation, too. A publisher's subscriber receives nothing then.
  var completesWhenCancelled = true

  init(
    completesWhenCancelled: Bool = true, start: @escaping @Sendable () -> Void, cancel: @escaping @Sendable () -> Void
  ) {
    (self.start, self.cancel, self.completesWhenCancelled) = (start, cancel, completesWhenCancelled)
  }
}

/// A task that another thread may cancel before it was started.
final class Running: Sendable {
  private let state = Mutex<(task: Task<Void, Never>?, isCancelled: Bool)>((nil, false))

  func start(_ work: @escaping @Sendable () async -> Void) {
    let task = Task { await work() }
    let isCancelled = state.withLock { state in
      state.task = task
      return state.isCancelled
    }
    if isCancelled { task.cancel() }
  }

  func cancel() {
    let task = state.withLock { state in
      state.isCancelled = true
      return state.task
    }
    task?.cancel()
  }
}
