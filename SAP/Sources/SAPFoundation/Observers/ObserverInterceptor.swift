@_spi(Toolkit) import MartletEngine
import MartletSemantics
@_spi(Toolkit) import MartletURLSession

/// Calls the observers and the delegate, one after another, for the requests and responses of a session's tasks.
struct ObserverInterceptor: ImmediateInterceptor {
  private let internalRequests: InternalRequests

  init(_ internalRequests: InternalRequests) { self.internalRequests = internalRequests }

  func prepareImmediately(_ request: inout HTTPRequest, in call: Call) -> Unfinished<Preparation>? {
    guard let task = call[SAPURLSessionTask.ofCall], task.session.eventHandlers.isEmpty, task.state == .running else {
      return { [request] in try await preparation(of: request, in: call) }
    }
    task.mutable.withLock { $0.call = call }
    task.beginAttempt(with: request, correlationID: call.correlationID)
    return nil
  }

  /// Calls the handlers, once the task is not suspended.
  private func preparation(of request: HTTPRequest, in call: Call) async throws -> Preparation {
    guard let task = call[SAPURLSessionTask.ofCall] ?? internalRequests.makeTask(for: request, in: call) else {
      return .send(request)
    }
    try await task.waitUntilResumed()
    task.mutable.withLock { $0.call = call }
    var request = request
    let response = try await ask(task, about: &request, in: call)
    try await task.waitUntilResumed()  // A handler may have suspended it.
    task.beginAttempt(with: request, correlationID: call.correlationID)
    if task.state == .canceling { throw CancellationError() }  // A task of an internal call has no work to cancel.
    return response.map(Preparation.respond) ?? .send(request)
  }

  /// Applies the changes of the handlers to a request. Returns the response if one of them gives it.
  private func ask(
    _ task: SAPURLSessionTask, about request: inout HTTPRequest, in call: Call
  ) async throws -> HTTPResponse? {
    let session = task.session
    for handler in session.eventHandlers where handler.isCurrent {
      if let observer = handler.intercepting {
        switch try await observer.interceptor.prepare(request, in: call) {
        case .send(let prepared): request = prepared
        case .respond(let given): return given
        @unknown default: break  // none that an observer's interceptor makes
        }
        guard handler.mayOverride else { continue }
      }
      let shown = task.shown(request)
      let reply: SAPURLSession.RequestDisposition? = try await session.ask(
        handler, "sapURLSession(_:task:willSend:completionHandler:)", of: task
      ) { $0.sapURLSession(session, task: task, willSend: shown, completionHandler: $1) }
      guard let answer = reply else { continue }
      switch answer {
      case .allow(let changed): try request.apply(changed, insteadOf: shown, of: task)
      case .cancel(let error): throw task.fail(error)
      case .respond(let given, let data): return HTTPResponse(given, data, to: request)
      }
    }
    return nil
  }

  func reviewImmediately(_ outcome: Outcome, of attempt: Attempt, in call: Call) -> Unfinished<Verdict>? {
    guard let task = call[SAPURLSessionTask.ofCall] else { return nil }
    let isLocal = (try? outcome.get().networkHead) == nil
    task.mutable.withLock { $0.attempt.isAnsweredLocally = isLocal }
    guard task.session.eventHandlers.isEmpty else {
      return { try await verdict(on: outcome, to: task, of: attempt, in: call) }
    }
    let shown = outcome.response
    task.mutable.withLock { $0.attempt.response = shown }
    return nil
  }

  /// Calls the handlers.
  private func verdict(
    on received: Outcome, to task: SAPURLSessionTask, of attempt: Attempt, in call: Call
  ) async throws -> Verdict {
    let session = task.session
    var outcome = received
    var isReplaced = false
    var shown = outcome.response
    asking: for handler in session.eventHandlers where handler.isCurrent {
      if let observer = handler.intercepting {
        switch try await observer.interceptor.review(outcome, of: attempt, in: call) {
        case .accept: break
        case .replace(let response): (outcome, shown, isReplaced) = (.success(response), response.urlResponse, true)
        case .resend(let next, let delay, let reason): return .resend(next, after: delay, reason: reason)
        @unknown default: break  // none that an observer's interceptor makes
        }
        guard handler.mayOverride else { continue }
      }
      guard case .success(var response) = outcome, let current = shown else { continue }
      let reply: SAPURLSession.ResponseDisposition? = try await session.ask(
        handler, "sapURLSession(_:dataTask:didReceive:completionHandler:) (response)", of: task
      ) { $0.sapURLSession(session, dataTask: task, didReceive: current, completionHandler: $1) }
      guard let answer = reply else { continue }
      switch answer {
      case .allow(let changed) where changed === current: continue
      case .allow(let changed):
        response.apply(changed, insteadOf: response.urlResponse)
        (outcome, shown, isReplaced) = (.success(response), changed, true)
      case .cancel(let error): throw task.fail(error)
      case .resend(let request): return try resend(request, of: task, after: attempt)
      case .becomeDownload:
        task.mutable.withLock { $0.download.isChosen = true }
        break asking
      }
    }
    task.mutable.withLock { $0.attempt.response = shown }
    guard isReplaced, case .success(let response) = outcome else { return .accept }
    return .replace(response)
  }

