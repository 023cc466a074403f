#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics
import Synchronization

/// Reads an exchange: first its head, then its body. When it is released, the exchange is cancelled.
final class ExchangeBody: BodySource {
  private let exchange: Exchange
  private let thread: LoopThread
  private let call: Call
  private let trustCheck: ServerTrust.Check?
  /// The task that reads the request's body; nil if its bytes are in memory.
  private let producer: Task<Void, Never>?
  private let state = Mutex(State.running)
  /// The use of the connection if the server changes its protocol; nil if the request does not ask for it. It is made
  /// before, so that the connection is closed if the request ends otherwise.
  let stream: UpgradedStream?

  private enum State {
    case running
    /// The reader stopped: it gets a `CancellationError`, never the end.
    case stopped
    /// All of the response has come, and its body was not read yet.
    case received(Data, trailers: [UInt8])
    /// It failed. The error is thrown again.
    indirect case failed(HTTPError)
    /// The response was read to its end.
    case ended(HTTPFields)
  }

  init(
    _ exchange: Exchange, on thread: LoopThread, of body: OpenBody?, in call: Call, trustCheck: ServerTrust.Check?
  ) {
    self.exchange = exchange
    self.thread = thread
    self.call = call
    self.trustCheck = trustCheck
    stream = exchange.upgrade.map { UpgradedStream($0, on: thread) }
    thread.jobs.submit { $0.start(exchange) }  // before the request's body can fail
    producer = Self.produce(body, for: exchange, on: thread.jobs)
  }

  /// Returns the final response's head. Informational responses before it become events.
  func head() async throws -> ResponseHead {
    while true {
      switch try await signal() {
      case .informational(let lines): call.emit(.informational(ResponseHead(lines: lines)))
      case .head(let lines), .whole(let lines, _, _): return ResponseHead(lines: lines)
      case .end: throw HTTPError(.protocolViolation, "\(exchange.peer): the response has no head", phase: .waiting)
      default: continue
      }
    }
  }

  func next() async throws -> Data? {
    switch state.withLock({ $0 }) {
    case .ended: return nil
    case .failed(let error): throw error
    case .received(let data, let trailers):
      if Task.isCancelled { cancel() } else if endReading(trailers) { return data.isEmpty ? nil : data }
    case .running, .stopped: break
    }
    while true {
      switch try await signal() {
      case .chunk(let data): return data
      case .end: return nil
      default: continue
      }
    }
  }

  var trailers: HTTPFields {
    if case .ended(let trailers) = state.withLock({ $0 }) { trailers } else { [:] }
  }

  /// Notes that a response that was received at once is being read. Returns false if the reader has stopped.
  private func endReading(_ trailers: [UInt8]) -> Bool {
    let fields = trailers.isEmpty ? [:] : HTTPFields(lines: trailers[...])
    return state.withLock { state in
      guard case .received = state else { return false }
      state = .ended(fields)
      return true
    }
  }

  deinit { cancel() }

  /// Returns the next signal, and sends events to the listeners of the call. Throws after a stop.
  private func signal() async throws -> ExchangeSignal {
    if Task.isCancelled { cancel() }
    let (signal, resumesSender) = try await withTaskCancellationHandler {
      try await exchange.signals.next()
    } onCancel: {
      cancel()
    }
    if resumesSender { thread.jobs.submit { [exchange] in $0.resumeReading(exchange) } }
    switch signal {
    case .sent(let count):
      call.emit(.progress(TransferProgress(.sent, completed: count, total: exchange.bodyLength)))
    case .check(let check): try await decide(check)
    case .note(let note): call.emit(.note(note))
    case .end(let ending):
      finish(.ended(HTTPFields(lines: ending.trailers[...])))
      if let metrics = ending.metrics { call.emit(.metrics(metrics)) }
    case .whole(_, let data, let trailers): finish(.received(data, trailers: trailers))
    case .failed(let error):
      finish(.failed(error))
      throw error
    default: break
    }
    return signal
  }

  /// Calls the caller's check, and tells the loop of its decision.
  private func decide(_ check: ServerCheck) async throws {
    guard let trustCheck else { return }
    do { try await check.decide(trustCheck, for: exchange.origin, in: call) } catch {
      cancel()  // the loop then asks another request, or closes the connection
      throw error
    }
    thread.jobs.submit { [exchange] in $0.accepted(check.certificates, of: exchange.origin) }
  }

  private func finish(_ end: State) {
    state.withLock { state in
      if case .stopped = state, case .received = end { return }
      state = end
    }
    producer?.cancel()
  }

  func cancel() {
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
      exchange.signals.stop(CancellationError())
      thread.jobs.submit { [exchange] in $0.cancel(exchange) }
      producer?.cancel()
    case .received: exchange.signals.stop(CancellationError())
    case .stopped, .failed, .ended: break
    }
  }

  /// Starts a task that reads the request's body and passes it to the loop. There is none for bytes in memory.
  private static func produce(
    _ body: OpenBody?, for exchange: Exchange, on jobs: JobQueue<Network>
  ) -> Task<Void, Never>? {
    guard let body, case .queue(let queue) = exchange.upload else { return nil }
    return Task {
      do {
        guard await queue.demand() else { return body.source.cancel() }
        while let chunk = try await body.source.next() {
          guard await queue.push(chunk, wake: { jobs.submit { $0.continueUpload(exchange) } }) else {
            return body.source.cancel()
          }
        }
        try Task.checkCancellation()  // a sequence that ends because its task was cancelled is no whole body
        if queue.end(trailers: body.source.trailers) { jobs.submit { $0.continueUpload(exchange) } }
      } catch {
        body.source.cancel()
        let failure = HTTPError(wrapping: error)
        jobs.submit { $0.fail(exchange, failure) }
      }
    }
  }
}
#endif
