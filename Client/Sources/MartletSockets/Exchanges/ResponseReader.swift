#if os(Linux)
@_spi(Toolkit) @_spi(Transports) import MartletEngine
import MartletSemantics
import Synchronization

/// Reads a response that the loop's thread receives: first its head, then its body. Releasing it cancels the exchange.
/// If the call's deadline passes while it is being read, it fails.
final class ResponseReader: EndAwareBody, FailableWait, DeadlineAware {
  private let exchange: Exchange
  private let call: Call
  /// The task that reads the request's body; nil if its bytes are in memory.
  private let producer: Task<Void, Never>?
  private let state: Mutex<State>
  /// The latest metrics from the loop thread, until they are reported; nil if no listener receives them.
  private let measured = Mutex<Measured?>(nil)
  /// The informational responses before the head.
  private let informational = Mutex<[ResponseHead]>([])
  private let hasInformational = Atomic(false)
  /// True: its waits end at the deadline.
  var endsAtDeadline: Bool { true }

  private enum State {
    /// The exchange is in progress. Only this case keeps the transport's thread alive: a response that was read to its
    /// end does not need the thread.
    case running(any AnyObject & Sendable)
    /// The reader stopped: it gets a `CancellationError`, or an ``HTTPError`` with the phase if the request was not
    /// sent; never the end.
    case stopped
    /// The whole response has arrived, and its body was not read yet.
    case received(Data, trailers: [UInt8])
    /// It failed. The error is thrown again.
    case failed(HTTPError)
    /// The response was read to its end.
    case ended(HTTPFields)

    /// Whether the response was received, and no byte of its body is left to read.
    var hasNoRest: Bool {
      switch self {
      case .ended: true
      case .received(let data, _): data.isEmpty
      case .running, .stopped, .failed: false
      }
    }
  }

  /// Makes the reader of an exchange that has begun, and starts the task that reads the request's body.
  ///
  /// - Parameters:
  ///   - exchange: the exchange.
  ///   - thread: the transport's thread, which the reader keeps alive until the end of the body.
  ///   - body: the request's body, opened; nil if there is none.
  ///   - call: gets the events.
  init(of exchange: Exchange, on thread: any AnyObject & Sendable, sending body: OpenBody?, in call: Call) {
    self.exchange = exchange
    state = Mutex(.running(thread))
    self.call = call
    producer = exchange.produceUpload(from: body)
  }

  /// Returns the final response's head. Informational responses before it become events, and are kept.
  ///
  /// - Throws: the error of the request.
  func head() async throws -> ResponseHead {
    while true {
      if let head = try finalHead(try await signal()) { return head }
    }
  }

  @inline(never)  // Its variables would take space in the frame of a call that waits for a head.
  private func finalHead(_ signal: ResponseSignal) throws -> ResponseHead? {
    switch signal {
    case .written(let lines): call.emit(.written(WrittenHead(lines: lines)))
    case .informational(let lines): keepInformational(ResponseHead(lines: lines))
    case .head(let lines), .whole(let lines, _, _): return ResponseHead(lines: lines)
    case .end: throw HTTPError(.protocolViolation, "the response has no head", phase: .waiting)
    default: break
    }
    return nil
  }

  private func keepInformational(_ head: ResponseHead) {
    call.emit(.informational(head))
    guard head.status != .continue else { return }
    informational.withLock { $0.append(head) }
    hasInformational.store(true, ordering: .relaxed)
  }

  /// The informational responses that a response keeps; there are usually none, which needs no lock.
  var informationalHeads: [ResponseHead] {
    hasInformational.load(ordering: .relaxed) ? informational.withLock { $0 } : []
  }

  /// Returns the next bytes of the response's body; nil at its end.
  func next() async throws -> Data? {
    if let data = takeReceived(), !data.isEmpty { return data }
    switch state.withLock({ $0 }) {
    case .ended:
      reportMetrics()  // after the reader has reported the bytes that were received with the head
      return nil
    case .failed(let error): throw error
    case .received, .running, .stopped: break
    }
    while true {
      switch try await signal() {
      case .chunk(let data): return data
      case .end: return nil
      default: continue
      }
    }
  }

  /// The trailers; empty before the end.
  var trailers: HTTPFields {
    if case .ended(let trailers) = state.withLock({ $0 }) { trailers } else { [:] }
  }

  /// Returns the body of a response that was received at once; nil for any other, and if the task is cancelled.
  /// ``cancel()`` reports the metrics, after the reader has reported the bytes.
  func takeReceived() -> Data? {
    guard !Task.isCancelled else { return nil }
    return state.withLock { state in
      guard case .received(let data, let trailers) = state else { return nil }
      state = .ended(trailers.isEmpty ? [:] : HTTPFields(lines: trailers[...]))
      return data
    }
  }

