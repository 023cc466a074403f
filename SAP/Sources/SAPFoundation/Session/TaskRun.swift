@_spi(Credentials) @_spi(Stores) @_spi(Toolkit) import MartletEngine
import MartletSemantics

/// Runs a task from `resume()` to its completion handler. This is one call of the engine, in which observers and
/// delegate take part.
struct TaskRun: Sendable {
  let task: SAPURLSessionTask
  private var session: SAPURLSession { task.session }
  /// The context in which the task's completion handlers are called.
  private var parent: CallContext { task.mutable.withLock { $0.parent } }

  init(task: SAPURLSessionTask) { self.task = task }

  /// - Parameter refusal: why the task must not begin: it was cancelled, or its session invalidated, before; nil if it
  ///   may.
  func run(unless refusal: (any Error)?) async {
    var data: Data?
    var failure: (any Error)?
    do {
      if let refusal { throw refusal }
      data = try await send()
      if let failure = task.failure { throw failure }
    } catch {
      let reason = task.failure ?? HTTPError(wrapping: error).taskError
      (task as? SAPURLSessionWebSocketTask)?.didFail(reason)
      failure = reason
    }
    let observers = session.state.withLock { $0.observers }
    if observers.isEmpty {
      notifyOfDownload(failure)
      return finish(data, failure, isFinal: false)
    }
    // Observers are called in a task of its own, because this one may have been cancelled.
    let completion = Task { [data, failure] in await complete(data, failure, asking: observers) }
    task.mutable.withLock { if $0.phase != .completed { $0.work = completion } }
    await completion.value
  }

  // MARK: - The call

  private func send() async throws -> Data? {
    let request = try await makeRequest()
    if let download = task as? SAPURLSessionDownloadTask {
      try await download.send(request)
      return nil
    }
    if let webSocket = task as? SAPURLSessionWebSocketTask {
      try await webSocket.run(request)
      return nil
    }
    let collects = task.mutable.withLock { $0.delivery.collects }
    let (body, _) =
      collects ? try await session.engine.bytesToCollect(for: request) : try await session.engine.bytes(for: request)
    let (delivery, response, isDownload) = task.mutable.withLock { state in
      (state.delivery, state.attempt.response, state.download.isChosen)
    }
    switch (delivery, response) {
    case (.batches(let receive, _, _), let response?):
      try await session.callOnQueue(in: parent) { receive(response) }
    case (.stream(let stream), let response?): stream.begin(response)
    default: break
    }
    if isDownload {
      try await task.write(body)
      return nil
    }
    if delivery.collects, session.eventHandlers.isEmpty, let received = try body.takeReceived() {
      body.cancel()
      try await task.waitUntilResumed()
      try checkSize(received, of: body)
      return received
    }
    // Observers also get the body, so it is read within the context of the call.
    return try await task.callContext.perform { try await read(body, for: delivery) }
  }

  /// Returns the engine's request, with the options that let observers and delegate take part in the call.
  private func makeRequest() async throws -> HTTPRequest {
    guard let original = try await requestToStartWith() else { throw SAPURLSessionError.invalidRequest }
    var request = try task.engineRequest ?? HTTPRequest(original, body: task.uploadBody(for: original), of: session)
    task.mutable.withLock { state in
      state.begunWith = original
      if !request.body.isEmpty { state.body = request.body }
    }
    let handlers = session.eventHandlers
    request.options.listeners = [TaskListener(task: task)] + handlers.compactMap(\.listener)
    if !handlers.isEmpty {
      request.options.storageDecision = { [task] in try await task.resolveStorage(of: $0) }
    }
    return request
  }

  /// Waits for the task's `earliestBeginDate`, and returns the request that the handlers then choose.
  private func requestToStartWith() async throws -> URLRequest? {
    guard let original = task.originalRequest, let date = task.earliestBeginDate else { return task.originalRequest }
    let delay = Duration.seconds(min(max(0, date.timeIntervalSinceNow), 1e10))
    try await session.engine.configuration.clock.sleep(for: delay)
    let answer = try await task.resolve(
      SAPURLSession.DelayedRequestDisposition.continueLoading,
      "sapURLSession(_:task:willBeginDelayedRequest:completionHandler:)"
    ) { [task, session] events, _, done in
      events.sapURLSession(session, task: task, willBeginDelayedRequest: original, completionHandler: done)
    }
    if case .useNewRequest(let request) = answer { return request }
    return original
  }

  /// Reads the body, and calls the handlers for each batch. Returns the bytes for a completion handler that takes the
  /// whole body.
  private func read(_ body: ResponseBody, for delivery: ResultReceiver) async throws -> Data? {
    var collected = Data()
    for try await chunk in body {
      try await task.waitUntilResumed()
      let answer = try await task.resolve(
        SAPURLSession.DataDisposition.allow(chunk), "sapURLSession(_:dataTask:didReceive:completionHandler:) (data)"
      ) { [task, session] in
        $0.sapURLSession(session, dataTask: task, didReceive: $1, completionHandler: $2)
      }
      guard case .allow(let data) = answer else { continue }
      switch delivery {
      case .whole:
        collected.append(data)
        try checkSize(collected, of: body)
      case .batches(_, let receive, _): try await session.callOnQueue(in: parent) { receive(data) }
      case .stream(let stream): try await stream.send(data)
      case .events, .file: break
      }
    }
    return delivery.collects ? collected : nil
  }

