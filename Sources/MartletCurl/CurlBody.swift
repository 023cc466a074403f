#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics
import Synchronization

/// What the loop thread reports to the task that reads a transfer, in order.
enum TransferSignal: QueuedSignal {
  /// The raw bytes of an informational response's head.
  case informational([UInt8])
  /// A note for the listeners of the call.
  case note(String)
  /// How many bytes of the request's body were sent so far.
  case sent(Int64)
  /// The raw bytes of the final response's head: they are parsed by the reading task, not on the loop thread.
  case head([UInt8])
  /// Bytes of the response's body.
  case chunk(Data)
  /// The end of a complete response.
  case end(Ending)
  /// The transfer failed.
  case failed(HTTPError)

  struct Ending: Sendable {
    var trailers: [UInt8]
    var metrics: TransferMetrics?
  }

  var byteCount: Int {
    if case .chunk(let data) = self { data.count } else { 0 }
  }

  func replaces(_ earlier: TransferSignal) -> Bool {
    if case .sent = self, case .sent = earlier { true } else { false }
  }
}

/// Reads a transfer: first its head, then its body. When it is released, the transfer is cancelled.
final class CurlBody: BodySource {
  private let transfer: Transfer
  private let thread: LoopThread
  private let call: Call
  private let uploadLength: Int64?
  /// The task that reads the request's body; nil if its bytes are in memory.
  private let producer: Task<Void, Never>?
  private let state = Mutex(State.running)

  private enum State {
    case running
    /// The reader stopped: it gets a `CancellationError`, never the end.
    case stopped
    /// It failed. The error is thrown again.
    case failed(HTTPError)
    /// The response was read to its end.
    case ended(HTTPFields)
  }

  init(_ transfer: Transfer, on thread: LoopThread, of request: OpenBody?, in call: Call) {
    self.transfer = transfer
    self.thread = thread
    self.call = call
    uploadLength = request?.length
    thread.commands.submit(.start(transfer))  // before the request's body can fail
    producer = Self.produce(request, for: transfer, commands: thread.commands)
  }

  /// Returns the final response's head. Informational responses before it become events.
  func head() async throws -> ResponseHead {
    while true {
      switch try await signal() {
      case .informational(let block): call.emit(.informational(ResponseHead(lines: block)))
      case .head(let block): return ResponseHead(lines: block)
      case .end: throw HTTPError(.protocolViolation, "the response has no head", phase: .waiting)
      default: continue
      }
    }
  }

  func next() async throws -> Data? {
    switch state.withLock({ $0 }) {
    case .ended: return nil
    case .failed(let error): throw error
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

  deinit { cancel() }

  /// Returns the next signal, and sends events to the listeners of the call. Throws after a stop.
  private func signal() async throws -> TransferSignal {
    if Task.isCancelled { cancel() }
    let (signal, resumesSender) = try await withTaskCancellationHandler {
      try await transfer.signals.next()
    } onCancel: {
      cancel()
    }
    if resumesSender { thread.commands.submit(.unpause(transfer)) }
    switch signal {
    case .sent(let count):
      call.emit(.progress(TransferProgress(.sent, completed: count, total: uploadLength)))
    case .note(let note): call.emit(.note(note))
    case .end(let ending):
      finish(.ended(HTTPFields(lines: ending.trailers[...])))
      if let metrics = ending.metrics { call.emit(.metrics(metrics)) }
    case .failed(let error):
      finish(.failed(error))
      throw error
    default: break
    }
    return signal
  }

  private func finish(_ end: State) {
    state.withLock { $0 = end }
    producer?.cancel()
  }

  func cancel() {
    let isFirst = state.withLock { state in
      guard case .running = state else { return false }
      state = .stopped
      return true
    }
    guard isFirst else { return }
    transfer.signals.stop(CancellationError())
    thread.commands.submit(.cancel(transfer))
    producer?.cancel()
  }

  /// Starts a task that reads the request's body and passes it to the loop thread. There is none for bytes in memory.
  private static func produce(_ body: OpenBody?, for transfer: Transfer, commands: CommandQueue) -> Task<Void, Never>? {
    guard let body, case .queue(let queue) = transfer.upload else { return nil }
    return Task {
      do {
        guard await queue.demand() else { return body.source.cancel() }
        while let chunk = try await body.source.next() {
          guard await queue.push(chunk, unpause: { commands.submit(.unpause(transfer)) }) else {
            return body.source.cancel()
          }
        }
        if queue.end() { commands.submit(.unpause(transfer)) }
      } catch {
        body.source.cancel()
        commands.submit(.fail(transfer, HTTPError(wrapping: error)))
      }
    }
  }
}
#endif
