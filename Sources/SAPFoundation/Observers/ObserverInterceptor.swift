import MartletEngine
import MartletSemantics
import MartletURLSession

/// Asks the observers and the delegate about the requests and responses of one task, one after another.
struct ObserverInterceptor: Interceptor {
  let task: SAPURLSessionTask
  /// The task's original request: what Foundation's request has and the engine's has not.
  let template: URLRequest
  private var session: SAPURLSession { task.session }

  init(task: SAPURLSessionTask, template: URLRequest) {
    self.task = task
    self.template = template
  }

  func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    try await task.waitUntilResumed()
    call[SAPURLSessionTask.ofCall] = task
    task.mutable.withLock { $0.call = call }
    var request = request
    var response: HTTPResponse?
    asking: for handler in session.eventHandlers where session.isCurrent(handler) {
      if let observer = handler.intercepting {
        switch try await observer.interceptor.prepare(request, in: call) {
        case .send(let prepared): request = prepared
        case .respond(let given):
          response = given
          break asking
        }
        continue
      }
      let shown = request.urlRequest(like: template)
      let answer: SAPURLSession.RequestDisposition = try await session.ask(handler) { [task, session] events, done in
        events.sapURLSession(session, task: task, willSend: shown, completionHandler: done)
      }
      switch answer {
      case .allow(let changed): try request.apply(changed, insteadOf: shown, session.foundationConfiguration)
      case .cancel(let error): throw task.fail(error)
      case .respond(let given, let data):
        response = HTTPResponse(given, data, to: request)
        break asking
      }
    }
    task.mutable.withLock { $0.correlationID = call.correlationID }
    beginAttempt(with: request.urlRequest(like: template))
    return response.map(Preparation.respond) ?? .send(request)
  }

  /// Records the request that is sent now, and makes a new backing task unless the attempt only follows a redirect.
  private func beginAttempt(with sent: URLRequest) {
    let isNew = task.mutable.withLock { state in
      defer { state.followsRedirect = false }
      state.sent = sent
      state.response = nil
      return !state.followsRedirect
    }
    guard isNew else { return }
    let backing = BackingTask(sent, number: session.nextNumber(), of: task)
    task.mutable.withLock { $0.backing = backing }
    session.notify { [task, session] in $0.sapURLSession(session, task: task, didCreate: backing) }
  }

  func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    var outcome = outcome
    var isReplaced = false
    var shown = outcome.response
    let isLocal = (try? outcome.get().networkHead) == nil
    task.mutable.withLock { $0.isAnsweredLocally = isLocal }
    asking: for handler in session.eventHandlers where session.isCurrent(handler) {
      if let observer = handler.intercepting {
        switch try await observer.interceptor.review(outcome, of: attempt, in: call) {
        case .accept: break
        case .replace(let response): (outcome, shown, isReplaced) = (.success(response), response.urlResponse, true)
        case .resend(let next, let delay, let reason): return .resend(next, after: delay, reason: reason)
        }
        continue
      }
      guard case .success(var response) = outcome, let current = shown else { continue }
      let answer: SAPURLSession.ResponseDisposition = try await session.ask(handler) { [task, session] events, done in
        events.sapURLSession(session, dataTask: task, didReceive: current, completionHandler: done)
      }
      switch answer {
      case .allow(let changed) where changed === current: continue
      case .allow(let changed):
        response.apply(changed, insteadOf: response.urlResponse)
        (outcome, shown, isReplaced) = (.success(response), changed, true)
      case .cancel(let error): throw task.fail(error)
      case .resend(let request): return try resend(request, after: attempt)
      case .becomeDownload:
        task.mutable.withLock { $0.isDownload = true }
        break asking
      }
    }
    task.mutable.withLock { $0.response = shown }
    guard isReplaced, case .success(let response) = outcome else { return .accept }
    return .replace(response)
  }

  /// Resends the request as the task asked for it, with what the handler's request changes of that. Fields that only
  /// the last attempt had, such as a token, are not the handler's changes and are not sent again.
  private func resend(_ request: URLRequest, after attempt: Attempt) throws -> Verdict {
    var (next, request) = (attempt.request, request)
    let asked = next.urlRequest(like: template)
    for (name, value) in attempt.sent.urlRequest(like: template).fields where request.fields[name] == value {
      request.setValue(asked.fields[name], forHTTPHeaderField: name.rawName)
    }
    try next.apply(request, insteadOf: asked, session.foundationConfiguration)
    return .resend(next, reason: "an observer or the delegate requested a resend")
  }
}

