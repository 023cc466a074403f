import MartletSemantics
import Synchronization

/// The body of a response that a session returns. It enforces the limits on size and time, reports to the listeners,
/// and adds the call's context to its errors. When the body ends, the call ends; that is reported once.
final class SessionBody: BodySource {
  private let base: any BodySource
  private let length: Int64?
  private let limit: Int64?
  private let call: Call
  private let request: RequestHead
  private let response: ResponseHead
  private let history: [AttemptRecord]
  private let state = Mutex((count: Int64(0), offset: Int64(0), isFinished: false))

  /// - Parameters:
  ///   - response: the response that the loop returned.
  ///   - limit: the maximum number of bytes; nil for no limit.
  init(of response: HTTPResponse, limit: Int64?, in call: Call) {
    let source = response.body.source
    base =
      if let deadline = call.activeDeadline, !Deadline.isKept(by: source) {
        DeadlineBody(source, until: deadline, in: call.context)
      } else {
        source
      }
    length = response.body.length
    self.limit = limit
    self.call = call
    request = response.request
    self.response = response.head
    history = response.history
  }

  /// The decoder of the session that received the body; nil if a test made the call.
  var decoder: JSONDecoder? { call.runner?.decoder }

  func next() async throws -> Data? {
    do {
      try checkLength()
      guard let chunk = try await base.next() else {
        finish(nil)
        return nil
      }
      try report(chunk)
      return chunk
    } catch { throw ended(by: error) }
  }

  /// Returns the whole body if it has been received and none of it was read, so that the reader need not wait.
  func takeReceived() throws(HTTPError) -> Data? {
    do throws(HTTPError) {
      guard let data = try base.takeReceived() else { return nil }
      try call.reportReceived(data, of: length, upTo: limit, from: base)
      finish(nil)
      return data
    } catch { throw ended(by: error) }
  }

  private func checkLength() throws(HTTPError) {
    if let limit, let length, length > limit { throw .bodyTooLarge(limit: limit) }
  }

  /// Counts and reports a chunk.
  private func report(_ chunk: Data) throws(HTTPError) {
    let (count, offset) = state.withLock { state in
      state.count += Int64(chunk.count)
      return (state.count, state.offset)
    }
    if let limit, count > limit { throw .bodyTooLarge(limit: limit) }
    call.reportReceived(chunk, completed: count, of: length, after: offset)
  }

  /// Records that this body continues one whose beginning came with earlier responses. Its progress then counts the
  /// whole. Called before the body is read.
  func follow(_ beginning: Int64) { state.withLock { $0.offset = beginning } }

  /// Ends the call with an error, and returns the error with the call's context.
  func ended(by error: any Error) -> HTTPError {
    let error = addingContext(HTTPError(wrapping: error))
    base.cancel()
    finish(error)
    return error
  }

  func cancel() {
    let (count, isFinished) = state.withLock { ($0.count, $0.isFinished) }
    // A caller need not read an empty body, nor ask for the end after the last byte.
    let isComplete = !isFinished && (count == length || base.isKnownToHaveNoRest)
    base.cancel()
    guard !isFinished else { return }
    let error = HTTPError(.cancelled, "the response's body was cancelled before its end")
    finish(isComplete ? nil : addingContext(error))
  }

  /// Ends the call without an error and without reading the rest of the body, which the caller does not need.
  func endUnread() {
    base.cancel()
    finish(nil)
  }

  /// Ends the call with an error about the response, which gets the beginning of the body. No other code reads the
  /// body.
  ///
  /// - Parameters:
  ///   - error: the error, with the call's context.
  ///   - count: the maximum number of bytes to read. The transfer of a longer body is stopped.
  ///   - time: the maximum time to read. The error has no bytes if they do not arrive within it.
  ///   - clock: measures the time.
  func end(
    with error: HTTPError, readingUpTo count: Int, within time: Duration, on clock: any Clock<Duration>
  ) async -> HTTPError {
    state.withLock { $0.isFinished = true }  // The body may end before the call does.
    var error = error
    error.body = try? await Deadline(time, on: clock).limiting { [self] in
      var bytes = Data()
      while bytes.count < count, let chunk = try? await next() { bytes.append(chunk) }
      return bytes.prefix(count)
    }
    base.cancel()
    if Task.isCancelled { error = addingContext(HTTPError(wrapping: CancellationError())) }
    call.end(error)
    return error
  }

