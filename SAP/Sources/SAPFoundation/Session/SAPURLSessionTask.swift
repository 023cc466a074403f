@_spi(Credentials) @_spi(Toolkit) public import MartletEngine
@_spi(Toolkit) import MartletSemantics
@_spi(Toolkit) import MartletURLSession

/// A task of a session: one request, which is sent as often as necessary to get its response.
///
/// It begins with ``resume()``. Its completion handler is called once, on the session's `delegateQueue`. A task fails
/// with exactly the error that an observer gave, or with a `URLError` whose `underlyingHTTPError` has the details.
///
/// SAFETY: all stored properties are constants, and the changing state is behind a lock.
public class SAPURLSessionTask: @unchecked Sendable {
  /// A unique identifier, which stays the same when the request is sent again.
  public var taskID: UUID {
    mutable.withLock { state in
      let identifier = state.identifier ?? UUID()
      state.identifier = identifier
      return identifier
    }
  }
  /// The request that the task was made with.
  public let originalRequest: URLRequest?
  let session: SAPURLSession
  /// The body that the task has besides its request.
  let upload: Upload?
  /// The request in the engine's form; nil if it is made from ``originalRequest`` when the task begins.
  let engineRequest: HTTPRequest?
  let mutable: Locked<TaskState>
  private var contextValues: ContextValues {
    mutable.withLock { state in
      let values = state.contextValues ?? ContextValues()
      state.contextValues = values
      return values
    }
  }

  init(
    _ request: URLRequest?, upload: Upload? = nil, as engineRequest: HTTPRequest? = nil, of session: SAPURLSession,
    to delivery: ResultReceiver
  ) {
    originalRequest = request
    self.session = session
    self.upload = upload
    self.engineRequest = engineRequest
    mutable = Locked(TaskState(request, delivery))
  }

  /// Values that an app or an observer keeps with the task, even when the request is sent again.
  ///
  /// Any thread may use this property, so the values must be safe to use from any thread, too. A closure that changes
  /// it (`merge`) reads the values before the change. Tasks that an observer makes do not inherit it.
  public var context: [String: Any] {
    get { contextValues.all }
    _modify { yield &contextValues.all }
  }

  /// The context for requests that this task waits for. If an observer makes such requests on a queue of its own, wrap
  /// that code in `perform`, so that they never wait for the task. Requests made within a callback already have the
  /// context.
  public var callContext: SAPURLSession.CallContext { mutable.withLock { $0.call?.context ?? $0.parent } }

  // MARK: - Control

  /// Starts the task, or continues it after ``suspend()``; otherwise does nothing. If the session was invalidated, the
  /// task fails with ``SAPURLSessionError/invalidURLSession``.
  public func resume() {
    switch mutable.withLock({ $0.resume() }) {
    case .start: begin()
    case .release(let waiting): for resumed in waiting { resumed.answer(.success(())) }
    case .nothing: break
    }
  }

  /// Suspends the task: it sends nothing more, and reads no more of a body, so the server has to wait, too. A download
  /// to a file is suspended only between two attempts.
  public func suspend() {
    mutable.withLock { if $0.phase == .running { $0.phase = .suspended } }
  }

  /// Fails the task with `URLError.cancelled`, even if it waits for an observer's answer, and even if it was never
  /// resumed. Then it sends nothing.
  public func cancel() {
    let (work, begins) = mutable.withLock { state in
      state.isCancelled = state.isCancelled || state.phase != .completed
      let begins = state.phase == .idle
      if begins { state.phase = .running }
      return (state.work, begins)
    }
    if begins { begin() } else { work?.cancel() }
  }

  private func begin() {
    session.cookieStorage?.synchronize()
    let isValid = session.didBegin(self)
    let priority: TaskPriority? = priority > 0.5 ? .high : priority < 0.5 ? .low : nil
    let context = CallContext.current
    let (parent, wasCancelled) = mutable.withLock { state in
      if !context.isEmpty { state.parent = context }
      state.login = Beginning.ofLogin
      state.begun = state.login ?? .now
      return (state.parent, state.isCancelled)
    }
    let refusal: (any Error)? =
      if !isValid { SAPURLSessionError.invalidURLSession } else if wasCancelled { URLError(.cancelled) } else { nil }
    let work = parent.perform { Task(priority: priority) { await TaskRun(task: self).run(unless: refusal) } }
    let isCancelled = mutable.withLock { state in
      // The work may already be at its end, or past it.
      if state.phase != .completed, state.work == nil { state.work = work }
      return state.isCancelled
    }
    if isCancelled { work.cancel() }
  }
}

