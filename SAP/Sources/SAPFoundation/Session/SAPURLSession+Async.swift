@_spi(Toolkit) import MartletEngine

// Each method runs a task of the session, with observers and delegate as for any other task, and throws the error that
// the task fails with. Cancelling the Swift task cancels the session's task, with `URLError.cancelled`. A status is not
// an error.
extension SAPURLSession {
  /// Sends a request, and collects the body of the response. A body of more than 1 GiB is an error. Runs off the
  /// caller's actor.
  ///
  /// ```swift
  /// let session = SAPURLSession()
  /// let (data, response) = try await session.data(for: URLRequest(url: url))
  /// ```
  @concurrent public func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    try await content { dataTask(with: request, completionHandler: $0) }
  }

  /// Sends a request like ``data(for:)``.
  ///
  /// - Parameter engineRequest: the request in the engine's form, with options that a `URLRequest` does not have.
  @concurrent func data(for request: URLRequest, as engineRequest: HTTPRequest) async throws -> (Data, URLResponse) {
    try await content { SAPURLSessionTask(request, as: engineRequest, of: self, to: .whole($0)) }
  }

  /// Gets a URL, and collects the body of the response; see ``data(for:)``. Runs off the caller's actor.
  @concurrent public func data(from url: URL) async throws -> (Data, URLResponse) {
    try await data(for: URLRequest(url: url))
  }

  /// Sends a request with bytes as its body, and collects the body of the response. Runs off the caller's actor.
  @concurrent public func upload(for request: URLRequest, from bodyData: Data) async throws -> (Data, URLResponse) {
    try await content { uploadTask(with: request, from: bodyData, completionHandler: $0) }
  }

  /// Sends bytes like ``upload(for:from:)``, and returns the task, too.
  @concurrent func answer(
    to request: URLRequest, uploading bytes: Data
  ) async throws -> (Data, URLResponse, SAPURLSessionTask) {
    var made: SAPURLSessionTask?
    let (data, response) = try await content { done in
      let task = uploadTask(with: request, from: bytes, completionHandler: done)
      made = task
      return task
    }
    guard let task = made else { throw URLError(.unknown) }
    return (data, response, task)
  }

  /// Sends a request with a file as its body, and collects the body of the response. The file is read as it is sent.
  /// Runs off the caller's actor.
  @concurrent public func upload(for request: URLRequest, fromFile fileURL: URL) async throws -> (Data, URLResponse) {
    try await content { uploadTask(with: request, fromFile: fileURL, completionHandler: $0) }
  }

  /// Sends a request, and writes the body of the response to a temporary file, whatever its status. The caller moves or
  /// removes the file. Runs off the caller's actor.
  @concurrent public func download(for request: URLRequest) async throws -> (URL, URLResponse) {
    try await content { done in downloadTask(with: request, completionHandler: Self.keepingFile(done)) }
  }

  /// Gets a URL into a temporary file; see ``download(for:)``. Runs off the caller's actor.
  @concurrent public func download(from url: URL) async throws -> (URL, URLResponse) {
    try await download(for: URLRequest(url: url))
  }

  /// Continues a download that was stopped; see ``downloadTask(withResumeData:completionHandler:)``. Runs off the
  /// caller's actor.
  @concurrent public func download(resumeFrom resumeData: Data) async throws -> (URL, URLResponse) {
    try await content { done in
      downloadTask(withResumeData: resumeData, completionHandler: Self.keepingFile(done))
    }
  }

  /// Continues a download with its original request; see ``downloadTask(with:resumeData:completionHandler:)``. Runs off
  /// the caller's actor.
  @concurrent public func download(
    for request: URLRequest, resumeFrom resumeData: Data
  ) async throws -> (URL, URLResponse) {
    try await content { done in
      downloadTask(with: request, resumeData: resumeData, completionHandler: Self.keepingFile(done))
    }
  }

  /// Sends a request, and returns as soon as the head of the response is received. The body is read as it is iterated.
  /// Runs off the caller's actor.
  ///
  /// ```swift
  /// let session = SAPURLSession()
  /// let (bytes, response) = try await session.bytes(for: URLRequest(url: url))
  /// for try await byte in bytes { print(byte) }
  /// ```
  @concurrent public func bytes(for request: URLRequest) async throws -> (AsyncBytes, URLResponse) {
    try await bytes(for: request, uploading: nil)
  }

  /// Sends a request, with another body than its own if one is given; see ``bytes(for:)``. Runs off the caller's actor.
  @concurrent @_spi(Toolkit) public func bytes(
    for request: URLRequest, uploading upload: SAPURLSessionTask.Upload?
  ) async throws -> (AsyncBytes, URLResponse) {
    let stream = ByteStream()
    let task = SAPURLSessionTask(request, upload: upload, of: self, to: .stream(stream))
    let bytes = AsyncBytes(stream, of: task)
    return try await withTaskCancellationHandler {
      task.resume()
      return (bytes, try await stream.response())
    } onCancel: {
      task.cancel()
    }
  }

  /// Gets a URL, and returns as soon as the head of the response is received; see ``bytes(for:)``. Runs off the
  /// caller's actor.
  @concurrent public func bytes(from url: URL) async throws -> (AsyncBytes, URLResponse) {
    try await bytes(for: URLRequest(url: url))
  }

  private typealias Completion<Content> = @Sendable (Content?, URLResponse?, (any Error)?) -> Void

  /// Runs a task until it has completed. A task that completes without content is an error.
  private func content<Content: Sendable>(
    of makeTask: (@escaping Completion<Content>) -> SAPURLSessionTask
  ) async throws -> (Content, URLResponse) {
    let (content, response) = try await run(makeTask)
    guard let content else { throw URLError(.badServerResponse) }
    return (content, response)
  }

  /// Runs a task until it has completed. The content is nil if an observer made the task a download.
  fileprivate func run<Content: Sendable>(
    _ makeTask: (@escaping @Sendable (Content?, URLResponse?, (any Error)?) -> Void) -> SAPURLSessionTask
  ) async throws -> (Content?, URLResponse) {
    let running = Locked<(task: SAPURLSessionTask?, isCancelled: Bool)>((nil, false))
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let task = makeTask { content, response, error in
          guard error == nil, let response else {
            return continuation.resume(throwing: error ?? URLError(.badServerResponse))
          }
          continuation.resume(returning: (content, response))
        }
        task.mutable.withLock { $0.isAwaited = true }
        let isCancelled = running.withLock { running in
          running.task = task
          return running.isCancelled
        }
        if isCancelled { task.cancel() } else { task.resume() }
      }
    } onCancel: {
      let task = running.withLock { running in
        running.isCancelled = true
        return running.task
      }
      task?.cancel()
    }
  }

  /// Returns a completion handler that moves the file first, because it is removed when the handler has returned.
  private static func keepingFile(_ done: @escaping Completion<URL>) -> Completion<URL> {
    { file, response, error in
      do {
        let own = try file.map { file in
          let own = SAPURLSessionTask.makeTemporaryFile()
          try FileManager.default.moveItem(at: file, to: own)
          return own
        }
        done(own, response, error)
      } catch { done(nil, response, error) }
    }
  }
}