extension Outcome {
  fileprivate var response: URLResponse? { (try? get())?.urlResponse }
}

extension SAPURLSessionTask {
  /// The task of a call, for transports and for observers that are interceptors.
  static let ofCall = CallLocal<SAPURLSessionTask?>(nil)

  /// The interceptors that let observers and delegate take part in a call for the task.
  func interceptors(like template: URLRequest) -> [any Interceptor] {
    [ObserverInterceptor(task: self, template: template), AuthenticationInterceptor([ChallengeSource(self)])]
  }

  /// Returns the request that follows a redirect; nil if a handler refuses it.
  func resolveRedirect(
    to next: HTTPRequest, after response: HTTPResponse, like template: URLRequest
  ) async throws -> HTTPRequest? {
    mutable.withLock { $0.followsRedirect = true }
    guard !session.eventHandlers.isEmpty else { return next }
    guard let redirect = response.urlResponse else { return next }
    let shown = next.urlRequest(like: template)
    let answer = try await resolve(SAPURLSession.HTTPRedirectDisposition.allow(shown)) { [self] in
      $0.sapURLSession(
        session, task: self, willPerformHTTPRedirection: redirect, newRequest: $1, completionHandler: $2)
    }
    guard case .allow(let request) = answer else { return nil }
    var next = next
    try next.apply(request, insteadOf: shown, session.foundationConfiguration)
    return next
  }

  /// Returns the response that the cache stores; nil if a handler does not want it stored.
  func resolveStorage(of response: HTTPResponse) async throws -> HTTPResponse? {
    // after the task has completed, the cache revalidates in the background
    guard mutable.withLock({ $0.phase != .completed }) else { return response }
    let data = try await response.body.collect(upTo: .max)
    guard let shown = response.urlResponse else { return nil }
    let proposed = CachedURLResponse(response: shown, data: data)
    let answer = try await resolve(SAPURLSession.CacheResponseDisposition.allow(proposed)) { [self] in
      $0.sapURLSession(session, dataTask: self, willCacheResponse: $1, completionHandler: $2)
    }
    guard case .allow(let chosen) = answer, chosen.storagePolicy != .notAllowed else { return nil }
    var stored = response
    if chosen.response !== shown { stored.apply(chosen.response, insteadOf: shown) }
    stored.body = ResponseBody(chosen.data)
    return stored
  }
}

/// Keeps a task's counters and measurements, and reports them to observers and the delegate.
struct TaskListener: EventListener {
  let task: SAPURLSessionTask

  func receive(_ event: Event, in call: Call) {
    switch event {
    case .attempt(_, let request):
      task.mutable.withLock {
        $0.counts = TaskState.ByteCounts()
        $0.counts.expectedToSend = request.body.length ?? -1
      }
    case .progress(let progress) where progress.direction == .sent: didSend(progress)
    case .progress(let progress): didReceive(progress)
    case .metrics(let metrics):
      task.mutable.withLock { $0.metrics.append(metrics) }
      task.session.notify { [task] in $0.sapURLSession(task.session, task: task, didFinishCollecting: metrics) }
    default: break
    }
  }

  private func didSend(_ progress: TransferProgress) {
    let step = task.mutable.withLock { state in
      defer { state.counts.sent = progress.completed }
      return progress.completed - state.counts.sent
    }
    task.session.notify { [task] in
      $0.sapURLSession(
        task.session, task: task, didSendBodyData: step, totalBytesSent: progress.completed,
        totalBytesExpectedToSend: progress.total ?? -1)
    }
  }

  private func didReceive(_ progress: TransferProgress) {
    let (step, shown) = task.mutable.withLock { state in
      defer {
        state.counts.received = progress.completed
        state.counts.expectedToReceive = progress.total ?? -1
      }
      return (progress.completed - state.counts.received, Handed(value: state.progress))
    }
    if shown.value != nil {
      task.session.delegateQueue.addOperation {
        shown.value?.totalUnitCount = progress.total ?? -1
        shown.value?.completedUnitCount = progress.completed
      }
    }
    guard let download = task as? SAPURLSessionDownloadTask else { return }
    task.session.notify { [session = task.session] in
      $0.sapURLSession(
        session, downloadTask: download, didWriteData: step, totalBytesWritten: progress.completed,
        totalBytesExpectedToWrite: progress.total ?? -1)
    }
  }
}