  /// Resends the task's original request, with the changes that the handler's request makes to it. Fields that only the
  /// last attempt had, such as a token, are not the handler's changes and are not sent again.
  private func resend(
    _ request: URLRequest, of task: SAPURLSessionTask, after attempt: Attempt
  ) throws -> Verdict {
    var (next, request) = (attempt.request, request)
    let asked = task.shown(next)
    for (name, value) in task.shown(attempt.sent).fields where request.fields[name] == value {
      request.setValue(asked.fields[name], forHTTPHeaderField: name.rawName)
    }
    try next.apply(request, insteadOf: asked, of: task)
    return .resend(next, reason: "an observer or the delegate requested a resend")
  }
}

extension Outcome {
  fileprivate var response: URLResponse? { (try? get())?.urlResponse }
}

extension SAPURLSessionTask {
  /// The task of a call, for transports and for observers that are interceptors.
  static let ofCall = CallLocal<SAPURLSessionTask?>(nil)

  /// Returns the request as Foundation has it, with the properties of the task's own that the engine's has not.
  fileprivate func shown(_ request: HTTPRequest) -> URLRequest { ShownRequest(request, of: self).urlRequest }

  /// Records the request that is sent now. Records a new backing task, too, unless the request only follows a redirect.
  fileprivate func beginAttempt(with request: HTTPRequest, correlationID: String?) {
    let sent = ShownRequest(request, of: self)
    let number = session.nextNumber()
    let isNew = mutable.withLock { $0.attempt.begin(with: sent, number: number, correlationID: correlationID) }
    guard isNew, !session.eventHandlers.isEmpty, let backing = urlSessionTask else { return }
    session.notify { [self] in $0.sapURLSession(session, task: self, didCreate: backing) }
  }

  /// Returns the request that follows a redirect; nil if a handler refuses it.
  func resolveRedirect(
    to next: HTTPRequest, after response: HTTPResponse
  ) async throws -> HTTPRequest? {
    mutable.withLock { $0.attempt.isFollowingRedirect = true }
    guard !session.eventHandlers.isEmpty else { return next }
    guard let redirect = response.urlResponse else { return next }
    let shown = shown(next)
    let answer = try await resolve(
      SAPURLSession.HTTPRedirectDisposition.allow(shown),
      "sapURLSession(_:task:willPerformHTTPRedirection:newRequest:completionHandler:)"
    ) { [self] in
      $0.sapURLSession(
        session, task: self, willPerformHTTPRedirection: redirect, newRequest: $1, completionHandler: $2)
    }
    guard case .allow(let request) = answer else { return nil }
    var next = next
    try next.apply(request, insteadOf: shown, of: self)
    return next
  }

  /// Returns the response that the cache stores; nil if a handler forbids storing it.
  func resolveStorage(of response: HTTPResponse) async throws -> HTTPResponse? {
    // After the task has completed, the cache revalidates in the background.
    guard mutable.withLock({ $0.phase != .completed }) else { return response }
    let data = try await response.body.collect(upTo: .max)
    guard let shown = response.urlResponse else { return nil }
    let proposed = CachedURLResponse(response: shown, data: data)
    let answer = try await resolve(
      SAPURLSession.CacheResponseDisposition.allow(proposed),
      "sapURLSession(_:dataTask:willCacheResponse:completionHandler:)"
    ) { [self] in
      $0.sapURLSession(session, dataTask: self, willCacheResponse: $1, completionHandler: $2)
    }
    guard case .allow(let chosen) = answer, chosen.storagePolicy != .notAllowed else { return nil }
    var stored = response
    if chosen.response !== shown { stored.apply(chosen.response, insteadOf: shown) }
    stored.body = ResponseBody(chosen.data)
    return stored
  }
}

/// Makes a task known to its calls, maintains its counters and measurements, and reports them to observers and
/// delegate.
struct TaskListener: EventListener {
  let task: SAPURLSessionTask

  var events: Event.Kinds { [.started, .attempt, .progress, .metrics] }

  func receive(_ event: Event, in call: Call) {
    switch event {
    case .started: call[SAPURLSessionTask.ofCall] = task
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

  private func didSend(_ progress: Event.Progress) {
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

  private func didReceive(_ progress: Event.Progress) {
    let (step, shown) = task.mutable.withLock { state in
      defer {
        state.counts.received = progress.completed
        state.counts.expectedToReceive = progress.total ?? -1
      }
      return (
        progress.completed - max(state.counts.received, progress.offset), UncheckedSendable(value: state.progress)
      )
    }
    if shown.value != nil {
      task.session.callbacks.add {
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
