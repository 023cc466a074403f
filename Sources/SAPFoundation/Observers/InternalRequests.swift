import Foundation
import MartletEngine
import MartletSemantics

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Lets the observers take part in requests that one of them makes through the engine, a CSRF token's say: for them it is a task
/// like any other, so that such a request is authenticated and marked as all others are.
final class InternalRequests: Interceptor, EventListener {
  private struct Owner {
    weak var session: SAPURLSession?
  }

  private let owner = Locked(Owner())
  private let interceptors = ExchangeLocal<[any Interceptor]>([])
  private let task = ExchangeLocal<SAPURLSessionTask?>(nil)

  func serve(_ session: SAPURLSession) { owner.withLock { $0.session = session } }

  func prepare(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
    guard !request.options.hasTask, let session = owner.withLock({ $0.session }) else { return request }
    if exchange[interceptors].isEmpty {
      var template = URLRequest(url: request.url)
      template = request.urlRequest(like: template)
      let task = SAPURLSessionTask(template, of: session, to: .events)
      task.mutable.withLock { $0.phase = .running }
      exchange[self.task] = task
      exchange[interceptors] = task.interceptors(like: template)
    }
    var request = request
    for interceptor in exchange[interceptors] { request = try await interceptor.prepare(request, in: exchange) }
    if exchange[task]?.state == .canceling { throw CancellationError() }
    return request
  }

  func review(_ outcome: Outcome, of attempt: Attempt, in exchange: Exchange) async throws -> Verdict {
    var outcome = outcome
    var verdict = Verdict.accept
    for interceptor in exchange[interceptors].reversed() {
      switch try await interceptor.review(outcome, of: attempt, in: exchange) {
      case .accept: continue
      case .replace(let response): (outcome, verdict) = (.success(response), .replace(response))
      case .resend(let next, let delay, let reason): return .resend(next, after: delay, reason: reason)
      }
    }
    return verdict
  }
}

extension InternalRequests {
  /// The end of such a task: who counts beginnings counts ends too.
  func receive(_ event: Event, in exchange: Exchange) {
    guard case .finished(let failure) = event, let task = exchange[task] else { return }
    let session = task.session
    // whose body nobody wanted is no failure
    let error = failure.flatMap { $0.isCancelled && $0.response != nil ? nil : $0.forTask }
    task.mutable.withLock { ($0.phase, $0.error) = (.over, error) }
    session.delegateQueue.addOperation {
      for observer in session.observers {
        observer.sapURLSession(session, task: task, didCompleteWithError: error) { _ in }
      }
      session.delegate?.sapURLSession(session, task: task, didCompleteWithError: error)
    }
  }
}

extension SAPURLSessionTask {
  /// What lets observers and delegate take part in the task.
  func interceptors(like template: URLRequest) -> [any Interceptor] {
    [ObserverInterceptor(task: self, template: template), AuthenticationInterceptor([ChallengeSource(self)])]
  }
}

extension RequestOptions {
  fileprivate var hasTask: Bool { interceptors.contains { $0 is ObserverInterceptor } }
}