  var trailers: HTTPFields { base.trailers }

  deinit { if !state.withLock(\.isFinished) { cancel() } }

  private func addingContext(_ error: HTTPError) -> HTTPError {
    error.addingContext(request: request, response: response, history: history)
  }

  private func finish(_ error: HTTPError?) {
    let isFirst = state.withLock { state in
      defer { state.isFinished = true }
      return !state.isFinished
    }
    if isFirst { call.end(error) }
  }
}

extension Call {
  /// Reports a body that was received as a whole, and cancels its source, which then reports the metrics.
  ///
  /// - Parameters:
  ///   - data: the body.
  ///   - length: the announced length of the body; nil without one.
  ///   - limit: the maximum number of bytes; nil for no limit. The source of a longer body is left as it is.
  ///   - source: the source of the body.
  func reportReceived(
    _ data: Data, of length: Int64?, upTo limit: Int64?, from source: any BodySource
  ) throws(HTTPError) {
    if let limit, data.count > limit { throw .bodyTooLarge(limit: limit) }
    if !data.isEmpty { reportReceived(data, completed: Int64(data.count), of: length) }
    source.cancel()
  }

  /// Reports bytes of the response's body.
  ///
  /// - Parameters:
  ///   - chunk: the bytes.
  ///   - count: how many bytes the caller has, including these.
  ///   - length: how many there will be; nil if it is not known.
  ///   - offset: how many bytes of the file earlier responses brought.
  func reportReceived(_ chunk: Data, completed count: Int64, of length: Int64?, after offset: Int64 = 0) {
    if events.contains(.bytes) { emit(.bytes(chunk, .received, attempt: currentAttempt)) }
    guard events.contains(.progress) else { return }
    // A server may announce any length.
    let total = length.flatMap { offset.addingReportingOverflow($0).overflow ? nil : offset + $0 }
    emit(.progress(Event.Progress(.received, completed: offset + count, total: total, offset: offset)))
  }
}

/// A body whose chunks must arrive before a deadline, around a source that does not end its own waits at the deadline.
/// One task reads all of them, one at a time and only on demand. At the end it releases the deadline, because a
/// response may be kept for long.
final class DeadlineBody: EndAwareBody {
  private let base: any BodySource
  private let deadline: Mutex<Deadline?>
  private let reader: Task<Void, Never>
  private let demand: AsyncStream<OneShot<Data?>>.Continuation
  private let isAtEnd = Atomic(false)

  init(_ base: any BodySource, until deadline: Deadline, in context: CallContext) {
    self.base = base
    self.deadline = Mutex(deadline)
    let (requests, demand) = AsyncStream.makeStream(of: OneShot<Data?>.self)
    self.demand = demand
    reader = context.perform {
      Task {
        for await result in requests {
          do { result.answer(.success(try await base.next())) } catch { result.answer(.failure(error)) }
        }
      }
    }
  }

  func next() async throws -> Data? {
    guard !isAtEnd.load(ordering: .relaxed) else { return nil }
    let result = OneShot<Data?>()
    guard let deadline = deadline.withLock({ $0 }), case .enqueued = demand.yield(result) else {
      throw CancellationError()
    }
    do {
      let chunk = try await deadline.wait(for: result)
      if chunk == nil {
        isAtEnd.store(true, ordering: .relaxed)
        stop()
      }
      return chunk
    } catch {
      stop()
      throw error
    }
  }

  func cancel() {
    base.cancel()
    stop()
  }

  var trailers: HTTPFields { base.trailers }

  var hasNoRest: Bool { isAtEnd.load(ordering: .relaxed) || base.isKnownToHaveNoRest }

  deinit { stop() }

  private func stop() {
    demand.finish()
    reader.cancel()
    _ = deadline.withLock { $0.take() }
  }
}

extension ResponseBody {
  /// The body with its call; nil if no session returned it.
  var ofSession: SessionBody? { source as? SessionBody }

  /// Stops the transfer and ends the call without an error: the body is not needed.
  func endUnread() {
    if let body = ofSession { body.endUnread() } else { cancel() }
  }
}
