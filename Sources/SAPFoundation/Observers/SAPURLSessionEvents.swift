public import Foundation
public import MartletEngine

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// What observers and the delegate are both told and asked. Conform to ``SAPURLSessionObserving`` or
/// ``SAPURLSessionDelegate``, not to this.
///
/// Every method has a default implementation that lets everything pass: a misspelled one is never called, and the compiler
/// says nothing. Subclass ``SAPURLSessionObserver`` and write `override` to have it checked.
///
/// All methods run on the session's `delegateQueue`, one after another. Each `completionHandler` has to be called once, on
/// any thread; a second call is ignored, and the end of the task ends the wait for a call that never comes.
public protocol SAPURLSessionEvents: AnyObject {
  /// A request whose task has an ``SAPURLSessionTask/earliestBeginDate`` is about to begin.
  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willBeginDelayedRequest request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.DelayedRequestDisposition) -> Void)

  /// A request is about to be sent, for the first time or again. It can be changed or stopped.
  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void)

  /// The task has a new backing task: once for each time that the request is sent, redirects excepted.
  func sapURLSession(_ session: SAPURLSession, task: SAPURLSessionTask, didCreate sessionTask: URLSessionTask)

  /// The head of a response arrived.
  func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (SAPURLSession.ResponseDisposition) -> Void)

  /// A batch of the body arrived. The next one comes only after the answer.
  func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive data: Data,
    completionHandler: @escaping @Sendable (SAPURLSession.DataDisposition) -> Void)

  /// The response is a redirect, and this request would follow it.
  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.HTTPRedirectDisposition) -> Void)

  /// A server wants to know who asks.
  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void)

  /// A streamed body is needed: for the first time, or because the request goes again.
  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (SAPURLSession.InputStreamDisposition) -> Void)

  /// The response is about to be stored in the cache.
  func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, willCacheResponse proposedResponse: CachedURLResponse,
    completionHandler: @escaping @Sendable (SAPURLSession.CacheResponseDisposition) -> Void)

  /// A part of the request's body was sent; -1 where the length is not known.
  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64)

  /// One attempt was measured. (SAP hands over `URLSessionTaskMetrics`, which nobody can fill on Linux.)
  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didFinishCollecting metrics: TransferMetrics)

  /// A part of a download was written; -1 where the length is not known.
  func sapURLSession(
    _ session: SAPURLSession, downloadTask task: SAPURLSessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64)

  /// A download is complete. The file is removed when all who are told have returned: move it.
  func sapURLSession(
    _ session: SAPURLSession, downloadTask task: SAPURLSessionDownloadTask, didFinishDownloadingTo location: URL)
}
