@_spi(Transports) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Synchronization

/// The events from URLSession's delegate for the task that reads a response, in order.
enum SessionSignal: QueuedSignal {
  /// The head of an informational response.
  case informational(ResponseHead)
  /// The number of bytes of the request's body that were sent so far.
  case sent(Int64)
  /// The final response's head.
  case head(ResponseHead)
  /// Bytes of the response's body.
  case chunk(Data)
  /// The metrics of the transfer.
  case metrics(TransferMetrics)
  /// The end of a complete response.
  case end
  /// The transfer failed.
  case failed(URLSessionFailure)

  var byteCount: Int {
    if case .chunk(let data) = self { data.count } else { 0 }
  }

  func replaces(_ earlier: SessionSignal) -> Bool {
    if case .sent = self, case .sent = earlier { true } else { false }
  }
}

/// Reads a transfer: first its head, then its body. When it is released, the transfer is cancelled.
final class URLSessionBody: BodySource {
  /// Unread bytes are limited to 1 MiB, if URLSession can pause a transfer.
  private let signals = SignalQueue<SessionSignal>(highWater: 1 << 20)
  private let owner: SessionOwner
  private let task: URLSessionTask
  private let outgoing: OutgoingRequest
  private let options: RequestOptions
  private let call: Call
  private let state = Mutex(State.running(early: []))
  private let informational = Mutex<[ResponseHead]>([])

  fileprivate enum State {
    /// The transfer is running; these chunks came before the head.
    case running(early: [Data])
    /// It failed, or the reader stopped. The error is thrown again.
    case stopped(any Error)
    /// The response was read to its end.
    case ended
  }

  /// Starts the transfer.
  init(_ outgoing: OutgoingRequest, options: RequestOptions, on owner: SessionOwner, in call: Call) {
    self.outgoing = outgoing
    self.options = options
    self.owner = owner
    self.call = call
    task = owner.start(outgoing, reportingTo: signals)
  }

  /// Returns the final response's head. Informational responses before it become events.
  func head() async throws -> ResponseHead {
    while true {
      switch try await signal(within: options.responseTimeout, else: .responseTimeout) {
      case .informational(let head):
        call.emit(.informational(head))
        if head.status != .continue { keep(head) }
      case .head(let head):
        try check(head)
        return head
      // On Linux the body of a redirect that is not followed comes before its head.
      case .chunk(let data): state.withLock { $0.keep(data) }
      case .end:
        throw HTTPError(.connectionLost, "\(outgoing.peer): the response has no head", phase: .waiting)
      default: continue
      }
    }
  }

  /// Keeps as many as a response over sockets may have.
  private func keep(_ head: ResponseHead) {
    informational.withLock { if $0.count < ResponseHeadReader.informationalLimit { $0.append(head) } }
  }

  /// The informational responses that a response keeps.
  var informationalHeads: [ResponseHead] { informational.withLock { $0 } }

  func next() async throws -> Data? {
    let (early, isAtEnd) = try state.withLock { state in (try state.takeEarly(), state.isAtEnd) }
    if early != nil || isAtEnd { return early }
    while true {
      switch try await signal(within: options.idleTimeout, else: .idleTimeout) {
      case .chunk(let data): return data
      case .end: return nil
      default: continue
      }
    }
  }

  func cancel() { stop(CancellationError()) }

  deinit { cancel() }

  /// Returns the next signal, and sends events to the listeners of the call.
  private func signal(within limit: Duration?, else kind: HTTPError.Kind) async throws -> SessionSignal {
    let (signal, resumesSender) = try await withTaskCancellationHandler {
      try await next(within: limit, else: kind)
    } onCancel: {
      stop(CancellationError())
    }
    if resumesSender { task.resumeReceiving() }
    switch signal {
    case .sent(let count): call.emit(.progress(Event.Progress(.sent, completed: count, total: outgoing.length)))
    case .metrics(let metrics): call.emit(.metrics(metrics))
    case .end: _ = state.withLock { $0.finish(.ended) }
    case .failed(let failure):
      let error = failure.error(talkingTo: outgoing.peer)
      _ = state.withLock { $0.finish(.stopped(error)) }
      throw error
    default: break
    }
    return signal
  }

  /// Returns the next signal. The time limit is measured here, while the reader waits. URLSession's own timeouts are
  /// whole seconds on Linux, and include the time in which the reader does something else.
  private func next(
    within limit: Duration?, else kind: HTTPError.Kind
  ) async throws -> SignalQueue<SessionSignal>.Pulled {
    guard let limit else { return try await signals.next() }
    let timeout = Task { [weak self, peer = outgoing.peer] in
      try await Task.sleep(for: limit.bounded)
      let phase: HTTPError.Phase = kind == .idleTimeout ? .receiving : .waiting
      let message = "\(peer): no data was received for \(Quantity.text(limit)) while \(phase.rawValue)"
      self?.stop(HTTPError(kind, message, phase: phase))
    }
    defer { timeout.cancel() }
    return try await signals.next()
  }

  private func check(_ head: ResponseHead) throws {
    let size = head.fields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 4 }
    guard size > options.headLimit else { return }
    let error = HTTPError(
      .headTooLarge, "\(outgoing.peer): the response's head is larger than \(options.headLimit) bytes",
      phase: .waiting)
    stop(error)
    throw error
  }

  private func stop(_ error: any Error) {
    guard state.withLock({ $0.finish(.stopped(error)) }) else { return }
    signals.stop(error)
    task.cancel()
  }
}

extension URLSessionBody.State {
  fileprivate var isAtEnd: Bool { if case .ended = self { true } else { false } }

  fileprivate mutating func keep(_ chunk: Data) {
    if case .running(let early) = self { self = .running(early: early + [chunk]) }
  }

  /// Removes the first chunk that came before the head.
  fileprivate mutating func takeEarly() throws -> Data? {
    switch self {
    case .stopped(let error): throw error
    case .running(let early):
      guard let first = early.first else { return nil }
      self = .running(early: Array(early.dropFirst()))
      return first
    case .ended: return nil
    }
  }

  /// Ends the running state. Returns false if it had ended before.
  fileprivate mutating func finish(_ state: Self) -> Bool {
    guard case .running = self else { return false }
    self = state
    return true
  }
}
