public import Foundation

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

// Every task begins with `resume()`. On a session that was invalidated it fails with `SAPURLSessionError.invalidURLSession`.
extension SAPURLSession {
  /// A task that gets a URL and hands over what came, at once: the whole body, empty if there was none; the response as
  /// observers left it; or the error.
  public func dataTask(
    with url: URL, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> SAPURLSessionTask {
    dataTask(with: URLRequest(url: url), completionHandler: completionHandler)
  }

  /// A task that sends a request and hands over what came, at once. A body of more than 1 GiB is an error: use the handlers
  /// for batches, or a download.
  public func dataTask(
    with request: URLRequest, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> SAPURLSessionTask {
    SAPURLSessionTask(request, of: self, to: .whole(completionHandler))
  }

  /// A task that gets a URL and hands over what comes, as it comes.
  public func dataTask(
    with url: URL, receivedResponseHandler: @escaping @Sendable (URLResponse) -> Void,
    receivedDataHandler: @escaping @Sendable (Data) -> Void,
    completionHandler: @escaping @Sendable ((any Error)?) -> Void
  ) -> SAPURLSessionTask {
    dataTask(
      with: URLRequest(url: url), receivedResponseHandler: receivedResponseHandler,
      receivedDataHandler: receivedDataHandler, completionHandler: completionHandler)
  }

  /// A task that sends a request and hands over what comes, as it comes: the response once, then the body in batches, then
  /// the end. No more of the body is read before a batch's handler has returned, so that a slow one makes the sender wait.
  ///
  /// A response that is given up, because the request is sent again, is not handed over, and nothing of its body either.
  public func dataTask(
    with request: URLRequest, receivedResponseHandler: @escaping @Sendable (URLResponse) -> Void,
    receivedDataHandler: @escaping @Sendable (Data) -> Void,
    completionHandler: @escaping @Sendable ((any Error)?) -> Void
  ) -> SAPURLSessionTask {
    SAPURLSessionTask(
      request, of: self,
      to: .batches(response: receivedResponseHandler, data: receivedDataHandler, completion: completionHandler))
  }

  /// A task whose results go to observers and the delegate alone.
  public func dataTask(with request: URLRequest) -> SAPURLSessionTask {
    SAPURLSessionTask(request, of: self, to: .events)
  }

  /// A task that sends bytes as the request's body.
  public func uploadTask(
    with request: URLRequest, from data: Data?,
    completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> SAPURLSessionTask {
    SAPURLSessionTask(request, upload: .data(data ?? Data()), of: self, to: .whole(completionHandler))
  }

  /// A task that sends a file as the request's body, reading it as it is sent. A file that cannot be read is a `URLError` with the
  /// code `.cannotOpenFile`.
  public func uploadTask(
    with request: URLRequest, fromFile file: URL,
    completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> SAPURLSessionTask {
    SAPURLSessionTask(request, upload: .file(file), of: self, to: .whole(completionHandler))
  }

  /// A task that sends a stream as the request's body.
  ///
  /// - Parameters:
  ///   - request: one with a `Content-Length` promises that many bytes; without one the body goes out in chunks.
  ///   - needNewBodyStream: makes the stream, anew for every time that the request is sent: for a redirect, a challenge, a
  ///     resend. nil, or a stream that cannot be opened, fails the task with a `URLError` that says so. Called on any thread.
  ///   - completionHandler: gets what came.
  public func uploadTask(
    withStreamedRequest request: URLRequest, needNewBodyStream: @escaping @Sendable () -> InputStream?,
    completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> SAPURLSessionTask {
    SAPURLSessionTask(request, upload: .stream(needNewBodyStream), of: self, to: .whole(completionHandler))
  }

  /// A task that gets a URL into a file; see ``downloadTask(with:completionHandler:)-(URLRequest,_)``.
  public func downloadTask(
    with url: URL, completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
  ) -> SAPURLSessionDownloadTask {
    downloadTask(with: URLRequest(url: url), completionHandler: completionHandler)
  }

  /// A task that writes the body of the response, whatever its status, to a temporary file, which is removed when the handler
  /// has returned: move it.
  public func downloadTask(
    with request: URLRequest, completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
  ) -> SAPURLSessionDownloadTask {
    SAPURLSessionDownloadTask(request, of: self, to: .file(completionHandler))
  }

  /// A task that goes on with a download that was stopped by
  /// ``SAPURLSessionDownloadTask/cancel(byProducingResumeData:)``, or begins anew where the resource has changed since. Data that
  /// are none fail the task with ``SAPURLSessionError/invalidRequest``.
  public func downloadTask(
    withResumeData resumeData: Data,
    completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
  ) -> SAPURLSessionDownloadTask {
    SAPURLSessionDownloadTask(resuming: resumeData, of: self, to: .file(completionHandler))
  }
}