// MARK: - State

extension SAPURLSessionTask {
  /// The state: `.suspended` before ``resume()`` and after ``suspend()``; `.canceling` from ``cancel()`` until the task
  /// has completed.
  public var state: URLSessionTask.State {
    mutable.withLock { state in
      if state.phase == .completed { return .completed }
      if state.isCancelled { return .canceling }
      return state.phase == .running ? .running : .suspended
    }
  }

  /// A task of Foundation's type for the current or last attempt; nil before the first. **Do not call its `resume`.**
  ///
  /// Its properties are those of this task, and its `cancel` cancels this task; its `resume` and `suspend` do nothing.
  public var urlSessionTask: URLSessionTask? {
    guard case .described(let sent, let number) = mutable.withLock({ $0.attempt.backing }) else { return madeBacking }
    let task = BackingTask(sent.urlRequest, number: number, of: self)
    mutable.withLock { state in
      if case .described(_, number: number) = state.attempt.backing { state.attempt.backing = .made(task) }
    }
    return madeBacking ?? task
  }

  private var madeBacking: BackingTask? {
    if case .made(let task) = mutable.withLock({ $0.attempt.backing }) { task } else { nil }
  }

  /// The last request that was sent, with the changes of observers and redirects. The original request before the first
  /// attempt.
  public var currentRequest: URLRequest? {
    mutable.withLock { $0.attempt.request }?.urlRequest ?? mutable.withLock { $0.begunWith }
  }

  /// The response, with the changes of observers; nil until there is one.
  public var response: URLResponse? { mutable.withLock { $0.attempt.response } }

  /// The identifier from a ``CorrelationObserver``, for error reports; nil without such an observer and before the
  /// first attempt.
  public var correlationID: String? { mutable.withLock { $0.attempt.correlationID } }

  /// Whether the response came from a cache or from an observer.
  var isAnsweredLocally: Bool { mutable.withLock { $0.attempt.isAnsweredLocally } }

  /// The error that the task failed with; nil if it has not failed.
  public var error: (any Error)? { mutable.withLock { $0.error } }

  /// The priority, between 0 and 1; 0.5 by default. It is read when the task begins.
  public var priority: Float {
    get { mutable.withLock { $0.settings.priority } }
    set { mutable.withLock { $0.settings.priority = newValue } }
  }

  /// A description for people; nil by default.
  public var taskDescription: String? {
    get { mutable.withLock { $0.settings.description } }
    set { mutable.withLock { $0.settings.description = newValue } }
  }

  /// The earliest date at which the request is sent; at once by default. It is read when the task begins. On that date
  /// observers and the delegate decide whether the request is still right (`willBeginDelayedRequest`).
  public var earliestBeginDate: Date? {
    get { mutable.withLock { $0.settings.earliestBeginDate } }
    set { mutable.withLock { $0.settings.earliestBeginDate = newValue } }
  }

  /// The number of bytes of the request's body that were sent in the last attempt.
  public var countOfBytesSent: Int64 { mutable.withLock { $0.counts.sent } }
  /// The number of bytes of the response's body that were received in the last attempt, decoded.
  public var countOfBytesReceived: Int64 { mutable.withLock { $0.counts.received } }
  /// The length of the request's body in bytes; -1 if it is not known.
  public var countOfBytesExpectedToSend: Int64 { mutable.withLock { $0.counts.expectedToSend } }
  /// The length of the response's body in bytes; -1 if it is not known.
  public var countOfBytesExpectedToReceive: Int64 { mutable.withLock { $0.counts.expectedToReceive } }

  /// The measurements of the attempts, in order, if the transport measures them.
  public var metrics: [TransferMetrics] { mutable.withLock { $0.metrics } }

  /// The progress of receiving the response's body. It changes on the session's `delegateQueue`. Cancelling it cancels
  /// the task.
  public var progress: Progress {
    var made: Progress?
    while true {
      let (shown, counts) = mutable.withLock { ($0.progress, $0.counts) }
      if let shown { return shown }
      // It is made and set without the lock, because the app may observe the progress that it becomes a part of.
      let progress = made ?? Progress(totalUnitCount: -1)
      progress.cancellationHandler = { [weak self] in self?.cancel() }
      (progress.totalUnitCount, progress.completedUnitCount) = (counts.expectedToReceive, counts.received)
      let isUpToDate = mutable.withLock { state in
        guard state.progress == nil, state.counts == counts else { return false }
        state.progress = progress
        return true
      }
      if isUpToDate { return progress }
      made = progress
    }
  }

