import Foundation
import MartletEngine
import MartletSemantics

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Runs a task from its beginning to its end: one call of the engine, between the observers.
struct TaskRun: Sendable {
  let task: SAPURLSessionTask
  private var session: SAPURLSession { task.session }

  init(task: SAPURLSessionTask) { self.task = task }

  func run(isAdmitted: Bool) async {
    var data: Data?
    var failure: (any Error)?
    do {
      guard isAdmitted else { throw SAPURLSessionError.invalidURLSession }
      data = try await perform()
      if let failure = task.failure { throw failure }
    } catch { failure = task.failure ?? HTTPError(wrapping: error).forTask }
    // what comes now is told to the end, even if the task was cancelled
    let end = task.mutable.withLock { state in
      let end = Task { [data, failure] in await finish(data, failure) }
      state.work = end
      return end
    }
    await end.value
  }

  // MARK: The work

  private func perform() async throws -> Data? {
    let request = try await engineRequest()
    if let download = task as? SAPURLSessionDownloadTask {
      try await download.perform(request)
      return nil
    }
    let collects = task.mutable.withLock { $0.delivery.collects }
    let (body, _) =
      collects ? try await session.engine.bytesToCollect(for: request) : try await session.engine.bytes(for: request)
    let (delivery, response, isDownload) = task.mutable.withLock { ($0.delivery, $0.response, $0.isDownload) }
    if case .batches(let receive, _, _) = delivery, let response { try await session.onQueue { receive(response) } }
    if isDownload {
      try await task.write(body)
      return nil
    }
    return try await read(body, to: delivery)
  }

  private func read(_ body: ResponseBody, to delivery: Delivery) async throws -> Data? {
    var collected = Data()
    for try await chunk in body {
      try await task.waitUntilResumed()
      let answer = try await task.consult(SAPURLSession.DataDisposition.allow(chunk)) { [task, session] in
        $0.sapURLSession(session, dataTask: task, didReceive: $1, completionHandler: $2)
      }
      guard case .allow(let data) = answer else { continue }
      switch delivery {
      case .whole:
        collected.append(data)
        let limit = session.collectLimit
        if collected.count > limit { throw HTTPError.bodyTooLarge(limit: limit, giving: body) }
      case .batches(_, let receive, _): try await session.onQueue { receive(data) }
      case .events, .file: break
      }
    }
    return delivery.collects ? collected : nil
  }

  /// The request in the engine's terms, with all that lets the observers take part.
  private func engineRequest() async throws -> HTTPRequest {
    guard let original = try await beginning() else { throw SAPURLSessionError.invalidRequest }
    var request = try HTTPRequest(original, body: task.uploadBody(for: original), of: session.foundationConfiguration)
    task.mutable.withLock { $0.sent = original }
    request.options.interceptors = task.interceptors(like: original)
    request.options.listeners =
      [TaskListener(task: task)]
      + session.observers.compactMap { observer in
        (observer as? any ListeningObserver)?.listener
      }
    request.options.redirectDecision = { [task] next, response, _ in
      try await task.decide(on: next, after: response, like: original)
    }
    if !session.parties.isEmpty { request.options.storageDecision = { [task] in try await task.decide(onStoring: $0) } }
    return request
  }

  /// Waits for the earliest date at which the task may begin, and returns the request that is then the right one.
  private func beginning() async throws -> URLRequest? {
    guard let original = task.originalRequest, let date = task.earliestBeginDate else { return task.originalRequest }
    try await Task.sleep(for: .seconds(min(max(0, date.timeIntervalSinceNow), 1e10)))
    let answer = try await task.consult(SAPURLSession.DelayedRequestDisposition.continueLoading) {
      [task, session] events, _, done in
      events.sapURLSession(session, task: task, willBeginDelayedRequest: original, completionHandler: done)
    }
    if case .useNewRequest(let request) = answer { return request }
    return original
  }

  // MARK: The end

  private func finish(_ data: Data?, _ failure: (any Error)?) async {
    var failure = failure
    if failure == nil, let download = task as? SAPURLSessionDownloadTask, let location = task.downloadLocation {
      session.tell { [session] in $0.sapURLSession(session, downloadTask: download, didFinishDownloadingTo: location) }
    }
    var isStopped = false
    for party in session.observers.map(Party.init) where !isStopped && session.takesPart(party) {
      if case .cancel(let error) = await answer(of: party, to: failure) { (failure, isStopped) = (error, true) }
    }
    let delegate = isStopped ? nil : Handed(value: session.delegate)
    let over = task.mutable.withLock { state in
      (state.phase, state.error, state.work) = (.over, failure, nil)
      defer { (state.delivery, state.resumeHandlers) = (.events, []) }
      return state
    }
    let resumeData = over.resumption.flatMap { try? JSONEncoder().encode($0) }
    session.delegateQueue.addOperation { [task, session, failure] in
      delegate?.value?.sapURLSession(session, task: task, didCompleteWithError: failure)
      over.delivery.finish(data, over.location, over.response, failure)
      for handler in over.resumeHandlers { handler(resumeData) }
      if let location = over.location { try? FileManager.default.removeItem(at: location) }
      session.dismiss(task)
    }
  }

  /// A task that was cancelled tells its end, and waits for nobody.
  private func answer(of party: Party, to failure: (any Error)?) async -> SAPURLSession.CancellableDisposition {
    let isCancelled = task.mutable.withLock { $0.isCancelled }
    let answer: SAPURLSession.CancellableDisposition? = try? await session.ask(party) { [task, session] events, done in
      (events as? any SAPURLSessionObserving)?.sapURLSession(
        session, task: task, didCompleteWithError: failure, completionHandler: done)
      if isCancelled { done(.allow) }
    }
    return answer ?? .allow
  }
}
