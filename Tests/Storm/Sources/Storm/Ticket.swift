import Dispatch
import Martlet
import Synchronization

/// The record of one operation: how it completed, and at which event it is cancelled.
final class Ticket: Sendable {
  /// How an operation completed.
  enum Outcome: Sendable {
    case answer(String?)
    case failure(any Error)
  }

  private struct State {
    var outcomes: [Outcome] = []
    var eventsLeft: Int
    /// Nil once it was called.
    var cancel: (@Sendable () -> Void)?
  }

  let number: Int
  private let state: Mutex<State>
  private let completed = DispatchSemaphore(value: 0)

  /// - Parameter eventsLeft: the number of events before the one that cancels the operation; `.max` for none.
  init(number: Int, eventsLeft: Int) {
    self.number = number
    state = Mutex(State(eventsLeft: eventsLeft))
  }

  /// The text that the answer to this operation's request contains, and no other answer.
  var mark: String { "n=\(number)." }

  var outcomes: [Outcome] { state.withLock { $0.outcomes } }

  func setCancel(_ cancel: @escaping @Sendable () -> Void) { state.withLock { $0.cancel = cancel } }

  /// Releases the operation, which may refer to this ticket.
  func release() {
    let released = state.withLock { $0.cancel.take() }
    withExtendedLifetime(released) {}
  }

  func complete(_ outcome: Outcome) {
    state.withLock { $0.outcomes.append(outcome) }
    completed.signal()
  }

  /// Waits until the operation has completed. Returns false if it does not within the time.
  func waitUntilCompleted(seconds: Double) -> Bool { completed.wait(timeout: .now() + seconds) == .success }

  /// A request for a path with the mark, whose events may cancel the operation.
  func request(_ service: StormService, _ path: String = "/uri", method: HTTPMethod = .get) -> HTTPRequest {
    var request = HTTPRequest(method, service.url("\(path)?\(mark)"))
    request.options.listeners = [TicketListener(ticket: self)]
    return request
  }

  /// Counts an event, which may be the one that cancels the operation.
  func note() {
    let cancel = state.withLock { state -> (@Sendable () -> Void)? in
      state.eventsLeft -= 1
      return state.eventsLeft < 0 ? state.cancel.take() : nil
    }
    cancel?()
  }
}

/// Cancels an operation on the thread that reports an event of its call.
private struct TicketListener: EventListener {
  let ticket: Ticket

  func receive(_ event: Event, in call: Call) { ticket.note() }
}
