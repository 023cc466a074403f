@_spi(Toolkit) import MartletEngine
import MartletSemantics
@_spi(Toolkit) import MartletURLSession

extension SAPURLSessionTask {
  /// The body that an upload task has besides its request.
  @_spi(Toolkit) public enum Upload: Sendable {
    case data(Data)
    case file(URL)
    /// The closure makes a new stream each time the request is sent.
    case stream(@Sendable () -> InputStream?)
  }

  /// Returns the body of the upload task, or of the request's stream; nil if the body is the request's own bytes.
  func uploadBody(for request: URLRequest) -> RequestBody? {
    let length = request.fields[.contentLength].flatMap { Int64($0) }
    switch upload {
    case .data(let data): return .data(data)
    case .file(let file): return .file(file)
    case .stream(let make): return .stream(length: length) { [self] in try await newStream(make) }
    case nil:
      guard let stream = request.httpBodyStream else { return nil }
      let first = Locked<InputStream?>(stream)
      return .stream(length: length) { [self] in try await ownStream(first) }
    }
  }

  /// Returns the stream of the task's request until something of it was read: attempts that could not connect have only
  /// opened it. Afterwards, to send the body again, a handler must give another.
  ///
  /// - Parameter first: the stream; nil once it was opened.
  private func ownStream(_ first: Locked<InputStream?>) async throws -> StreamChunks {
    if let unread = mutable.withLock({ $0.unreadBody }) { return unread }
    guard let stream = first.withLock({ $0.take() }) else { return try await newStream { nil } }
    let chunks = try StreamChunks(opening: stream, for: self)
    mutable.withLock { $0.unreadBody = chunks }
    return chunks
  }

  /// Returns a new stream for the body: that of the last handler that gives one, otherwise the task's own.
  ///
  /// - Parameter makeOwn: makes the task's own stream.
  private func newStream(_ makeOwn: @Sendable () -> InputStream?) async throws -> StreamChunks {
    var stream: InputStream?
    for handler in session.eventHandlers where handler.isCurrent {
      let reply: SAPURLSession.InputStreamDisposition? = try await session.ask(
        handler, "sapURLSession(_:task:needNewBodyStream:)", of: self
      ) { [self] in $0.sapURLSession(session, task: self, needNewBodyStream: $1) }
      guard let answer = reply else { continue }
      switch answer {
      case .allow(let given): stream = given ?? stream
      case .cancel(let error): throw fail(error)
      }
    }
    guard let stream = stream ?? makeOwn() else { throw URLError.noBodyStream }
    return try StreamChunks(opening: stream)
  }
}

/// The bytes of an input stream, read on a thread that may block. They can be iterated once.
final class StreamChunks: AsyncSequence, Sendable {
  private let stream: Locked<InputStream>
  /// The task whose unread body this is; nil for every other stream.
  private weak let task: SAPURLSessionTask?
  private let queue = DispatchQueue(label: "SAP.Foundation.SAPURLSession.body")
  private static let chunkSize = 64 << 10

  /// - Parameter task: holds the stream, so that it stays open, until reading begins; nil by default.
  /// - Throws: a `URLError` if the stream cannot be opened.
  init(opening stream: InputStream, for task: SAPURLSessionTask? = nil) throws(URLError) {
    self.stream = Locked(stream)
    self.task = task
    if stream.streamStatus == .notOpen { stream.open() }
    if stream.streamStatus == .error { throw .unreadable(stream) }
  }

  deinit { stream.withLock { $0.close() } }

  func makeAsyncIterator() -> Iterator { Iterator(chunks: self) }

  struct Iterator: AsyncIteratorProtocol {
    let chunks: StreamChunks

    /// Returns the next chunk. Cancellation ends the wait even while the read blocks.
    func next() async throws -> Data? {
      chunks.task?.mutable.withLock { $0.unreadBody = nil }
      let chunk = OneShot<Data?>()
      chunks.queue.async { [chunks] in chunk.answer(Result { try chunks.read() }) }
      return try await chunk.wait()
    }
  }

  private func read() throws -> Data? {
    try stream.withLock { stream in
      var chunk = Data(count: Self.chunkSize)
      let count = chunk.withUnsafeMutableBytes { buffer in
        buffer.bindMemory(to: UInt8.self).baseAddress.map { stream.read($0, maxLength: buffer.count) } ?? 0
      }
      guard count >= 0 else { throw URLError.unreadable(stream) }
      return count == 0 ? nil : chunk.prefix(count)
    }
  }
}

extension URLError {
  /// The error of an upload without a stream, for the first or another sending.
  fileprivate static var noBodyStream: URLError {
    URLError(
      .requestBodyStreamExhausted,
      userInfo: [NSLocalizedDescriptionKey: "the task needs a stream for its body, and got none"])
  }

  fileprivate static func unreadable(_ stream: InputStream) -> URLError {
    var info: [String: Any] = [NSLocalizedDescriptionKey: "the stream of the task's body cannot be read"]
    // On Linux, asking a stream without an error, such as a closed one, for its error ends the program.
    if stream.streamStatus == .error { info[NSUnderlyingErrorKey] = stream.streamError }
    return URLError(.cannotOpenFile, userInfo: info)
  }
}
