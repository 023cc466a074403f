import MartletEngine
import MartletSemantics

/// Lets observers and delegate take part in the requests that an observer makes through the engine, for a CSRF token,
/// for example. For each such call there is a task, so that observers authenticate and mark it as any other.
final class InternalRequests: Interceptor, EventListener {
  /// The task that stands for an internal call, and the interceptors that let handlers take part in it.
  private struct Participation: Sendable {
    let task: SAPURLSessionTask
    let chain: InterceptorChain
  }

  private struct Owner {
    weak var session: SAPURLSession?
  }

  private let owner = Locked(Owner())
  private let participation = CallLocal<Participation?>(nil)

  /// Sets the session; to be called once, because session and interceptor refer to each other.
  func setSession(_ session: SAPURLSession) { owner.withLock { $0.session = session } }

  func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    guard !request.options.hasTask, let session = owner.withLock({ $0.session }) else { return .send(request) }
    let current = call[participation] ?? participation(in: call, of: session, request)
    call[participation] = current
    let preparation = try await current.chain.prepare(request, in: call)
    if current.task.state == .canceling { throw CancellationError() }
    return preparation
  }

  private func participation(in call: Call, of session: SAPURLSession, _ request: HTTPRequest) -> Participation {
    let template = request.urlRequest(like: URLRequest(url: request.url))
    // the task is part of the call, so that its context is the one for which the call was made
    let task = call.parent.perform { SAPURLSessionTask(template, of: session, to: .events) }
    task.mutable.withLock { $0.phase = .running }
    return Participation(task: task, chain: InterceptorChain(task.interceptors(like: template)))
  }

  func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    try await call[participation]?.chain.review(outcome, of: attempt, in: call) ?? .accept
  }

  /// Completes the task of an internal call: observers that count tasks get the completion of each.
  func receive(_ event: Event, in call: Call) {
    guard case .finished(let failure) = event, let task = call[participation]?.task else { return }
    let session = task.session
    // a body that the observer did not read is no failure
    let error = failure.flatMap { $0.isCancelled && $0.response != nil ? nil : $0.taskError }
    task.mutable.withLock { ($0.phase, $0.error) = (.completed, error) }
    session.delegateQueue.addOperation {
      for observer in session.observers {
        observer.sapURLSession(session, task: task, didCompleteWithError: error) { _ in }
      }
      session.delegate?.sapURLSession(session, task: task, didCompleteWithError: error)
    }
  }
}

extension RequestOptions {
  fileprivate var hasTask: Bool { interceptors.contains { $0 is ObserverInterceptor } }
}
