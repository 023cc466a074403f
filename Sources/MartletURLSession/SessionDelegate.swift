import Foundation
import MartletEngine
import MartletSemantics
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Takes what URLSession reports and puts it into the queue of the task that it is about. What the platforms do
/// differently on a challenge is in files of its own.
final class SessionDelegate: NSObject, URLSessionDataDelegate, Sendable {
  private let queues = Mutex<[Int: SignalQueue]>([:])

  func register(_ queue: SignalQueue, for task: URLSessionTask) {
    queues.withLock { $0[task.taskIdentifier] = queue }
  }

  func queue(of task: URLSessionTask) -> SignalQueue? { queues.withLock { $0[task.taskIdentifier] } }

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

  /// A redirect is a response like any other: the engine follows it, or does not.
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
    queues.withLock { $0[task.taskIdentifier] = nil }
  }

  /// The last signal of a task; a head that was never reported is made up for.
  func finish(_ task: URLSessionTask, _ error: (any Error)?) {
    guard let queue = queue(of: task) else { return }
    if let error { return deliver(.failed(URLSessionFailure(error)), from: task) }
    if !queue.hasHead, let response = task.response as? HTTPURLResponse {
      deliver(.head(ReceivedHead.head(of: response)), from: task)
    }
    deliver(.end, from: task)
  }

  private func deliver(_ signal: Signal, from task: URLSessionTask) {
    guard let queue = queue(of: task), queue.deliver(signal) else { return }
    task.pauseReceiving()
    // The reader may have caught up in between, and then nobody else would let it go on.
    if !queue.isPaused { task.goOnReceiving() }
  }
}
