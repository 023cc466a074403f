import SAPFoundation

// error: overriding declaration requires an 'override' keyword
class Blocked: SAPcpmsUserBlockedObserver {
  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
  ) { completionHandler(.allow(request)) }
}
