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

/// Started work that another thread may cancel before it was started.
final class Running: Sendable {
  private struct State {
    var cancel: (@Sendable () -> Void)?
    var isCancelled = false
  }

  private let state = Mutex(State())

  func start(_ work: @escaping @Sendable () async -> Void) {
    let task = Task { await work() }
    began { task.cancel() }
  }

  /// Takes how to cancel work that has begun, and cancels it if that was requested before.
  func began(cancel: @escaping @Sendable () -> Void) {
    let isCancelled = state.withLock { state in
      state.cancel = cancel
      return state.isCancelled
    }
    if isCancelled { cancel() }
  }

  func cancel() {
    let cancel = state.withLock { state in
      state.isCancelled = true
      return state.cancel
    }
    cancel?()
  }
}
