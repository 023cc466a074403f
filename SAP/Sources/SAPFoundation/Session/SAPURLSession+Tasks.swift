// Every task begins with `resume()`. If the session was invalidated, it fails with
// `SAPURLSessionError.invalidURLSession`.
extension SAPURLSession {
  /// Makes a task that gets a URL. The handler gets the response, with the changes of observers, and the whole body,
  /// which may be empty; or the error.
  public func dataTask(
    with url: URL, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> SAPURLSessionTask {
    dataTask(with: URLRequest(url: url), completionHandler: completionHandler)
  }

  /// Makes a task that sends a request, with a handler for the whole body. A body of more than 1 GiB is an error: use
  /// the handlers for batches, or a download.
  public func dataTask(
    with request: URLRequest, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> SAPURLSessionTask {
    SAPURLSessionTask(request, of: self, to: .whole(completionHandler))
  }

  /// Makes a task that gets a URL, with handlers for the response, for each batch of the body, and for the completion.
  public func dataTask(
    with url: URL, receivedResponseHandler: @escaping @Sendable (URLResponse) -> Void,
    receivedDataHandler: @escaping @Sendable (Data) -> Void,
    completionHandler: @escaping @Sendable ((any Error)?) -> Void
  ) -> SAPURLSessionTask {
    dataTask(
      with: URLRequest(url: url), receivedResponseHandler: receivedResponseHandler,
      receivedDataHandler: receivedDataHandler, completionHandler: completionHandler)
  }

  /// Makes a task that sends a request, with handlers for the response, for each batch of the body, and for the
  /// completion. After each batch, the next one is read only when the handler has returned, so a slow handler makes the
  /// server wait.
  ///
  /// The handlers do not get a response that is discarded because the request is sent again.
  public func dataTask(
    with request: URLRequest, receivedResponseHandler: @escaping @Sendable (URLResponse) -> Void,
    receivedDataHandler: @escaping @Sendable (Data) -> Void,
    completionHandler: @escaping @Sendable ((any Error)?) -> Void
  ) -> SAPURLSessionTask {
    SAPURLSessionTask(
      request, of: self,
      to: .batches(response: receivedResponseHandler, data: receivedDataHandler, completion: completionHandler))
  }

  /// Makes a task without handlers. Only observers and the delegate get its results.
  public func dataTask(with request: URLRequest) -> SAPURLSessionTask {
    SAPURLSessionTask(request, of: self, to: .events)
  }

  /// Makes a task that sends bytes as the request's body.
  public func uploadTask(
    with request: URLRequest, from data: Data?,
    completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> SAPURLSessionTask {
    SAPURLSessionTask(request, upload: .data(data ?? Data()), of: self, to: .whole(completionHandler))
  }

  /// Makes a task that sends a file as the request's body. The file is read as it is sent. A file that cannot be read
  /// is a `URLError` with the code `.cannotOpenFile`.
  public func uploadTask(
    with request: URLRequest, fromFile file: URL,
    completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> SAPURLSessionTask {
    SAPURLSessionTask(request, upload: .file(file), of: self, to: .whole(completionHandler))
  }

  /// Makes a task that sends a stream as the request's body.
  ///
  /// - Parameters:
  ///   - request: the request. If it has a `Content-Length`, the stream has to have that many bytes; otherwise it is
  ///     sent in chunks.
  ///   - needNewBodyStream: makes a new stream each time the request is sent, even after a redirect, a challenge or a
  ///     resend. If it returns nil, or a stream that cannot be opened, the task fails with a `URLError`. It is called
  ///     on any thread.
  ///   - completionHandler: gets the body and the response, or the error.
  public func uploadTask(
    withStreamedRequest request: URLRequest, needNewBodyStream: @escaping @Sendable () -> InputStream?,
    completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> SAPURLSessionTask {
    SAPURLSessionTask(request, upload: .stream(needNewBodyStream), of: self, to: .whole(completionHandler))
  }

  /// Makes a task that gets a URL into a file; see ``downloadTask(with:completionHandler:)-(URLRequest,_)``.
  public func downloadTask(
    with url: URL, completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
  ) -> SAPURLSessionDownloadTask {
    downloadTask(with: URLRequest(url: url), completionHandler: completionHandler)
  }

  /// Makes a task that writes the body of the response to a temporary file, whatever its status. The file is removed
  /// when the handler has returned: move it.
  public func downloadTask(
    with request: URLRequest, completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
  ) -> SAPURLSessionDownloadTask {
    SAPURLSessionDownloadTask(request, of: self, to: .file(completionHandler))
  }

  /// Makes a task that continues a download that ``SAPURLSessionDownloadTask/cancel(byProducingResumeData:)`` has
  /// stopped. If the resource has changed since, the download begins again. Invalid data fail the task with
  /// ``SAPURLSessionError/invalidRequest``.
  ///
  /// The data contain the URL of the request, but none of its fields and settings. If it had any, pass it again: see
  /// ``downloadTask(with:resumeData:completionHandler:)``.
  public func downloadTask(
    withResumeData resumeData: Data,
    completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
  ) -> SAPURLSessionDownloadTask {
    SAPURLSessionDownloadTask(resuming: resumeData, of: self, to: .file(completionHandler))
  }

  /// Makes a task that continues a download with its original request, whose fields, timeout and cache policy the
  /// resume data do not contain; otherwise like ``downloadTask(withResumeData:completionHandler:)``.
  ///
  /// - Parameters:
  ///   - request: the request. One for another URL than that of the data fails the task with `URLError.badURL`. Another
  ///     method than GET begins the download again.
  ///   - resumeData: the data of ``SAPURLSessionDownloadTask/cancel(byProducingResumeData:)``.
  ///   - completionHandler: gets the file and the response, or the error.
  public func downloadTask(
    with request: URLRequest, resumeData: Data,
    completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
  ) -> SAPURLSessionDownloadTask {
    SAPURLSessionDownloadTask(resuming: resumeData, with: request, of: self, to: .file(completionHandler))
  }
}
