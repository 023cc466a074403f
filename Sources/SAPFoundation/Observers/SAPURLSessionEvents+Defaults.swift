public import Foundation
public import MartletEngine

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

extension SAPURLSessionEvents {
  /// Sends it as it is.
  public func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willBeginDelayedRequest request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.DelayedRequestDisposition) -> Void
  ) { completionHandler(.continueLoading) }

  /// Goes on with the request.
  public func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
  ) { completionHandler(.allow(request)) }

  /// Does nothing.
  public func sapURLSession(_ session: SAPURLSession, task: SAPURLSessionTask, didCreate sessionTask: URLSessionTask) {}

  /// Goes on with the response.
  public func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (SAPURLSession.ResponseDisposition) -> Void
  ) { completionHandler(.allow(response)) }

  /// Goes on with the bytes.
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

  /// Has no opinion.
  public func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
  ) { completionHandler(.performDefaultHandling) }

  /// Has no opinion.
  public func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (SAPURLSession.InputStreamDisposition) -> Void
  ) { completionHandler(.allow(nil)) }

  /// Lets it be stored.
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
}
