// The answers of observers and delegate. `.allow` continues: the next handler decides about the value that it carries.
// Every other answer is final, and no other handler is called.
//
// The body belongs to the task, not to the requests that handlers get and give: see `RequestDisposition`.
extension SAPURLSession {
  /// The answer about a request that is about to be sent.
  ///
  /// The body belongs to the task. A request without one, such as the ``SAPURLSessionTask/originalRequest`` of an
  /// upload, is sent with the task's body; empty `Data` removes it. A request that a handler turns into a GET or HEAD
  /// has no body. The same applies to ``ResponseDisposition/resend(_:)`` and ``HTTPRedirectDisposition/allow(_:)``.
  public enum RequestDisposition: Sendable {
    /// Sends this request.
    case allow(URLRequest)
    /// Fails the task with exactly this error; nothing is sent.
    case cancel(any Error)
    /// Responds without the network, from a mock or a store. Observers get this response like any other.
    case respond(URLResponse, Data)
  }

  /// The answer about a response, before its body is read.
  public enum ResponseDisposition: Sendable {
    /// Continues with this response.
    case allow(URLResponse)
    /// Fails the task with exactly this error.
    case cancel(any Error)
    /// Discards the response and sends this request within the same task, with the task's body if it has none of its
    /// own; the task's caller sees only the last response.
    case resend(URLRequest)
    /// Writes the body to a file: see ``SAPURLSessionTask/downloadLocation``.
    case becomeDownload
  }

  /// The answer about an event that can only be accepted or failed.
  public enum CancellableDisposition: Sendable {
    /// Continues.
    case allow
    /// Fails the task with exactly this error.
    case cancel(any Error)
  }

  /// The answer about a batch of a body.
  public enum DataDisposition: Sendable {
    /// Continues with these bytes.
    case allow(Data)
    /// Fails the task with exactly this error.
    case cancel(any Error)
  }

  /// The answer to a challenge.
  public enum AuthChallengeDisposition: Sendable {
    /// Answers with this credential.
    case use(URLCredential)
    /// Leaves the answer to the next handler, and after the last one to the configuration's `urlCredentialStorage`.
    case performDefaultHandling
    /// Leaves this challenge unanswered; the session tries the response's next challenge, if there is one.
    case rejectProtectionSpace
    /// Fails the task with exactly this error.
    case cancel(any Error)
  }

  /// The answer about a redirect.
  public enum HTTPRedirectDisposition: Sendable {
    /// Follows it with this request. If a redirect has made a GET of it, another method brings the task's body back.
    case allow(URLRequest)
    /// Does not follow it: the redirect is the response.
    case refuse
    /// Fails the task with exactly this error.
    case cancel(any Error)
  }

  /// The answer when a streamed body is needed.
  ///
  /// SAFETY: the handler that answers with a stream does not use the stream any more.
  public enum InputStreamDisposition: @unchecked Sendable {
    /// Sends this stream; nil leaves it to an earlier observer or to the task's own closure.
    case allow(InputStream?)
    /// Fails the task with exactly this error.
    case cancel(any Error)
  }

  /// The answer about a response that is about to be stored in the cache.
  public enum CacheResponseDisposition: Sendable {
    /// Stores this response.
    case allow(CachedURLResponse)
    /// Stores nothing.
    case doNotCache
    /// Fails the task with exactly this error.
    case cancel(any Error)
  }

  /// The answer about a request whose ``SAPURLSessionTask/earliestBeginDate`` has come.
  public enum DelayedRequestDisposition: Sendable {
    /// Sends the request unchanged.
    case continueLoading
    /// Sends this request instead.
    case useNewRequest(URLRequest)
    /// Fails the task with exactly this error.
    case cancel(any Error)
  }
}

/// The effect of an answer on the handlers that have not been called yet.
enum Resolution<Value> {
  /// The next handler decides about this value.
  case next(Value)
  /// The task fails.
  case fail(any Error)
  /// No other handler is called.
  case final
}

/// An answer that one handler after another can give.
protocol Disposition: Sendable {
  associatedtype Value: Sendable
  var resolution: Resolution<Value> { get }
}

extension SAPURLSession.DataDisposition: Disposition {
  var resolution: Resolution<Data> {
    switch self {
    case .allow(let data): .next(data)
    case .cancel(let error): .fail(error)
    }
  }
}

extension SAPURLSession.AuthChallengeDisposition: Disposition {
  var resolution: Resolution<Void> {
    switch self {
    case .performDefaultHandling: .next(())
    case .use, .rejectProtectionSpace: .final
    case .cancel(let error): .fail(error)
    }
  }
}

extension SAPURLSession.HTTPRedirectDisposition: Disposition {
  var resolution: Resolution<URLRequest> {
    switch self {
    case .allow(let request): .next(request)
    case .refuse: .final
    case .cancel(let error): .fail(error)
    }
  }
}

extension SAPURLSession.CacheResponseDisposition: Disposition {
  var resolution: Resolution<CachedURLResponse> {
    switch self {
    case .allow(let response): .next(response)
    case .doNotCache: .final
    case .cancel(let error): .fail(error)
    }
  }
}

extension SAPURLSession.DelayedRequestDisposition: Disposition {
  var resolution: Resolution<Void> {
    switch self {
    case .continueLoading: .next(())
    case .useNewRequest: .final
    case .cancel(let error): .fail(error)
    }
  }
}
