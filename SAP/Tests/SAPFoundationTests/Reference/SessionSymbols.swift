import SAPFoundation
import TestSupport

// Each documented symbol of the page SAPReference that works, in code that compiles and does not run.
extension SymbolList {
  mutating func addSAPURLSession() {
    add("SAPURLSession.init()") { _ = SAPURLSession() }
    add("SAPURLSession.init(delegate:)") { (d: any SAPURLSessionDelegate) in _ = SAPURLSession(delegate: d) }
    add("SAPURLSession.init(configuration:)") { (c: URLSessionConfiguration) in
      _ = SAPURLSession(configuration: c)
    }
    add(
      "SAPURLSession.init(configuration:delegate:delegateQueue:)"
    ) { (c: URLSessionConfiguration, d: any SAPURLSessionDelegate, q: OperationQueue) in
      _ = SAPURLSession(configuration: c, delegate: d, delegateQueue: q)
    }
    add("SAPURLSession.isValid") { (s: SAPURLSession) in _ = s.isValid }
    add("SAPURLSession.delegate") { (s: SAPURLSession) in _ = s.delegate }
    add("SAPURLSession.delegateQueue") { (s: SAPURLSession) in _ = s.delegateQueue }
    add("SAPURLSession.configuration") { (s: SAPURLSession) in
      _ = s.configuration as URLSessionConfiguration
      s.configuration.urlCache?.removeAllCachedResponses()
      s.configuration.httpCookieStorage?.removeCookies(since: .distantPast)
    }
    add("SAPURLSession.sessionDescription") { (s: SAPURLSession) in s.sessionDescription = "shop" }
    add("SAPURLSession.observers") { (s: SAPURLSession) in _ = s.observers }
    add("SAPURLSession.register(_:)") { (s: SAPURLSession, o: any SAPURLSessionObserving) in s.register(o) }
    add("SAPURLSession.unregister(_:)") { (s: SAPURLSession, o: any SAPURLSessionObserving) in s.unregister(o) }
    add("SAPURLSession.isRegistered(_:)") { (s: SAPURLSession, o: any SAPURLSessionObserving) in
      _ = s.isRegistered(o)
    }
    add("SAPURLSession.context") { (s: SAPURLSession) in s.context["mark"] = 1 }
    add("SAPURLSession.finishTasksAndInvalidate()") { (s: SAPURLSession) in s.finishTasksAndInvalidate() }
    add("SAPURLSession.invalidateAndCancel()") { (s: SAPURLSession) in s.invalidateAndCancel() }
    add("SAPURLSession.dataTask(with:completionHandler:)") { (s: SAPURLSession, u: URL, r: URLRequest) in
      s.dataTask(with: u) { data, response, error in _ = (data, response, error) }.resume()
      s.dataTask(with: r) { _, _, _ in }.resume()
    }
    add(
      "SAPURLSession.dataTask(with:receivedResponseHandler:receivedDataHandler:completionHandler:)"
    ) { (s: SAPURLSession, r: URLRequest) in
      _ = s.dataTask(with: r, receivedResponseHandler: { _ in }, receivedDataHandler: { _ in }) { _ in }
    }
    add("SAPURLSession.uploadTask(with:from:completionHandler:)") { (s: SAPURLSession, r: URLRequest, d: Data) in
      _ = s.uploadTask(with: r, from: d) { _, _, _ in }
    }
    add(
      "SAPURLSession.uploadTask(with:fromFile:completionHandler:)"
    ) { (s: SAPURLSession, r: URLRequest, u: URL) in
      _ = s.uploadTask(with: r, fromFile: u) { _, _, _ in }
    }
    add(
      "SAPURLSession.uploadTask(withStreamedRequest:needNewBodyStream:completionHandler:)"
    ) { (s: SAPURLSession, r: URLRequest, path: String) in
      _ = s.uploadTask(withStreamedRequest: r, needNewBodyStream: { InputStream(fileAtPath: path) }) { _, _, _ in }
    }
    add("SAPURLSession.downloadTask(with:completionHandler:)") { (s: SAPURLSession, u: URL, r: URLRequest) in
      _ = s.downloadTask(with: u) { _, _, _ in }
      _ = s.downloadTask(with: r) { _, _, _ in }
    }
    add("SAPURLSession.downloadTask(withResumeData:completionHandler:)") { (s: SAPURLSession, d: Data) in
      _ = s.downloadTask(withResumeData: d) { _, _, _ in }
    }
    add("SAPURLSession.webSocketTask(with:)") { (s: SAPURLSession, u: URL, r: URLRequest) in
      _ = s.webSocketTask(with: u)
      _ = s.webSocketTask(with: r)
    }
    add("SAPURLSession.webSocketTask(with:protocols:)") { (s: SAPURLSession, u: URL) in
      _ = s.webSocketTask(with: u, protocols: ["chat"])
    }
    add("SAPURLSession.dataTaskPublisher(for:)") { (s: SAPURLSession, u: URL, r: URLRequest) in
      _ = s.dataTaskPublisher(for: u)
      _ = s.dataTaskPublisher(for: r)
    }
    add("SAPURLSession.DataTaskPublisher") { (p: SAPURLSession.DataTaskPublisher) in
      _ = p.map { data, response in (data, response) }.mapError { $0 as any Error }.sink { _ in
      } receiveValue: { _ in
      }
    }
    add("SAPURLSession.HTTPMethod") { (r: URLRequest) in
      var request = r
      request.httpMethod = SAPURLSession.HTTPMethod.put
    }
    add("SAPURLSession.HTTPHeader") {
      _ = [SAPURLSession.HTTPHeader.accept, SAPURLSession.HTTPHeader.contentType]
    }
    add("SAPURLSession.HTTPContentType") { _ = SAPURLSession.HTTPContentType.applicationJSON }
  }

