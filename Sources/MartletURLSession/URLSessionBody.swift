import Foundation
import MartletEngine
import MartletSemantics
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The reading end of a transfer: first its head, then its body. Letting go of it stops the transfer.
final class URLSessionBody: BodySource {
  private let queue = SignalQueue()
  private let owner: SessionOwner
  private let task: URLSessionTask
  private let outgoing: OutgoingRequest
  private let options: RequestOptions
  private let exchange: Exchange
  private let state = Mutex((isOver: false, early: [Data]()))

  /// Starts the transfer.
  init(_ outgoing: OutgoingRequest, options: RequestOptions, on owner: SessionOwner, in exchange: Exchange) {
    self.outgoing = outgoing
    self.options = options
    self.owner = owner
    self.exchange = exchange
    task = owner.start(outgoing, reportingTo: queue)
  }

  /// Waits for the final response's head. Informational ones are events.
  func head() async throws -> ResponseHead {
    while true {
      switch try await signal(within: options.responseTimeout, else: .responseTimeout) {
      case .informational(let head): exchange.emit(.informational(head))
      case .head(let head):
        try check(head)
        return head
      // On Linux the body of a redirect that is not followed comes before its head.
      case .chunk(let data): state.withLock { $0.early.append(data) }
      case .end:
        throw HTTPError(.connectionLost, "\(outgoing.peer): the response has no head", phase: .waiting)
      default: continue
      }
    }
  }

  func next() async throws -> Data? {
    if let early = state.withLock({ $0.early.isEmpty ? nil : $0.early.removeFirst() }) { return early }
    while !state.withLock({ $0.isOver }) {
      if case .chunk(let data) = try await signal(within: options.idleTimeout, else: .idleTimeout) { return data }
    }
    return nil
  }

  func cancel() { stop(CancellationError()) }

  deinit { cancel() }

  /// The next signal; what is only to be told is told here.
  private func signal(within limit: Duration?, else kind: HTTPError.Kind) async throws -> Signal {
    let (signal, goesOn) = try await withTaskCancellationHandler {
      try await next(within: limit, else: kind)
    } onCancel: {
      stop(CancellationError())
    }
    if goesOn { task.goOnReceiving() }
    switch signal {
    case .sent(let count): exchange.emit(.progress(TransferProgress(.sent, completed: count, total: outgoing.length)))
    case .metrics(let metrics): exchange.emit(.metrics(metrics))
    case .end: state.withLock { $0.isOver = true }
    case .failed(let failure):
      state.withLock { $0.isOver = true }
      throw failure.error(talkingTo: outgoing.peer, hasHead: queue.hasHead)
    default: break
    }
    return signal
  }

  /// URLSession's own timeouts are whole seconds on Linux, so time is taken here: while somebody waits, and only then.
  private func next(within limit: Duration?, else kind: HTTPError.Kind) async throws -> (Signal, goesOn: Bool) {
    guard let limit else { return try await queue.next() }
    let watchdog = Task { [weak self, peer = outgoing.peer] in
      try await Task.sleep(for: limit.bounded)
      let phase: HTTPError.Phase = kind == .idleTimeout ? .receiving : .waiting
      self?.stop(HTTPError(kind, "\(peer): nothing came for \(limit) while \(phase.rawValue)", phase: phase))
    }
    defer { watchdog.cancel() }
    return try await queue.next()
  }

  private func check(_ head: ResponseHead) throws {
    let size = head.fields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 4 }
    guard size > options.headerLimit else { return }
    let error = HTTPError(
      .headersTooLarge, "\(outgoing.peer): the response's head is larger than \(options.headerLimit) bytes",
      phase: .waiting)
    stop(error)
    throw error
  }

  private func stop(_ error: any Error) {
    let isFirst = state.withLock { state in
      defer { state.isOver = true }
      return !state.isOver
    }
    guard isFirst else { return }
    queue.stop(error)
    task.cancel()
  }
}
