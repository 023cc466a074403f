@_spi(Toolkit) import MartletEngine
import MartletSemantics

/// Lets observers and delegate take part in the requests that an observer makes through the engine, for a CSRF token,
/// for example. There is a task for each such call, so that observers authenticate and mark it like any other.
final class InternalRequests: EventListener {
  private struct Owner {
    weak var session: SAPURLSession?
  }

  private let owner = Locked(Owner())
  /// The task that was made for a call.
  private let made = CallLocal<SAPURLSessionTask?>(nil)

  /// Sets the session. Call it once. It exists because session and interceptor refer to each other.
  func setSession(_ session: SAPURLSession) { owner.withLock { $0.session = session } }

  /// Makes the task of a call that has none; nil if the session no longer exists.
  func makeTask(for request: HTTPRequest, in call: Call) -> SAPURLSessionTask? {
    guard let session = owner.withLock({ $0.session }) else { return nil }
    let asked = ShownRequest(request, of: nil).urlRequest
    // The task is part of the call, so that its context is the one for which the call was made.
    let task = call.parent.perform { SAPURLSessionTask(asked, of: session, to: .events) }
    task.mutable.withLock { $0.phase = .running }
    call[made] = task
    call[SAPURLSessionTask.ofCall] = task
    return task
  }

  /// Completes the task of an internal call: observers that count tasks get the completion of each.
  var events: Event.Kinds { .finished }

  func receive(_ event: Event, in call: Call) {
    guard case .finished(let failure) = event, let task = call[made] else { return }
    let session = task.session
    // A body that the observer did not read is not a failure.
    let error = failure.flatMap { $0.isCancelled && $0.response != nil ? nil : $0.taskError }
    task.mutable.withLock { ($0.phase, $0.error) = (.completed, error) }
    session.callbacks.add {
      for observer in session.observers {
        observer.sapURLSession(session, task: task, didCompleteWithError: error) { _ in }
      }
      session.delegate?.sapURLSession(session, task: task, didCompleteWithError: error)
    }
  }
}
