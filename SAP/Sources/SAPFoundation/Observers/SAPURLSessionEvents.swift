public import MartletEngine

/// The methods that observers and the delegate have in common. Conform to ``SAPURLSessionObserving`` or
/// ``SAPURLSessionDelegate``, not to this protocol.
///
/// Every method has a default implementation that changes nothing. Therefore the compiler does not report a misspelled
/// method, which is never called. It does if you subclass ``SAPURLSessionObserver`` and write `override`.
///
/// All methods are called on the session's `delegateQueue`, one after another. Call each `completionHandler` once, on
/// any thread; further calls are ignored.
///
/// As long as you do not call it, the task waits, because the answer may depend on the user. After 5 and after 60
/// seconds, a warning in the log names the type of the observer or delegate, the method and the task. These end the
/// wait:
///
/// - ``SAPURLSessionTask/cancel()``;
/// - `timeoutIntervalForResource` of the configuration, except while the task waits for an answer about its beginning
///   (`willBeginDelayedRequest`), a batch of the body (`didReceive data`) or its completion.
///
/// `timeoutIntervalForRequest` does not: it limits how long a server takes.
public protocol SAPURLSessionEvents: AnyObject {
  /// A request with an ``SAPURLSessionTask/earliestBeginDate`` is about to begin.
  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willBeginDelayedRequest request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.DelayedRequestDisposition) -> Void)

  /// A request is about to be sent, for the first time or again. The handler can change or cancel it.
  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void)

  /// The task has a new backing task. It gets one each time the request is sent, except to follow a redirect.
  func sapURLSession(_ session: SAPURLSession, task: SAPURLSessionTask, didCreate sessionTask: URLSessionTask)

  /// The head of a response was received.
  func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (SAPURLSession.ResponseDisposition) -> Void)

  /// A batch of the body was received. The task reads no more before the answer.
  func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive data: Data,
    completionHandler: @escaping @Sendable (SAPURLSession.DataDisposition) -> Void)

  /// The response is a redirect, which this new request would follow.
  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.HTTPRedirectDisposition) -> Void)

  /// A connection needs a client certificate, or a decision whether the server is trusted. If the answer is
  /// `.performDefaultHandling`, the same observer or delegate gets the method for other challenges:
  /// ``sapURLSession(_:task:didReceive:completionHandler:)``.
  func sapURLSession(
    _ session: SAPURLSession, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void)

  /// A server requests authentication.
  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void)

  /// The same challenge by another name: the guide writes `dataTask:`. It is called if the method with `task:` answers
  /// `.performDefaultHandling`.
  func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void)

  /// The same challenge as the guide spells it, with a label for the session. It is called if the other two methods
  /// answer `.performDefaultHandling`.
  func sapURLSession(
    session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void)

  /// No connection can be made, and the task waits for one, because the configuration has `waitsForConnectivity`. This
  /// is called once for each task.
  func sapURLSession(_ session: SAPURLSession, taskIsWaitingForConnectivity task: SAPURLSessionTask)

  /// A stream for the body is needed, for the first time or because the request is sent again.
  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (SAPURLSession.InputStreamDisposition) -> Void)

  /// A response is about to be stored in the cache.
  func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, willCacheResponse proposedResponse: CachedURLResponse,
    completionHandler: @escaping @Sendable (SAPURLSession.CacheResponseDisposition) -> Void)

  /// A part of the request's body was sent. The expected total is -1 if it is not known.
  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64)

  /// An attempt was measured. (SAP's method has Foundation's `URLSessionTaskMetrics`, which cannot be made on Linux.)
  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didFinishCollecting metrics: TransferMetrics)

  /// A part of a download was written. The expected total is -1 if it is not known.
  func sapURLSession(
    _ session: SAPURLSession, downloadTask task: SAPURLSessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64)

  /// A download is complete. Move the file: it is removed after all observers, the delegate and the completion handler
  /// have returned.
  func sapURLSession(
    _ session: SAPURLSession, downloadTask task: SAPURLSessionDownloadTask, didFinishDownloadingTo location: URL)

  /// A WebSocket is open, with the subprotocol that the server chose, if any.
  func sapURLSession(
    _ session: SAPURLSession, webSocketTask task: SAPURLSessionWebSocketTask, didOpenWithProtocol protocol: String?)

  /// A WebSocket that was open is closed, by either side or because the connection was lost: with its
  /// ``SAPURLSessionWebSocketTask/closeCode`` and ``SAPURLSessionWebSocketTask/closeReason``.
  func sapURLSession(
    _ session: SAPURLSession, webSocketTask task: SAPURLSessionWebSocketTask,
    didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?)
}

extension SAPURLSessionEvents {
  /// Sends the request unchanged.
  public func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willBeginDelayedRequest request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.DelayedRequestDisposition) -> Void
  ) { completionHandler(.continueLoading) }

  /// Sends the request.
  public func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
  ) { completionHandler(.allow(request)) }

  /// Does nothing.
  public func sapURLSession(_ session: SAPURLSession, task: SAPURLSessionTask, didCreate sessionTask: URLSessionTask) {}

  /// Continues with the response.
  public func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (SAPURLSession.ResponseDisposition) -> Void
  ) { completionHandler(.allow(response)) }

  /// Continues with the bytes.
  public func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive data: Data,
    completionHandler: @escaping @Sendable (SAPURLSession.DataDisposition) -> Void
  ) { completionHandler(.allow(data)) }

  /// Follows the redirect.
  public func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.HTTPRedirectDisposition) -> Void
  ) { completionHandler(.allow(request)) }

  /// Leaves it to the next handler.
  public func sapURLSession(
    _ session: SAPURLSession, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
  ) { completionHandler(.performDefaultHandling) }

  /// Leaves it to the next handler.
  public func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
  ) { completionHandler(.performDefaultHandling) }

  /// Leaves it to the next handler.
  public func sapURLSession(
    session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
  ) { completionHandler(.performDefaultHandling) }

  /// Does nothing.
  public func sapURLSession(_ session: SAPURLSession, taskIsWaitingForConnectivity task: SAPURLSessionTask) {}

  /// Leaves it to the next handler.
  public func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
  ) { completionHandler(.performDefaultHandling) }

  /// Leaves it to the next handler.
  public func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (SAPURLSession.InputStreamDisposition) -> Void
  ) { completionHandler(.allow(nil)) }

  /// Stores it.
  public func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, willCacheResponse proposedResponse: CachedURLResponse,
    completionHandler: @escaping @Sendable (SAPURLSession.CacheResponseDisposition) -> Void
  ) { completionHandler(.allow(proposedResponse)) }

  /// Does nothing.
  public func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {}

  /// Does nothing.
  public func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didFinishCollecting metrics: TransferMetrics
  ) {}

  /// Does nothing.
  public func sapURLSession(
    _ session: SAPURLSession, downloadTask task: SAPURLSessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) {}

  /// Does nothing.
  public func sapURLSession(
    _ session: SAPURLSession, downloadTask task: SAPURLSessionDownloadTask, didFinishDownloadingTo location: URL
  ) {}

  /// Does nothing.
  public func sapURLSession(
    _ session: SAPURLSession, webSocketTask task: SAPURLSessionWebSocketTask, didOpenWithProtocol protocol: String?
  ) {}

  /// Does nothing.
  public func sapURLSession(
    _ session: SAPURLSession, webSocketTask task: SAPURLSessionWebSocketTask,
    didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
  ) {}
}