// MARK: - Bytes

extension SAPURLSession {
  /// The bytes of a response's body. They are received as they are read: a slow reader makes the server wait.
  ///
  /// They can be iterated once. The session's task is cancelled when the sequence and its iterators are released, or
  /// when the Swift task that iterates is cancelled.
  public struct AsyncBytes: AsyncSequence, Sendable, CustomReflectable {
    public typealias Element = UInt8

    private let reader: StreamReader

    init(_ stream: ByteStream, of task: SAPURLSessionTask) { reader = StreamReader(stream, task) }

    /// The task that receives the bytes.
    public var task: SAPURLSessionTask { reader.task }

    /// A mirror with the task only.
    public var customMirror: Mirror { Mirror(self, children: ["task": task]) }

    public func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }

    /// Iterates over the bytes.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let reader: StreamReader
      private var chunk = Data()[...]

      fileprivate init(reader: StreamReader) { self.reader = reader }

      /// Returns the next byte; nil at the end.
      ///
      /// - Throws: the error that the task fails with; `URLError.cancelled` if it or the Swift task was cancelled.
      public mutating func next() async throws -> UInt8? {
        while true {
          if let byte = chunk.popFirst() { return byte }
          guard let next = try await reader.next() else { return nil }
          chunk = next[...]
        }
      }

      /// Returns the next bytes, as many as have arrived together; nil at the end.
      @_spi(Toolkit) public mutating func nextChunk() async throws -> Data? {
        guard chunk.isEmpty else {
          defer { chunk = Data()[...] }
          return Data(chunk)
        }
        return try await reader.next()
      }
    }
  }
}

