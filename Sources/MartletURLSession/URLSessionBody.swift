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
  private let state = Mutex(State.running(early: []))

  fileprivate enum State {
    /// Chunks that came before the head are kept here.
    case running(early: [Data])
    /// It failed, or was stopped: what is left is this error, never an end.
    case stopped(any Error)
    /// The last signal was read.
    case ended
  }

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
      case .chunk(let data): state.withLock { $0.keep(data) }
      case .end:
        throw HTTPError(.connectionLost, "\(outgoing.peer): the response has no head", phase: .waiting)
      default: continue
      }
    }
  }

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
    case .end: _ = state.withLock { $0.finish(.ended) }
    case .failed(let failure):
      let error = failure.error(talkingTo: outgoing.peer, hasHead: queue.hasHead)
      _ = state.withLock { $0.finish(.stopped(error)) }
      throw error
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
    guard state.withLock({ $0.finish(.stopped(error)) }) else { return }
    queue.stop(error)
    task.cancel()
  }
}

extension URLSessionBody.State {
  fileprivate var isAtEnd: Bool { if case .ended = self { true } else { false } }

  fileprivate mutating func keep(_ chunk: Data) {
    if case .running(let early) = self { self = .running(early: early + [chunk]) }
  }

  /// The first of the chunks that came before the head.
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

  /// Leaves the running state, once.
  ///
  /// - Returns: whether it was running.
  fileprivate mutating func finish(_ state: Self) -> Bool {
    guard case .running = self else { return false }
    self = state
    return true
  }
}