  /// The file with the body, if an observer made the task a download (`.becomeDownload`). The file is removed when the
  /// completion handler has returned.
  public var downloadLocation: URL? { mutable.withLock { $0.download.location } }
}

// MARK: - Downloads

/// A task that writes the response's body to a file.
///
/// SAFETY: like its superclass, it has constants only.
public final class SAPURLSessionDownloadTask: SAPURLSessionTask, @unchecked Sendable {
  /// What the app has passed to continue an earlier download.
  let resumption: DownloadResumption?

  init(_ request: URLRequest, of session: SAPURLSession, to delivery: ResultReceiver) {
    resumption = nil
    super.init(request, of: session, to: delivery)
  }

  /// - Parameter request: the request to continue with; nil for one that has only the URL of the data.
  init(
    resuming data: Data, with request: URLRequest? = nil, of session: SAPURLSession, to delivery: ResultReceiver
  ) {
    // A local, because the optimizer of Swift 6.3.1 crashes on a property that is set from an optional decoding.
    let resumption = try? JSONDecoder().decode(DownloadResumption.self, from: data)
    self.resumption = resumption
    super.init(resumption.map { request ?? URLRequest(url: $0.url) }, of: session, to: delivery)
  }

  /// Cancels the task, and returns the data with which
  /// ``SAPURLSession/downloadTask(withResumeData:completionHandler:)`` continues the download. The data are nil if that
  /// is not possible: nothing was received, the server sent no strong validator, or the task has already completed.
  ///
  /// The handler is called on the session's `delegateQueue` when the task has completed.
  public func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void) {
    let isOver = mutable.withLock { state in
      if state.phase != .completed { state.download.handlers.append(completionHandler) }
      return state.phase == .completed
    }
    if isOver { session.callbacks.add { completionHandler(nil) } } else { cancel() }
  }

  /// Downloads to a temporary file. Responses with a status other than 2xx are written to the file, too.
  func send(_ request: HTTPRequest) async throws {
    try checkResumption()
    let location = Self.makeTemporaryFile()
    let destination = DownloadDestination(location, label: Self.temporaryFileLabel, access: .ownerOnly)
    var request = request
    request.options.expecting = .any
    request.options.storesDownloads = true
    let response: HTTPResponse
    do {
      response = try await session.engine.resumableDownload(for: request, to: destination, resuming: resumption)
    } catch {
      mutable.withLock { $0.download.resumption = error.resumption }
      throw error
    }
    guard response.status.isSuccessful else { return try await write(response.body) }
    mutable.withLock { $0.download.location = location }
  }

  /// Refuses a request for another URL than that of the resume data: it would silently begin a download from the start.
  private func checkResumption() throws(HTTPError) {
    guard let resumption, let url = originalRequest?.url, url.absoluteURL != resumption.url.absoluteURL else { return }
    throw HTTPError(
      .invalidRequest,
      "the resume data are for \(resumption.url.redacted), but the request is for \(url.redacted): pass the request of "
        + "the download that was stopped", phase: .preparing)
  }
}

// MARK: - Changes

extension SAPURLSessionTask {
  /// Returns why a successful response of this task does not confirm a change, for messages; nil if it may confirm it.
  @_spi(Toolkit) public func objection(to fields: HTTPFields, body: Data) -> String? {
    let attempt = mutable.withLock { $0.attempt }
    return ChangeAnswer.objection(
      redirected: attempt.redirected?.head, last: attempt.request?.head, fields: fields, body: body)
  }

  /// - Throws: ``UnconfirmedChange`` if this successful response does not confirm the task's change.
  func checkConfirmation(_ response: URLResponse, _ body: Data) throws(UnconfirmedChange) {
    guard let response = response as? HTTPURLResponse else { return }
    if let objection = objection(to: ReceivedHead.head(of: response).fields, body: body) {
      throw UnconfirmedChange(objection: objection)
    }
  }
}

extension SAPURLSessionTask: CustomReflectable {
  /// A mirror with the method and the URL of the request, without user information and query: the fields and the body
  /// may be secrets.
  public var customMirror: Mirror {
    Mirror(self, children: ["taskID": taskID, "request": originalRequest?.summary as Any])
  }
}

extension URLRequest {
  /// Method and URL without secrets.
  var summary: String { "\(httpMethod ?? "GET") \(url?.redacted ?? "")" }
}
