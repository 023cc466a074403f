import Foundation
import MartletEngine
import SAPFoundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// An observer or a delegate that logs its callbacks, and answers as a test determines.
class Probe: SAPURLSessionEvents, @unchecked Sendable {
  let name: String
  private let entries = Shared<[String]>([])
  var onDelayed: @Sendable (URLRequest) -> SAPURLSession.DelayedRequestDisposition = { _ in .continueLoading }
  var onSend: @Sendable (SAPURLSessionTask, URLRequest) -> SAPURLSession.RequestDisposition = { .allow($1) }
  var onResponse: @Sendable (SAPURLSessionTask, URLResponse) -> SAPURLSession.ResponseDisposition = { .allow($1) }
  var onData: @Sendable (Data) -> SAPURLSession.DataDisposition = { .allow($0) }
  var onRedirect: @Sendable (HTTPURLResponse, URLRequest) -> SAPURLSession.HTTPRedirectDisposition = { .allow($1) }
  var onChallenge: @Sendable (URLAuthenticationChallenge) -> SAPURLSession.AuthChallengeDisposition = { _ in
    .performDefaultHandling
  }
  var onStream: @Sendable () -> SAPURLSession.InputStreamDisposition = { .allow(nil) }
  var onCache: @Sendable (CachedURLResponse) -> SAPURLSession.CacheResponseDisposition = { .allow($0) }
  var onCreate: @Sendable (SAPURLSessionTask, URLSessionTask) -> Void = { _, _ in }
  var onFile: @Sendable (URL) -> Void = { _ in }

  init(_ name: String = "probe", _ prepare: (Probe) -> Void = { _ in }) {
    self.name = name
    prepare(self)
  }

  /// The callbacks, in order.
  var log: [String] { entries.value }

  func note(_ text: String) { entries.change { $0.append(text) } }

  /// Returns when an entry is in the log.
  func wait(for entry: String) async { await entries.wait { $0.contains(entry) } }

  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willBeginDelayedRequest request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.DelayedRequestDisposition) -> Void
  ) {
    note("delayed")
    completionHandler(onDelayed(request))
  }

  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
  ) {
    note("send")
    completionHandler(onSend(task, request))
  }

  func sapURLSession(_ session: SAPURLSession, task: SAPURLSessionTask, didCreate sessionTask: URLSessionTask) {
    note("create")
    onCreate(task, sessionTask)
  }

  func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (SAPURLSession.ResponseDisposition) -> Void
  ) {
    note("response \((response as? HTTPURLResponse)?.statusCode ?? 0)")
    completionHandler(onResponse(task, response))
  }

  func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive data: Data,
    completionHandler: @escaping @Sendable (SAPURLSession.DataDisposition) -> Void
  ) {
    note("data \(String(decoding: data.prefix(20), as: UTF8.self))")
    completionHandler(onData(data))
  }

  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.HTTPRedirectDisposition) -> Void
  ) {
    note("redirect \(response.statusCode)")
    completionHandler(onRedirect(response, request))
  }

  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
  ) {
    note("challenge \(challenge.previousFailureCount)")
    completionHandler(onChallenge(challenge))
  }

  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (SAPURLSession.InputStreamDisposition) -> Void
  ) {
    note("stream")
    completionHandler(onStream())
  }

  func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, willCacheResponse proposedResponse: CachedURLResponse,
    completionHandler: @escaping @Sendable (SAPURLSession.CacheResponseDisposition) -> Void
  ) {
    note("cache")
    completionHandler(onCache(proposedResponse))
  }

  func sapURLSession(
    _ session: SAPURLSession, downloadTask task: SAPURLSessionDownloadTask, didFinishDownloadingTo location: URL
  ) {
    note("file")
    onFile(location)
  }
}

final class ObserverProbe: Probe, SAPURLSessionObserving, @unchecked Sendable {
  var onComplete: @Sendable ((any Error)?) -> SAPURLSession.CancellableDisposition = { _ in .allow }

  func sapURLSession(
    _ session: SAPURLSession, didBecomeInvalidWithError error: (any Error)?,
    completionHandler: @escaping @Sendable () -> Void
  ) {
    note("invalid")
    completionHandler()
  }

  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didCompleteWithError error: (any Error)?,
    completionHandler: @escaping @Sendable (SAPURLSession.CancellableDisposition) -> Void
  ) {
    note(error == nil ? "complete" : "failed")
    completionHandler(onComplete(error))
  }
}

final class DelegateProbe: Probe, SAPURLSessionDelegate, @unchecked Sendable {
  func sapURLSession(_ session: SAPURLSession, didBecomeInvalidWithError error: (any Error)?) { note("invalid") }

  func sapURLSession(_ session: SAPURLSession, task: SAPURLSessionTask, didCompleteWithError error: (any Error)?) {
    note(error == nil ? "complete" : "failed")
  }
}
