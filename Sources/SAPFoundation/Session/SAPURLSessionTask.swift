public import Foundation
import Synchronization

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// One piece of work of a session: a request, and all that it takes to get its answer. It may be sent several times, and
/// stays the same task.
///
/// A task begins with ``resume()``, and its handler is called once.
///
/// SAFETY: all stored properties are constants, and what changes is behind a lock.
public class SAPURLSessionTask: @unchecked Sendable {
  /// Unique, and the same however often the request is sent.
  public let taskID = UUID()
  /// The request as it was passed in.
  public let originalRequest: URLRequest?
  let session: SAPURLSession
  private let locals = Locked([String: Any]())

  init(_ request: URLRequest?, of session: SAPURLSession) {
    originalRequest = request
    self.session = session
  }

  /// What marks the task: an observer finds here what it, or the app, has put in, also when the request is sent again. It may
  /// be used from any thread; what is in it has to allow that too. A request that an observer makes inherits nothing.
  public var context: [String: Any] {
    get { locals.withLock { $0 } }
    set { locals.withLock { $0 = newValue } }
  }
}

/// A task that writes the response's body to a file.
public final class SAPURLSessionDownloadTask: SAPURLSessionTask, @unchecked Sendable {}
