import SAPFoundation

// error: method does not override any method from its superclass
class Language: LanguageObserver {
  override func sapURLSession(
    _ session: SAPURLSession, dataTask: SAPURLSessionTask, willSend request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
  ) { completionHandler(.allow(request)) }
}
