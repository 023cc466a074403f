import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Keeps a URLSession alive for as long as a transport or an unread body needs it. URLSession holds its delegate until it
/// is told to stop, so somebody has to tell it.
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

  /// Starts a task that reports to this queue.
  func start(_ outgoing: OutgoingRequest, reportingTo queue: SignalQueue) -> URLSessionTask {
    let task: URLSessionTask =
      switch outgoing.payload {
      case .none: session.dataTask(with: outgoing.request)
      case .bytes(let data): session.uploadTask(with: outgoing.request, from: data)
      case .file(let url), .spooled(let url, _): session.upload(outgoing.request, file: url)
      }
    delegate.register(queue, for: task)
    task.resume()
    return task
  }

  deinit { session.invalidateAndCancel() }
}
