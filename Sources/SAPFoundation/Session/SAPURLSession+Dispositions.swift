#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif
public import Foundation

// What observers and the delegate answer. `.allow` means to go on, with the value that it carries: the next in line sees
// that one. Every other answer settles the matter, and nobody else is asked, the delegate included.
extension SAPURLSession {
  /// The answer to a request that is about to be sent.
  public enum RequestDisposition: Sendable {
    /// Goes on with this request.
    case allow(URLRequest)
    /// Fails the task with exactly this error; nothing is sent.
    case cancel(any Error)
    /// Answers without the network: a mock, a store of one's own. The observers see it as they see any response.
    case respond(URLResponse, Data)
  }

  /// The answer to a response whose body was not read yet.
  public enum ResponseDisposition: Sendable {
    /// Goes on with this response.
    case allow(URLResponse)
    /// Fails the task with exactly this error.
    case cancel(any Error)
    /// Gives the response up and sends this request in the same task, whose caller does not notice.
    case resend(URLRequest)
    /// Writes the body to a file: see ``SAPURLSessionTask/downloadLocation``.
    case becomeDownload
  }

  /// The answer to something that can only be taken or stopped.
  public enum CancellableDisposition: Sendable {
    /// Goes on.
    case allow
    /// Fails the task with exactly this error.
    case cancel(any Error)
  }

  /// The answer to a batch of a body.
  public enum DataDisposition: Sendable {
    /// Goes on with these bytes.
    case allow(Data)
    /// Fails the task with exactly this error.
    case cancel(any Error)
  }

  /// The answer to a challenge.
  public enum AuthChallengeDisposition: Sendable {
    /// Answers with this credential.
    case use(URLCredential)
    /// Has no opinion: the next is asked, and after the last one the configuration's `urlCredentialStorage`.
    case performDefaultHandling
    /// Leaves this challenge unanswered; the next one of the response, if there is one, is asked about.
    case rejectProtectionSpace
    /// Fails the task with exactly this error.
    case cancel(any Error)
  }

  /// The answer to a redirect.
  public enum HTTPRedirectDisposition: Sendable {
    /// Follows it with this request.
    case allow(URLRequest)
    /// Does not follow it: the redirect is the response.
    case refuse
    /// Fails the task with exactly this error.
    case cancel(any Error)
  }

  /// The answer to the question for a body.
  ///
  /// SAFETY: a stream is handed over with the answer; who answers keeps his hands off it.
  public enum InputStreamDisposition: @unchecked Sendable {
    /// Goes on with this stream; nil has no opinion: what an earlier observer or the task's own closure gave is used.
    case allow(InputStream?)
    /// Fails the task with exactly this error.
    case cancel(any Error)
  }

  /// The answer to what is about to be stored in the cache.
  public enum CacheResponseDisposition: Sendable {
    /// Stores it.
    case allow(CachedURLResponse)
    /// Stores nothing.
    case doNotCache
    /// Fails the task with exactly this error.
    case cancel(any Error)
  }

  /// The answer to a request that waited for ``SAPURLSessionTask/earliestBeginDate``.
  public enum DelayedRequestDisposition: Sendable {
    /// Sends it as it is.
    case continueLoading
    /// Sends this one in its place.
    case useNewRequest(URLRequest)
    /// Fails the task with exactly this error.
    case cancel(any Error)
  }
}
