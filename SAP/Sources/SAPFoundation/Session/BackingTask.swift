/// A `URLSessionTask` that represents one sending of a task where Foundation's type is needed. Its properties are those
/// of the task, and `cancel` cancels the task; `resume` and `suspend` do nothing, because no `URLSession` runs it.
///
/// SAFETY: the properties are constants, and the task is safe to use from any thread.
final class BackingTask: URLSessionDataTask, @unchecked Sendable {
  private let request: URLRequest
  private let number: Int
  private weak let task: SAPURLSessionTask?

  init(_ request: URLRequest, number: Int, of task: SAPURLSessionTask) {
    self.request = request
    self.number = number
    self.task = task
    super.init()
  }

  override var taskIdentifier: Int {
    get { number }
    set {}
  }
  override var originalRequest: URLRequest? {
    get { request }
    set {}
  }
  override var currentRequest: URLRequest? {
    get { task?.currentRequest ?? request }
    set {}
  }
  override var response: URLResponse? {
    get { task?.response }
    set {}
  }
  override var state: URLSessionTask.State { task?.state ?? .completed }
  override var error: (any Error)? {
    get { task?.error }
    set {}
  }
  override var countOfBytesSent: Int64 {
    get { task?.countOfBytesSent ?? 0 }
    set {}
  }
  override var countOfBytesReceived: Int64 {
    get { task?.countOfBytesReceived ?? 0 }
    set {}
  }
  override var countOfBytesExpectedToSend: Int64 {
    get { task?.countOfBytesExpectedToSend ?? 0 }
    set {}
  }
  override var countOfBytesExpectedToReceive: Int64 {
    get { task?.countOfBytesExpectedToReceive ?? -1 }
    set {}
  }
  override var priority: Float {
    get { task?.priority ?? 0.5 }
    set { task?.priority = newValue }
  }
  override func resume() {}
  override func suspend() {}
  override func cancel() { task?.cancel() }
}