  mutating func addSAPURLSessionWebSocketTask() {
    add("SAPURLSessionWebSocketTask.send(_:completionHandler:)") { (t: SAPURLSessionWebSocketTask) in
      t.send(.string("hello")) { (error: (any Error)?) in print(error == nil) }
    }
    add("SAPURLSessionWebSocketTask.receive(completionHandler:)") { (t: SAPURLSessionWebSocketTask) in
      t.receive { (result: Result<URLSessionWebSocketTask.Message, any Error>) in print(result) }
    }
    add("SAPURLSessionWebSocketTask.sendPing(pongReceiveHandler:)") { (t: SAPURLSessionWebSocketTask) in
      t.sendPing { (error: (any Error)?) in print(error == nil) }
    }
    add("SAPURLSessionWebSocketTask.cancel(with:reason:)") { (t: SAPURLSessionWebSocketTask) in
      t.cancel(with: .goingAway, reason: nil)
    }
    add("SAPURLSessionWebSocketTask.maximumMessageSize") { (t: SAPURLSessionWebSocketTask) in
      t.maximumMessageSize = 1 << 24
    }
    add("SAPURLSessionWebSocketTask.closeCode") { (t: SAPURLSessionWebSocketTask) in
      _ = t.closeCode as URLSessionWebSocketTask.CloseCode
    }
    add("SAPURLSessionWebSocketTask.closeReason") { (t: SAPURLSessionWebSocketTask) in _ = t.closeReason as Data? }
  }

  mutating func addSAPURLSessionTask() {
    add("SAPURLSessionTask.taskID") { (t: SAPURLSessionTask) in _ = t.taskID }
    add("SAPURLSessionTask.urlSessionTask") { (t: SAPURLSessionTask) in _ = t.urlSessionTask }
    add("SAPURLSessionTask.priority") { (t: SAPURLSessionTask) in t.priority = 1 }
    add("SAPURLSessionTask.taskDescription") { (t: SAPURLSessionTask) in t.taskDescription = "orders" }
    add("SAPURLSessionTask.state") { (t: SAPURLSessionTask) in _ = t.state as URLSessionTask.State }
    add("SAPURLSessionTask.originalRequest") { (t: SAPURLSessionTask) in _ = t.originalRequest }
    add("SAPURLSessionTask.currentRequest") { (t: SAPURLSessionTask) in _ = t.currentRequest }
    add("SAPURLSessionTask.response") { (t: SAPURLSessionTask) in _ = t.response }
    add("SAPURLSessionTask.context") { (t: SAPURLSessionTask) in t.context["mark"] = true }
    add("SAPURLSessionTask.resume()") { (t: SAPURLSessionTask) in t.resume() }
    add("SAPURLSessionTask.suspend()") { (t: SAPURLSessionTask) in t.suspend() }
    add("SAPURLSessionTask.cancel()") { (t: SAPURLSessionTask) in t.cancel() }
  }

  mutating func addSAPURLSessionDownloadTask() {
    add("SAPURLSessionDownloadTask.cancel(byProducingResumeData:)") { (t: SAPURLSessionDownloadTask) in
      t.cancel { data in _ = data }
    }
  }