  private func checkSize(_ data: Data, of body: ResponseBody) throws(HTTPError) {
    if data.count > session.collectLimit { throw HTTPError.bodyTooLarge(limit: session.collectLimit, giving: body) }
  }

  // MARK: - Completion

  private func complete(_ data: Data?, _ failure: (any Error)?, asking observers: [SessionEventHandler]) async {
    notifyOfDownload(failure)
    var failure = failure
    var isFinal = false
    for observer in observers where !isFinal && observer.isCurrent {
      if case .cancel(let error) = await answer(of: observer, to: failure) { (failure, isFinal) = (error, true) }
    }
    finish(data, failure, isFinal: isFinal)
  }

  /// Calls the delegate and the completion handler.
  ///
  /// - Parameter isFinal: whether an observer gave a final answer, so that the delegate is not called.
  private func finish(_ data: Data?, _ failure: (any Error)?, isFinal: Bool) {
    let delegate = isFinal ? nil : session.state.withLock { $0.delegate }
    let result = task.mutable.withLock { $0.complete(failure) }
    if !isContinuable(result.download, failure) { result.download.resumption?.discard() }
    let resumeData = result.download.resumption.flatMap { try? JSONEncoder().encode($0) }
    let deliver: CallbackQueue.Callback = { [task, session] in
      result.perform {
        delegate?.delegate?.sapURLSession(session, task: task, didCompleteWithError: failure)
        result.delivery.finish(data, result.download.location, result.response, failure)
        for handler in result.download.handlers { handler(resumeData) }
      }
      if let location = result.download.location { try? FileManager.default.removeItem(at: location) }
      session.didComplete(task)
    }
    if result.isAwaited, session.eventHandlers.isEmpty { deliver() } else { session.callbacks.add(deliver) }
  }

  /// Whether the app has the resume data of a failed download: a handler or the error passes it on, or the app began
  /// the download with this data.
  private func isContinuable(_ download: TaskState.Download, _ failure: (any Error)?) -> Bool {
    !download.handlers.isEmpty || (failure as? URLError)?.hasResumeData == true
      || download.resumption == (task as? SAPURLSessionDownloadTask)?.resumption
  }

  /// Notifies observers and the delegate that a download is complete.
  private func notifyOfDownload(_ failure: (any Error)?) {
    guard failure == nil, let download = task as? SAPURLSessionDownloadTask, let location = task.downloadLocation else {
      return
    }
    session.notify { [session] in $0.sapURLSession(session, downloadTask: download, didFinishDownloadingTo: location) }
  }

  /// Notifies an observer that the task has completed, and returns its answer. A cancelled task does not wait for it.
  private func answer(
    of observer: SessionEventHandler, to failure: (any Error)?
  ) async -> SAPURLSession.CancellableDisposition {
    let isCancelled = task.mutable.withLock { $0.isCancelled }
    let answer: SAPURLSession.CancellableDisposition? = try? await session.ask(
      observer, "sapURLSession(_:task:didCompleteWithError:completionHandler:)", of: task
    ) { [task, session] _, done in
      observer.observer?.sapURLSession(
        session, task: task, didCompleteWithError: failure, completionHandler: done)
      if isCancelled { done(.allow) }
    }
    return answer ?? .allow
  }
}

// MARK: - The parts of a task that a run uses

extension SAPURLSessionTask {
  /// When the task began, in the order of calls and sign-outs.
  var begun: Beginning { mutable.withLock { $0.begun } }

  /// The error that an observer, the delegate or the completion failed the task with; the first one counts.
  var failure: (any Error)? { mutable.withLock { $0.error } }

  /// Fails the task with this error, and returns the error to throw: an earlier one if any.
  func fail(_ error: any Error) -> any Error {
    mutable.withLock { state in
      state.error = state.error ?? error
      return state.error ?? error
    }
  }

  /// Returns at once unless the task is suspended.
  func waitUntilResumed() async throws {
    while let resumed = mutable.withLock({ $0.suspension() }) { try await resumed.wait() }
  }

  /// Writes a body to a temporary file, the task's ``downloadLocation``.
  func write(_ body: ResponseBody) async throws {
    let location = Self.makeTemporaryFile()
    let file = try PartialFile(
      for: location, label: Self.temporaryFileLabel, access: .ownerOnly, phase: .receiving)
    for try await chunk in body {
      try await waitUntilResumed()
      try file.append(chunk)
    }
    try file.complete()
    mutable.withLock { $0.download.location = location }
  }

  static let temporaryFileLabel = "sapurlsession"

  /// Returns a new name in the folder for temporary files.
  static func makeTemporaryFile() -> URL {
    FileManager.default.temporaryDirectory.appending(component: "\(temporaryFileLabel)-\(UUID().uuidString).tmp")
  }
}
