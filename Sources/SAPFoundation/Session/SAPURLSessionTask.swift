public import Foundation
import MartletEngine

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// One piece of work of a session: a request, and all that it takes to get its answer. It may be sent several times, and
/// stays the same task.
///
/// It begins with ``resume()``. Its handler is called once, on the session's `delegateQueue`. A task that failed says
/// exactly what an observer failed it with, or a `URLError` whose `underlyingHTTPError` has the details.
///
/// SAFETY: all stored properties are constants, and what changes is behind a lock.
public class SAPURLSessionTask: @unchecked Sendable {
  /// Unique, and the same however often the request is sent.
  public let taskID = UUID()
  /// The request as it was passed in.
  public let originalRequest: URLRequest?
  let session: SAPURLSession
  /// The body that the task has beside its request.
  let upload: Upload?
  let mutable: Locked<TaskState>
  private let locals = ContextValues()

  /// Where the body of an upload comes from.
  enum Upload: Sendable {
    case data(Data)
    case file(URL)
    case stream(@Sendable () -> InputStream?)
  }

  init(_ request: URLRequest?, upload: Upload? = nil, of session: SAPURLSession, to delivery: Delivery) {
    originalRequest = request
    self.session = session
    self.upload = upload
    mutable = Locked(TaskState(delivery))
  }

  /// What marks the task: an observer finds here what it, or the app, has put in, also when the request is sent again. It may
  /// be used from any thread; what is in it has to allow that too. A closure that changes it (`merge`) reads it as it was. A
  /// request that an observer makes inherits nothing.
  public var context: [String: Any] {
    get { locals.all }
    _modify { yield &locals.all }
  }

  // MARK: Control

  /// Begins, or goes on after ``suspend()``; otherwise does nothing. On an invalidated session the task fails with
  /// ``SAPURLSessionError/invalidURLSession``.
  public func resume() {
    switch mutable.withLock({ $0.resume() }) {
    case .start: begin()
    case .release(let gates): for gate in gates { gate.answer(.success(())) }
    case .nothing: break
    }
  }

  /// Holds the task up: nothing more is sent, and no more of a body is read, so that the sender has to wait as well. A
  /// download to a file is held up only between two sendings.
  public func suspend() {
    mutable.withLock { if $0.phase == .running { $0.phase = .held } }
  }

  /// Ends the task with `URLError.cancelled`, also while an observer has not answered yet, and also if it never began.
  public func cancel() {
    let (work, begins) = mutable.withLock { state in
      state.isCancelled = state.isCancelled || state.phase != .over
      let begins = state.phase == .idle
      if begins { state.phase = .running }
      return (state.work, begins)
    }
    if begins { begin() } else { work?.cancel() }
  }

  private func begin() {
    let isAdmitted = session.admit(self)
    let priority: TaskPriority? = priority > 0.5 ? .high : priority < 0.5 ? .low : nil
    let (work, isCancelled) = mutable.withLock { state in  // what the work does to the state comes after this
      let work = Task(priority: priority) { await TaskRun(task: self).run(isAdmitted: isAdmitted) }
      state.work = work
      return (work, state.isCancelled)
    }
    if isCancelled { work.cancel() }
  }
}
