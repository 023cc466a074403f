public import Foundation
public import MartletEngine

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

extension SAPURLSessionTask {
  /// `.suspended` before ``resume()`` and when held up, `.canceling` until the end of a cancelled task is told.
  public var state: URLSessionTask.State {
    mutable.withLock { state in
      if state.phase == .over { return .completed }
      if state.isCancelled { return .canceling }
      return state.phase == .running ? .running : .suspended
    }
  }

  /// What stands for the sending that is under way, or was the last; nil before the first. **Do not call `resume` on it.**
  ///
  /// On Linux, and wherever the engine sends, it is an object that tells what its task tells, and whose `cancel` cancels the
  /// task; its `resume` and `suspend` do nothing.
  public var urlSessionTask: URLSessionTask? { mutable.withLock { $0.backing } }

  /// The request as it was sent last: with what observers changed, and after redirects. Before, the original one.
  public var currentRequest: URLRequest? { mutable.withLock { $0.sent } ?? originalRequest }

  /// The response as observers left it; nil until there is one.
  public var response: URLResponse? { mutable.withLock { $0.response } }

  /// What a ``CorrelationObserver`` calls the task, for an error report say; nil without one, and before it is sent first.
  public var correlationID: String? { mutable.withLock { $0.correlationID } }

  /// Whether the response came from a cache or from an observer.
  var isAnsweredLocally: Bool { mutable.withLock { $0.isAnsweredLocally } }

  /// What the task failed with; nil until it did.
  public var error: (any Error)? { mutable.withLock { $0.error } }

  /// How urgent the task is, between 0 and 1; 0.5 by default. Read when it begins.
  public var priority: Float {
    get { mutable.withLock { $0.priority } }
    set { mutable.withLock { $0.priority = newValue } }
  }

  /// A name for people; nil by default.
  public var taskDescription: String? {
    get { mutable.withLock { $0.description } }
    set { mutable.withLock { $0.description = newValue } }
  }

  /// When the task may begin at the earliest; at once by default. Read when it begins: observers are then asked whether the
  /// request is still the right one.
  public var earliestBeginDate: Date? {
    get { mutable.withLock { $0.earliestBeginDate } }
    set { mutable.withLock { $0.earliestBeginDate = newValue } }
  }

  /// Bytes of the request's body that went out in the last attempt.
  public var countOfBytesSent: Int64 { mutable.withLock { $0.counts.sent } }
  /// Bytes of the response's body that came in the last attempt, unpacked.
  public var countOfBytesReceived: Int64 { mutable.withLock { $0.counts.received } }
  /// How many bytes are to be sent; -1 where that is not known.
  public var countOfBytesExpectedToSend: Int64 { mutable.withLock { $0.counts.expectedToSend } }
  /// How many bytes are to come; -1 where that is not known.
  public var countOfBytesExpectedToReceive: Int64 { mutable.withLock { $0.counts.expectedToReceive } }

  /// How long the attempts took, one after another, as far as the transport measures.
  public var metrics: [TransferMetrics] { mutable.withLock { $0.metrics } }

  /// How far the response's body has come. Cancelling it cancels the task. It changes on the session's `delegateQueue`.
  public var progress: Progress {
    mutable.withLock { state in
      if let progress = state.progress { return progress }
      let progress = Progress(totalUnitCount: state.counts.expectedToReceive)
      progress.completedUnitCount = state.counts.received
      progress.cancellationHandler = { [weak self] in self?.cancel() }
      state.progress = progress
      return progress
    }
  }

  /// Where the body is, if an observer made a download of the task (`.becomeDownload`): a file that is removed when the
  /// completion handler has returned.
  public var downloadLocation: URL? { mutable.withLock { $0.location } }
}