  mutating func addSAPURLSessionObserving() {
    add(
      "SAPURLSessionObserving.sapURLSession(_:didBecomeInvalidWithError:completionHandler:)"
    ) { (o: any SAPURLSessionObserving, s: SAPURLSession) in
      o.sapURLSession(s, didBecomeInvalidWithError: nil) {}
    }
    add(
      "SAPURLSessionObserving.sapURLSessionDidFinishEvents(forBackgroundURLSession:completionHandler:)"
    ) { (o: any SAPURLSessionObserving, s: SAPURLSession) in
      o.sapURLSessionDidFinishEvents(forBackgroundURLSession: s) {}
    }
    add(
      "SAPURLSessionObserving.sapURLSession(_:task:willBeginDelayedRequest:completionHandler:)"
    ) { (o: any SAPURLSessionObserving, s: SAPURLSession, t: SAPURLSessionTask, r: URLRequest) in
      o.sapURLSession(s, task: t, willBeginDelayedRequest: r) { _ in }
    }
    add(
      "SAPURLSessionObserving.sapURLSession(_:task:willSend:completionHandler:)"
    ) { (o: any SAPURLSessionObserving, s: SAPURLSession, t: SAPURLSessionTask, r: URLRequest) in
      o.sapURLSession(s, task: t, willSend: r) { _ in }
    }
    add(
      "SAPURLSessionObserving.sapURLSession(_:task:didCreate:)"
    ) { (o: any SAPURLSessionObserving, s: SAPURLSession, t: SAPURLSessionTask, u: URLSessionTask) in
      o.sapURLSession(s, task: t, didCreate: u)
    }
    add(
      "SAPURLSessionObserving.sapURLSession(_:dataTask:didReceive:completionHandler:)"
    ) { (o: any SAPURLSessionObserving, s: SAPURLSession, t: SAPURLSessionTask, r: URLResponse, d: Data) in
      o.sapURLSession(s, dataTask: t, didReceive: r) { _ in }
      o.sapURLSession(s, dataTask: t, didReceive: d) { _ in }
    }
    add(
      "SAPURLSessionObserving.sapURLSession(_:task:willPerformHTTPRedirection:newRequest:completionHandler:)"
    ) { (o: any SAPURLSessionObserving, s: SAPURLSession, t: SAPURLSessionTask, h: HTTPURLResponse, r: URLRequest) in
      o.sapURLSession(s, task: t, willPerformHTTPRedirection: h, newRequest: r) { _ in }
    }
    add(
      "SAPURLSessionObserving.sapURLSession(_:task:didReceive:completionHandler:)"
    ) { (o: any SAPURLSessionObserving, s: SAPURLSession, t: SAPURLSessionTask, c: URLAuthenticationChallenge) in
      o.sapURLSession(s, task: t, didReceive: c) { _ in }
    }
    add(
      "SAPURLSessionObserving.sapURLSession(session:dataTask:didReceive:completionHandler:)"
    ) { (o: any SAPURLSessionObserving, s: SAPURLSession, t: SAPURLSessionTask, c: URLAuthenticationChallenge) in
      o.sapURLSession(session: s, dataTask: t, didReceive: c) { _ in }
    }
    add(
      "SAPURLSessionObserving.sapURLSession(_:task:didCompleteWithError:completionHandler:)"
    ) { (o: any SAPURLSessionObserving, s: SAPURLSession, t: SAPURLSessionTask) in
      o.sapURLSession(s, task: t, didCompleteWithError: nil) { _ in }
    }
    add(
      "SAPURLSessionObserving.sapURLSession(_:task:needNewBodyStream:)"
    ) { (o: any SAPURLSessionObserving, s: SAPURLSession, t: SAPURLSessionTask) in
      o.sapURLSession(s, task: t) { _ in }
    }
    add(
      "SAPURLSessionObserving.sapURLSession(_:dataTask:willCacheResponse:completionHandler:)"
    ) { (o: any SAPURLSessionObserving, s: SAPURLSession, t: SAPURLSessionTask, c: CachedURLResponse) in
      o.sapURLSession(s, dataTask: t, willCacheResponse: c) { _ in }
    }
    add(
      "SAPURLSessionObserving.sapURLSession(_:task:didFinishCollecting:)"
    ) { (o: any SAPURLSessionObserving, s: SAPURLSession, t: SAPURLSessionTask, m: TransferMetrics) in
      o.sapURLSession(s, task: t, didFinishCollecting: m)
    }
    add("SAPURLSessionObserving.copy()") { (o: any SAPURLSessionObserving) in _ = o.copy() }
  }

