@_spi(Credentials) @_spi(Toolkit) import MartletEngine

/// The changing state of a task.
struct TaskState {
  enum Phase {
    /// Not resumed yet.
    case idle
    case running
    /// Resumed once, and suspended now.
    case suspended
    case completed
  }

  /// The effect of ``SAPURLSessionTask/resume()``.
  enum Resumption {
    case start
    /// The waiting code, to be released now that the task is resumed.
    case release([OneShot<Void>])
    case nothing
  }

  var phase = Phase.idle
  /// When the task began, or the login that began it.
  var begun = Beginning.now
  /// The login that began the task; nil if none did.
  var login: Beginning?
  var isCancelled = false
  /// Sends the request, and completes the task afterwards.
  var work: Task<Void, Never>?
  var suspensions: [OneShot<Void>] = []
  /// The receiver of the results; `.events` once it got them.
  var delivery: ResultReceiver
  /// Whether an async function waits for the result. It needs no queue.
  var isAwaited = false
  /// The task's first request: its original one, or the one that a handler gave for a delayed task.
  var begunWith: URLRequest?
  /// The body of the task; nil if it has none, and when the task has completed.
  var body: RequestBody?
  var error: (any Error)?
  /// The engine's call.
  weak var call: Call?
  /// The calls for which the task was made.
  var parent = CallContext.current
  /// Whether handlers were notified that the task waits for a connection.
  var hasReportedWaiting = false
  var attempt = Attempt()
  var counts = ByteCounts()
  var progress: Progress?
  /// The measurements of all attempts.
  var metrics: [TransferMetrics] = []
  var download = Download()
  /// The stream of the request's body while nothing of it was read.
  var unreadBody: StreamChunks?
  var settings = Settings()
  /// The task's identifier and its values, once they were requested.
  var identifier: UUID?
  var contextValues: ContextValues?

  init(_ request: URLRequest?, _ delivery: ResultReceiver) {
    begunWith = request
    self.delivery = delivery
  }

  /// The current or last attempt.
  struct Attempt {
    var request: ShownRequest?
    var response: URLResponse?
    /// Whether the response did not come over the network.
    var isAnsweredLocally = false
    /// The identifier with which servers log the task.
    var correlationID: String?
    var backing = Backing.none
    /// Whether the next attempt only follows a redirect.
    var isFollowingRedirect = false
    /// The request whose redirects led to ``request``; nil if no redirect was followed.
    var redirected: ShownRequest?

    /// Begins the next attempt. Returns whether it has a new backing task: it does not only follow a redirect.
    mutating func begin(with request: ShownRequest, number: Int, correlationID: String?) -> Bool {
      let isNew = !isFollowingRedirect
      redirected = isNew ? nil : redirected ?? self.request
      (self.request, self.correlationID, response, isFollowingRedirect) = (request, correlationID, nil, false)
      if isNew { backing = .described(request, number: number) }
      return isNew
    }
  }

  /// The task of Foundation's type for the current or last attempt. It takes long to make, so it is made on demand.
  enum Backing {
    /// There was no attempt.
    case none
    case described(ShownRequest, number: Int)
    case made(BackingTask)
  }

  /// The bytes of the current or last attempt.
  struct ByteCounts: Equatable {
    var sent: Int64 = 0
    var received: Int64 = 0
    var expectedToSend: Int64 = 0
    var expectedToReceive: Int64 = -1
  }

  /// The file of a download, and how the download can continue.
  struct Download {
    /// Whether an observer made the task a download.
    var isChosen = false
    var location: URL?
    var resumption: DownloadResumption?
    /// The handlers that get the resume data.
    var handlers: [@Sendable (Data?) -> Void] = []
  }

  /// The app's settings of the task.
  struct Settings {
    var priority: Float = 0.5
    var description: String?
    var earliestBeginDate: Date?
  }

  /// The outcome of a completed task, for its receiver.
  struct Completion {
    let delivery: ResultReceiver
    let isAwaited: Bool
    let download: Download
    /// The body, and the stream that no attempt has read. They refer to the task and to objects of the app, and must
    /// not be released under the task's lock.
    let body: RequestBody?
    let unreadBody: StreamChunks?
    let response: URLResponse?
    let parent: CallContext
    let login: Beginning?

    /// Calls handlers in the context in which the task was made.
    func perform(_ call: () -> Void) {
      guard let login else { return parent.perform(call) }
      Beginning.$ofLogin.withValue(login) { parent.perform(call) }
    }
  }

  /// Completes the task, and returns the result for its receiver. There is none for a second time.
  mutating func complete(_ failure: (any Error)?) -> Completion {
    (phase, error, work) = (.completed, failure, nil)
    let result = Completion(
      delivery: delivery, isAwaited: isAwaited, download: download, body: body, unreadBody: unreadBody,
      response: attempt.response, parent: parent, login: login)
    (delivery, download.handlers, body, unreadBody, parent) = (.events, [], nil, nil, .none)
    return result
  }

  mutating func resume() -> Resumption {
    switch phase {
    case .idle:
      phase = .running
      return .start
    case .suspended:
      phase = .running
      defer { suspensions = [] }
      return .release(suspensions)
    case .running, .completed: return .nothing
    }
  }

  /// Returns the event to wait for before work continues; nil unless the task is suspended.
  mutating func suspension() -> OneShot<Void>? {
    guard phase == .suspended else { return nil }
    let resumed = OneShot<Void>()
    suspensions.append(resumed)
    return resumed
  }
}
