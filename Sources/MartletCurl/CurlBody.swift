#if os(Linux)
import MartletEngine
import MartletSemantics
import Synchronization

/// The reading end of a transfer: first its head, then its body. Letting go of it stops the transfer.
final class CurlBody: BodySource {
  private let transfer: Transfer
  private let thread: LoopThread
  private let exchange: Exchange
  private let uploadLength: Int64?
  /// The task that produces the request's body, where one is needed.
  private let producer: Task<Void, Never>?
  private let state = Mutex(State.running)

  private enum State {
    case running
    /// The reader wants no more: what is left is a `CancellationError`, never an end.
    case stopped
    /// It failed, and fails again.
    case failed(HTTPError)
    /// The last signal was read.
    case ended(HTTPFields)
  }

  init(_ transfer: Transfer, on thread: LoopThread, of request: OpenBody?, in exchange: Exchange) {
    self.transfer = transfer
    self.thread = thread
    self.exchange = exchange
    uploadLength = request?.length
    thread.mailbox.submit(.start(transfer))  // before anything can go wrong with the request's body
    producer = Self.produce(request, for: transfer, mailbox: thread.mailbox)
  }

  /// Waits for the final response's head. Informational ones are events.
  func head() async throws -> ResponseHead {
    while true {
      switch try await signal() {
      case .informational(let block): exchange.emit(.informational(ResponseHead(lines: block)))
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

  func cancel() { stop(.giveUp(transfer)) }

  deinit { cancel() }

  /// The next signal; what is only to be told is told here. After a stop it throws.
  private func signal() async throws -> Signal {
    if Task.isCancelled { stop(.giveUp(transfer)) }
    let (signal, unpause) = try await withTaskCancellationHandler {
      try await transfer.stream.next()
    } onCancel: {
      stop(.giveUp(transfer))
    }
    if unpause { thread.mailbox.submit(.unpause(transfer)) }
    switch signal {
    case .sent(let count):
      exchange.emit(.progress(TransferProgress(.sent, completed: count, total: uploadLength)))
    case .note(let note): exchange.emit(.note(note))
    case .end(let ending):
      over(.ended(HTTPFields(lines: ending.trailers[...])))
      if let metrics = ending.metrics { exchange.emit(.metrics(metrics)) }
    case .failed(let error):
      over(.failed(error))
      throw error
    default: break
    }
    return signal
  }

  private func over(_ end: State) {
    state.withLock { $0 = end }
    producer?.cancel()
  }

  private func stop(_ command: Mailbox.Command) {
    let isFirst = state.withLock { state in
      guard case .running = state else { return false }
      state = .stopped
      return true
    }
    guard isFirst else { return }
    transfer.stream.stop(CancellationError())
    thread.mailbox.submit(command)
    producer?.cancel()
  }

  /// Pulls the request's body and pushes it towards the loop thread. Bytes need no such task.
  private static func produce(_ body: OpenBody?, for transfer: Transfer, mailbox: Mailbox) -> Task<Void, Never>? {
    guard let body, case .queue(let queue) = transfer.upload else { return nil }
    return Task {
      do {
        guard await queue.demand() else { return body.source.cancel() }
        while let chunk = try await body.source.next() {
          guard await queue.push(chunk, unpause: { mailbox.submit(.unpause(transfer)) }) else {
            return body.source.cancel()
          }
        }
        if queue.end() { mailbox.submit(.unpause(transfer)) }
      } catch {
        body.source.cancel()
        mailbox.submit(.fail(transfer, HTTPError(wrapping: error)))
      }
    }
  }
}
#endif
