@_spi(Transports) import MartletEngine
import MartletSemantics
import Synchronization

/// Owns a URLSession, and invalidates it when the last transport or unread body is released. Until then URLSession has
/// a strong reference to its delegate.
final class SessionOwner: Sendable {
  private let session: URLSession
  private let delegate = SessionDelegate()

  init(_ configuration: URLSessionConfiguration) {
    let own = configuration.copy() as? URLSessionConfiguration ?? configuration
    own.httpCookieStorage = nil
    own.httpShouldSetCookies = false
    own.httpCookieAcceptPolicy = .never
    own.urlCache = nil
    own.urlCredentialStorage = nil
    own.requestCachePolicy = .useProtocolCachePolicy
    own.timeoutIntervalForRequest = OutgoingRequest.noTimeout
    own.timeoutIntervalForResource = OutgoingRequest.noTimeout
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    session = URLSession(configuration: own, delegate: delegate, delegateQueue: queue)
  }

  /// Starts a task whose signals go to this queue.
  func start(
    _ outgoing: OutgoingRequest, reportingTo signals: SignalQueue<SessionSignal>
  ) -> URLSessionTask {
    let task: URLSessionTask =
      switch outgoing.payload {
      case .none: session.dataTask(with: outgoing.request)
      case .bytes(let data): session.uploadTask(with: outgoing.request, from: data)
      case .file(let url), .spooled(let url, _): session.upload(outgoing.request, file: url)
      }
    delegate.register(signals, for: task)
    task.resume()
    return task
  }

  deinit { session.invalidateAndCancel() }
}

/// Puts URLSession's events into the queue of their task. Its answers to challenges depend on the platform
/// (`URLSession+Apple.swift`, `URLSession+Linux.swift`).
final class SessionDelegate: NSObject, URLSessionDataDelegate, Sendable {
  private let transfers = Mutex<[Int: TaskState]>([:])

  /// The state of a task.
  private struct TaskState: Sendable {
    let signals: SignalQueue<SessionSignal>
    /// Whether the final response's head was delivered.
    var hasHead = false
  }

  func register(_ signals: SignalQueue<SessionSignal>, for task: URLSessionTask) {
    transfers.withLock { $0[task.taskIdentifier] = TaskState(signals: signals) }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    if let response = response as? HTTPURLResponse {
      let head = ReceivedHead.head(of: response)
      deliver(head.status.isInformational ? .informational(head) : .head(head), from: dataTask)
    }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    if !data.isEmpty { deliver(.chunk(data), from: dataTask) }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    deliver(.sent(totalBytesSent), from: task)
  }

  /// Delivers a redirect as a response: the engine follows it.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
    completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
  ) {
    completionHandler(nil)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
    if let last = metrics.transactionMetrics.last { deliver(.metrics(TransferMetrics(last)), from: task) }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    finish(task, error)
    transfers.withLock { $0[task.taskIdentifier] = nil }
  }

  /// Delivers the last signal of a task, preceded by the head of a response that was not reported.
  func finish(_ task: URLSessionTask, _ error: (any Error)?) {
    guard let transfer = transfers.withLock({ $0[task.taskIdentifier] }) else { return }
    if let error { return deliver(.failed(URLSessionFailure(error, hasHead: transfer.hasHead)), from: task) }
    if !transfer.hasHead, let response = task.response as? HTTPURLResponse {
      deliver(.head(ReceivedHead.head(of: response)), from: task)
    }
    deliver(.end, from: task)
  }

  private func deliver(_ signal: SessionSignal, from task: URLSessionTask) {
    let signals = transfers.withLock { transfers in
      if case .head = signal { transfers[task.taskIdentifier]?.hasHead = true }
      return transfers[task.taskIdentifier]?.signals
    }
    guard let signals else { return }
    signals.push([signal])
    guard signals.pauseOnceIfFull() else { return }
    task.pauseReceiving()
    // The reader may have resumed the task before it was paused.
    if !signals.isPaused { task.resumeReceiving() }
  }
}
