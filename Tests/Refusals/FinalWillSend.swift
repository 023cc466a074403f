import SAPFoundation

// error: instance method overrides a 'final' instance method
class Numbered: CorrelationObserver {
  override func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
  ) { completionHandler(.allow(request)) }
}