  mutating func addSAPURLSessionDelegate() {
    add(
      "SAPURLSessionDelegate.sapURLSession(_:didBecomeInvalidWithError:)"
    ) { (d: any SAPURLSessionDelegate, s: SAPURLSession) in
      d.sapURLSession(s, didBecomeInvalidWithError: nil)
    }
    add(
      "SAPURLSessionDelegate.sapURLSessionDidFinishEvents(forBackgroundURLSession:)"
    ) { (d: any SAPURLSessionDelegate, s: SAPURLSession) in
      d.sapURLSessionDidFinishEvents(forBackgroundURLSession: s)
    }
    add(
      "SAPURLSessionDelegate.sapURLSession(_:task:willBeginDelayedRequest:completionHandler:)"
    ) { (d: any SAPURLSessionDelegate, s: SAPURLSession, t: SAPURLSessionTask, r: URLRequest) in
      d.sapURLSession(s, task: t, willBeginDelayedRequest: r) { _ in }
    }
    add(
      "SAPURLSessionDelegate.sapURLSession(_:task:didReceive:completionHandler:)"
    ) { (d: any SAPURLSessionDelegate, s: SAPURLSession, t: SAPURLSessionTask, c: URLAuthenticationChallenge) in
      d.sapURLSession(s, task: t, didReceive: c) { _ in }
    }
    add(
      "SAPURLSessionDelegate.sapURLSession(_:task:didCreate:)"
    ) { (d: any SAPURLSessionDelegate, s: SAPURLSession, t: SAPURLSessionTask, u: URLSessionTask) in
      d.sapURLSession(s, task: t, didCreate: u)
    }
  }

  mutating func addAnswers() {
    add("SAPURLSession.RequestDisposition") { (d: SAPURLSession.RequestDisposition, r: URLRequest) in
      _ = [d, .allow(r)]
    }
    add("SAPURLSession.ResponseDisposition") { (d: SAPURLSession.ResponseDisposition, r: URLResponse) in
      _ = [d, .allow(r)]
    }
    add("SAPURLSession.CancellableDisposition") { (d: SAPURLSession.CancellableDisposition, e: any Error) in
      _ = [d, .cancel(e)]
    }
    add("SAPURLSession.DataDisposition") { (d: SAPURLSession.DataDisposition, data: Data) in
      _ = [d, .allow(data)]
    }
    add(
      "SAPURLSession.AuthChallengeDisposition"
    ) { (d: SAPURLSession.AuthChallengeDisposition, c: URLCredential) in
      _ = [d, .use(c), .performDefaultHandling]
    }
    add("SAPURLSession.HTTPRedirectDisposition") { (d: SAPURLSession.HTTPRedirectDisposition, r: URLRequest) in
      _ = [d, .allow(r)]
    }
    add("SAPURLSession.InputStreamDisposition") { (d: SAPURLSession.InputStreamDisposition, i: InputStream) in
      _ = [d, .allow(i)]
    }
    add(
      "SAPURLSession.CacheResponseDisposition"
    ) { (d: SAPURLSession.CacheResponseDisposition, c: CachedURLResponse) in
      _ = [d, .allow(c)]
    }
    add(
      "SAPURLSession.DelayedRequestDisposition"
    ) { (d: SAPURLSession.DelayedRequestDisposition, e: any Error) in
      _ = [d, .cancel(e)]
    }
  }

  mutating func addSAPURLSessionError() {
    add("SAPURLSessionError.invalidRequest") { _ = SAPURLSessionError.invalidRequest }
    add("SAPURLSessionError.unexpectedHTTPMethod") { _ = SAPURLSessionError.unexpectedHTTPMethod }
    add("SAPURLSessionError.invalidURLSession") { _ = SAPURLSessionError.invalidURLSession }
    add("SAPURLSessionError.failedToRetriveCSRFToken(_:)") {
      _ = SAPURLSessionError.failedToRetriveCSRFToken("none")
    }
    add("SAPURLSessionError.description") { (e: SAPURLSessionError) in _ = e.description }
    add("SAPURLSessionError.debugDescription") { (e: SAPURLSessionError) in _ = e.debugDescription }
    add("SAPURLSessionError.errorDescription") { (e: SAPURLSessionError) in _ = e.errorDescription }
    add("SAPURLSessionError.failureReason") { (e: SAPURLSessionError) in _ = e.failureReason }
  }

  mutating func addSAPURLError() {
    add("SAPURLError.requestFailed(_:)") { (e: URLError) in _ = SAPURLError.requestFailed(e) }
    add("SAPURLError.redirection(_:)") { (r: HTTPURLResponse) in _ = SAPURLError.redirection(r) }
    add("SAPURLError.client(response:payload:)") { (r: HTTPURLResponse, p: ODataErrorPayload) in
      _ = SAPURLError.client(response: r, payload: p)
    }
    add("SAPURLError.unknown") { _ = SAPURLError.unknown }
    add("SAPURLError.init(_:)") { (e: any Error) in _ = SAPURLError(e) }
  }

  mutating func addMoreErrors() {
    add("ODataErrorPayload") { (d: Data) in
      _ = try JSONDecoder().decode(ODataErrorPayload.self, from: d).error.message.value
    }
    add("SAPError") { (e: any SAPError) in
      _ = (e.description, e.errorDescription, e.failureReason, e.recoverySuggestion, e.helpAnchor)
    }
  }
}