/// Reads a stream. When it is released, it cancels the task that fills the stream.
private final class StreamReader: Sendable {
  let task: SAPURLSessionTask
  private let stream: ByteStream

  init(_ stream: ByteStream, _ task: SAPURLSessionTask) {
    self.stream = stream
    self.task = task
  }

  deinit { task.cancel() }

  func next() async throws -> Data? {
    do { return try await stream.next() } catch is CancellationError {
      task.cancel()
      throw URLError(.cancelled)
    }
  }
}

/// Passes a body from a task to a reader, chunk by chunk. It holds at most one unread chunk.
final class ByteStream: Sendable {
  private struct State {
    var chunk: Data?
    /// Resumes the sender when its chunk was read.
    var sender: OneShot<Void>?
    /// Resumes the reader when there is a chunk, or the end.
    var reader: OneShot<Data?>?
    var end: Result<Data?, any Error>?
  }

  private let head = OneShot<URLResponse>()
  private let state = Locked(State())

  /// Returns the head of the response.
  ///
  /// - Throws: the error that the task fails with before it is received.
  func response() async throws -> URLResponse {
    do { return try await head.wait() } catch is CancellationError { throw URLError(.cancelled) }
  }

  func begin(_ response: URLResponse) { head.answer(.success(response)) }

  /// Passes a chunk on, and returns when it was read.
  func send(_ chunk: Data) async throws {
    let read = OneShot<Void>()
    let reader = state.withLock { state -> OneShot<Data?>? in
      if let reader = state.reader.take() { return reader }
      (state.chunk, state.sender) = (chunk, read)
      return nil
    }
    if let reader { reader.answer(.success(chunk)) } else { try await read.wait() }
  }

  func finish(_ error: (any Error)?) {
    let end: Result<Data?, any Error> = error.map { .failure($0) } ?? .success(nil)
    let reader = state.withLock { state in
      state.end = end
      if error != nil { state.chunk = nil }
      return state.reader.take()
    }
    head.answer(.failure(error ?? URLError(.badServerResponse)))
    reader?.answer(end)
  }

  /// Returns the next chunk; nil at the end.
  func next() async throws -> Data? {
    let arrival = OneShot<Data?>()
    let (chunk, sender, end) = state.withLock { state in
      let ready = (state.chunk.take(), state.sender.take(), state.end)
      if ready.0 == nil, ready.2 == nil { state.reader = arrival }
      return ready
    }
    sender?.answer(.success(()))
    if let chunk { return chunk }
    if let end { return try end.get() }
    return try await arrival.wait()
  }
}

// MARK: - Publisher

extension SAPURLSession {
  /// Returns a publisher of the URL's data; see ``DataTaskPublisher``.
  public func dataTaskPublisher(for url: URL) -> DataTaskPublisher {
    DataTaskPublisher(session: self, request: URLRequest(url: url))
  }

  /// Returns a publisher of the request's data; see ``DataTaskPublisher``.
  public func dataTaskPublisher(for request: URLRequest) -> DataTaskPublisher {
    DataTaskPublisher(session: self, request: request)
  }

  /// Publishes the body and the response of one task, and finishes; or fails with the error of the task.
  ///
  /// ```swift
  /// session.dataTaskPublisher(for: url)
  ///   .map(\.data)
  ///   .replaceError(with: placeholder)
  ///   .sink { show($0) }
  /// ```
  ///
  /// Each subscriber has a task of its own, which is made when it first requests a value. The publisher completes
  /// exactly once; a response without a body publishes empty data. Cancelling the subscription cancels the task. (SAP's
  /// publisher may complete with neither a value nor an error, and does not cancel the task of a cancelled
  /// subscription.)
  public final class DataTaskPublisher: Publisher, Sendable, CustomReflectable {
    public typealias Output = (data: Data, response: URLResponse)
    public typealias Failure = any Error

    /// The request.
    public let request: URLRequest
    /// The session that sends it.
    public let session: SAPURLSession

    /// Makes a publisher.
    public init(session: SAPURLSession, request: URLRequest) {
      self.session = session
      self.request = request
    }

    /// A mirror with the method and the URL of the request, without user information and query.
    public var customMirror: Mirror { Mirror(self, children: ["request": request.summary]) }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == any Error {
      TaskPublisher<Output, any Error> { [session, request] in
        let (data, response) = try await session.run { session.dataTask(with: request, completionHandler: $0) }
        return (data ?? Data(), response)
      }.receive(subscriber: subscriber)
    }
  }
}
