import Foundation
import MartletEngine
import MartletSemantics
import MartletURLSession

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Lets the observers and the delegate of a session take part in one task: each in turn, the next only when the one before
/// has answered.
struct ObserverInterceptor: Interceptor {
  let task: SAPURLSessionTask
  /// The request as the task was given it.
  let template: URLRequest
  private var session: SAPURLSession { task.session }

  init(task: SAPURLSessionTask, template: URLRequest) {
    self.task = task
    self.template = template
  }

  func prepare(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
    try await task.waitUntilResumed()
    exchange[session.wire.task] = task
    var request = request
    asking: for party in session.parties where session.takesPart(party) {
      if let observer = party.events as? any InterceptingObserver {
        request = try await observer.interceptor.prepare(request, in: exchange)
        continue
      }
      let shown = request.urlRequest(like: template)
      let answer: SAPURLSession.RequestDisposition = try await session.ask(party) { [task, session] events, done in
        events.sapURLSession(session, task: task, willSend: shown, completionHandler: done)
      }
      switch answer {
      case .allow(let changed): try request.apply(changed, insteadOf: shown, session.foundationConfiguration)
      case .cancel(let error): throw task.fail(error)
      case .respond(let response, let data):
        exchange[session.wire.answer] = HTTPResponse(response, data, to: request)
        request.options.cachePolicy = .reloadIgnoringCacheData
        request.options.storageDecision = { _ in nil }
        break asking
      }
    }
    task.mutable.withLock { $0.correlationID = exchange.correlationID }
    begin(request.urlRequest(like: template))
    return request
  }

  /// Takes note of what is sent now, with a new backing task unless it only follows a redirect.
  private func begin(_ sent: URLRequest) {
    let isNew = task.mutable.withLock { state in
      defer { state.followsRedirect = false }
      state.sent = sent
      state.response = nil
      return !state.followsRedirect
    }
    guard isNew else { return }
    let backing = BackingTask(sent, number: session.nextNumber(), of: task)
    task.mutable.withLock { $0.backing = backing }
    session.tell { [task, session] in $0.sapURLSession(session, task: task, didCreate: backing) }
  }

  func review(_ outcome: Outcome, of attempt: Attempt, in exchange: Exchange) async throws -> Verdict {
    var outcome = outcome
    var isReplaced = false
    var shown = outcome.response
    let isLocal = (try? outcome.get().wire) == nil
    task.mutable.withLock { $0.isAnsweredLocally = isLocal }
    asking: for party in session.parties where session.takesPart(party) {
      if let observer = party.events as? any InterceptingObserver {
        switch try await observer.interceptor.review(outcome, of: attempt, in: exchange) {
        case .accept: break
        case .replace(let response): (outcome, shown, isReplaced) = (.success(response), response.urlResponse, true)
        case .resend(let next, let delay, let reason): return .resend(next, after: delay, reason: reason)
        }
        continue
      }
      guard case .success(var response) = outcome, let current = shown else { continue }
      let answer: SAPURLSession.ResponseDisposition = try await session.ask(party) { [task, session] events, done in
        events.sapURLSession(session, dataTask: task, didReceive: current, completionHandler: done)
      }
      switch answer {
      case .allow(let changed) where changed === current: continue
      case .allow(let changed):
        response.apply(changed, insteadOf: response.urlResponse)
        (outcome, shown, isReplaced) = (.success(response), changed, true)
      case .cancel(let error): throw task.fail(error)
      case .resend(let request): return try again(request, attempt)
      case .becomeDownload:
        task.mutable.withLock { $0.isDownload = true }
        break asking
      }
    }
    task.mutable.withLock { $0.response = shown }
    guard isReplaced, case .success(let response) = outcome else { return .accept }
    return .replace(response)
  }

  /// A resend begins with what was asked for, changed as far as the observer's request differs from that. What only the last
  /// attempt carried, a token say, is not the observer's: it is old by now, and was meant for one server.
  private func again(_ request: URLRequest, _ attempt: Attempt) throws -> Verdict {
    var (next, request) = (attempt.request, request)
    let asked = next.urlRequest(like: template)
    for (name, value) in attempt.sent.urlRequest(like: template).fields where request.fields[name] == value {
      request.setValue(asked.fields[name], forHTTPHeaderField: name.rawName)
    }
    try next.apply(request, insteadOf: asked, session.foundationConfiguration)
    return .resend(next, reason: "an observer wants the request sent again")
  }
}

extension Outcome {
  fileprivate var response: URLResponse? { (try? get())?.urlResponse }
}
