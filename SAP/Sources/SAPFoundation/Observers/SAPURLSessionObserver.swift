public import MartletEngine

/// A superclass for observers. The compiler checks the names of overridden methods.
///
/// ```swift
/// final class TokenObserver: SAPURLSessionObserver {
///   override func sapURLSession(
///     _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
///     completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
///   ) {
///     var request = request
///     request.setValue(token, forHTTPHeaderField: "X-Token")
///     completionHandler(.allow(request))
///   }
/// }
/// ```
///
/// It has all callbacks, so that a misspelled `override` is an error. A class may conform to ``SAPURLSessionObserving``
/// instead, but then the compiler does not report misspelled methods. The observers of this module that can be
/// subclassed are subclasses of this class.
open class SAPURLSessionObserver: SAPURLSessionObserving {
  /// Makes an observer that changes nothing.
  public init() {}

  open func copy() -> Any? { nil }

  open func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willBeginDelayedRequest request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.DelayedRequestDisposition) -> Void
  ) { completionHandler(.continueLoading) }

  open func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
  ) { completionHandler(.allow(request)) }

  open func sapURLSession(_ session: SAPURLSession, task: SAPURLSessionTask, didCreate sessionTask: URLSessionTask) {}

  open func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (SAPURLSession.ResponseDisposition) -> Void
  ) { completionHandler(.allow(response)) }

  open func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive data: Data,
    completionHandler: @escaping @Sendable (SAPURLSession.DataDisposition) -> Void
  ) { completionHandler(.allow(data)) }

  open func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.HTTPRedirectDisposition) -> Void
  ) { completionHandler(.allow(request)) }

  open func sapURLSession(
    _ session: SAPURLSession, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
  ) { completionHandler(.performDefaultHandling) }

  open func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
  ) { completionHandler(.performDefaultHandling) }

  open func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
  ) { completionHandler(.performDefaultHandling) }

  open func sapURLSession(
    session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
  ) { completionHandler(.performDefaultHandling) }

  open func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (SAPURLSession.InputStreamDisposition) -> Void
  ) { completionHandler(.allow(nil)) }

  open func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, willCacheResponse proposedResponse: CachedURLResponse,
    completionHandler: @escaping @Sendable (SAPURLSession.CacheResponseDisposition) -> Void
  ) { completionHandler(.allow(proposedResponse)) }

  open func sapURLSession(_ session: SAPURLSession, taskIsWaitingForConnectivity task: SAPURLSessionTask) {}

  open func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {}

  open func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didFinishCollecting metrics: TransferMetrics
  ) {}

  open func sapURLSession(
    _ session: SAPURLSession, downloadTask task: SAPURLSessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) {}

  open func sapURLSession(
    _ session: SAPURLSession, downloadTask task: SAPURLSessionDownloadTask, didFinishDownloadingTo location: URL
  ) {}

  open func sapURLSession(
    _ session: SAPURLSession, webSocketTask task: SAPURLSessionWebSocketTask, didOpenWithProtocol protocol: String?
  ) {}

  open func sapURLSession(
    _ session: SAPURLSession, webSocketTask task: SAPURLSessionWebSocketTask,
    didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
  ) {}

  open func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didCompleteWithError error: (any Error)?,
    completionHandler: @escaping @Sendable (SAPURLSession.CancellableDisposition) -> Void
  ) { completionHandler(.allow) }

  open func sapURLSession(
    _ session: SAPURLSession, didBecomeInvalidWithError error: (any Error)?,
    completionHandler: @escaping @Sendable () -> Void
  ) { completionHandler() }

  open func sapURLSessionDidFinishEvents(
    forBackgroundURLSession session: SAPURLSession, completionHandler: @escaping @Sendable () -> Void
  ) { completionHandler() }
}

/// The superclass of the observers of this module that work as interceptors of the engine.
///
/// You can override all callbacks in a subclass. `willSend` gets the request when the observer has prepared it, and
/// `didReceive response` gets a response that the observer does not answer itself, by a login for example. So an
/// override need not call `super`, and cannot leave out what the observer does.
///
/// Subclass ``SAPURLSessionObserver`` for an observer of your own.
open class BuiltInObserver: SAPURLSessionObserver {}

/// An observer with an interceptor of the engine. The session calls the interceptor at the observer's place in the
/// order of registration, and does not call the observer's `willSend` and `didReceive response`.
protocol InterceptingObserver: SAPURLSessionObserving {
  /// The interceptor that prepares requests and reviews outcomes.
  var interceptor: any Interceptor { get }
}

/// An observer with a listener of the engine, which gets all events of each task that begins while the observer is
/// registered.
protocol ListeningObserver: SAPURLSessionObserving {
  /// The listener.
  var listener: any EventListener { get }
}