  deinit { stop() }

  /// Returns the next signal, and sends events to the listeners of the call. Throws after a stop.
  private func signal() async throws -> ResponseSignal {
    if Task.isCancelled { stop() }
    let deadline = call.activeDeadline
    _ = deadline?.add(self)
    defer { deadline?.remove(self) }
    let (next, resumesSender) = try await withTaskCancellationHandler {
      try await exchange.signals.next()
    } onCancel: {
      stop()
    }
    if resumesSender { exchange.ask(.resumeReading) }
    let signal = noteMetrics(of: next)
    if case .ask(let question) = signal {
      do { try await call.withinDeadline { [call] in try await question(call) } } catch {
        cancel()
        throw error
      }
    }
    try process(signal)
    return signal
  }

  /// Keeps the metrics up to a signal. Returns the signal alone.
  private func noteMetrics(of signal: consuming ResponseSignal) -> ResponseSignal {
    guard case .measured(let metrics, let signal) = signal else { return signal }
    measured.withLock { $0 = Measured(metrics) }
    return signal
  }

  @inline(never)  // Its variables would take space in the frame of a call that waits for a signal.
  private func process(_ signal: ResponseSignal) throws(HTTPError) {
    switch signal {
    case .sent(let count): call.emit(.progress(Event.Progress(.sent, completed: count, total: exchange.bodyLength)))
    case .note(let note): call.emit(.note(note))
    case .misdirected: call.noteMisdirection()
    case .end(let trailers): finish(.ended(HTTPFields(lines: trailers[...])))
    case .whole(_, let data, let trailers): finish(.received(data, trailers: trailers))
    case .failed(let error):
      finish(.failed(error))
      throw error
    case .chunk(let data):
      if call.events.contains(.metrics) { measured.withLock { $0?.metrics.bytesReceived += Int64(data.count) } }
    case .written, .informational, .ask, .head, .measured: break
    }
  }

  private func finish(_ end: State) {
    // If a response was received at once, its metrics follow after it was read.
    if case .received = end {} else { reportMetrics() }
    state.withLock { state in
      if case .stopped = state, case .received = end { return }
      state = end
    }
    producer?.cancel()
  }

  private func reportMetrics() {
    guard call.events.contains(.metrics), let last = measured.withLock({ $0.take() }) else { return }
    call.emit(.metrics(last.metrics))
  }

  /// Stops because of an error, and passes it to the reader.
  func fail(_ error: HTTPError) {
    let error = exchange.preventSending() ? HTTPError(beforeSending: error, .queued) : error
    let wasRunning = state.withLock { state in
      guard case .running = state else { return false }
      state = .failed(error)
      return true
    }
    guard wasRunning else { return }
    exchange.signals.stop(error)
    exchange.ask(.cancel)
    producer?.cancel()
  }

  /// Whether the response has arrived, and no byte of its body is left to read.
  var hasNoRest: Bool {
    if state.withLock(\.hasNoRest) { return true }
    if let end = exchange.signals.takeEnd(), case .end(let trailers) = noteMetrics(of: end) {
      finish(.ended(HTTPFields(lines: trailers[...])))
    }
    return state.withLock(\.hasNoRest)
  }

  /// Stops: the rest of the response is not read. An attempt that ends this way is measured until now.
  func cancel() {
    if hasNoRest { return reportMetrics() }
    stop()
    if let last = measured.withLock({ $0.take() }) { call.emit(.metrics(last.untilNow)) }
  }

  /// Stops without reporting metrics, because another response replaces this one within the same attempt.
  func cancelUnmeasured() {
    _ = measured.withLock { $0.take() }
    stop()
  }

  private func stop() {
    let previous = state.withLock { state in
      let previous = state
      switch state {
      case .running, .received: state = .stopped
      case .stopped, .failed, .ended: break
      }
      return previous
    }
    switch previous {
    case .running:
      let error = CancellationError()
      exchange.signals.stop(exchange.preventSending() ? HTTPError(beforeSending: error, .queued) : error)
      exchange.ask(.cancel)
      producer?.cancel()
    case .received: exchange.signals.stop(CancellationError())
    case .stopped, .failed, .ended: break
    }
  }
}

/// The metrics of an exchange up to some moment.
private struct Measured: Sendable {
  var metrics: TransferMetrics
  private let stopwatch = Stopwatch(ContinuousClock())

  init(_ metrics: TransferMetrics) { self.metrics = metrics }

  var untilNow: TransferMetrics {
    var metrics = metrics
    metrics.total += stopwatch.elapsed
    return metrics
  }
}

#endif
