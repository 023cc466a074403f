#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics
import Synchronization

/// A connection that was upgraded to another protocol, or an HTTP/2 stream that carries one. It keeps the loop's thread
/// alive, and closes when it is released.
final class UpgradedStream: DuplexStream {
  let upgrade: Upgrade
  private let thread: LoopThread
  /// Whether its user has ended its direction.
  private let isFinished = Atomic(false)
  /// How the input has ended.
  private let end = Mutex<Result<Void, HTTPError>?>(nil)

  init(_ upgrade: Upgrade, on thread: LoopThread) {
    self.upgrade = upgrade
    self.thread = thread
  }

  deinit { close() }

  func read(missing: Int) async throws -> Data? {
    if let end = end.withLock({ $0 }) {
      try end.get()
      return nil
    }
    let signal: Upgrade.Signal
    let resumesSender: Bool
    if let ready = try nextIfReady() {
      (signal, resumesSender) = ready
    } else {
      upgrade.missing.store(missing, ordering: .relaxed)
      (signal, resumesSender) = try await upgrade.input.next()
      upgrade.missing.store(0, ordering: .relaxed)  // The reader's next call says how much it needs.
    }
    if resumesSender { thread.jobs.submit { [upgrade] in $0.resumeReading(upgrade) } }
    switch signal {
    case .bytes(let data): return data
    case .end:
      end.withLock { $0 = .success(()) }
      return nil
    case .failed(let error):
      end.withLock { $0 = .failure(error) }
      throw error
    }
  }

  /// The next signal, if it is there or arrives at once.
  private func nextIfReady() throws -> (Upgrade.Signal, resumesSender: Bool)? {
    if let ready = try upgrade.input.nextIfReady() { return ready }
    awaitAnswer()
    return try upgrade.input.nextIfReady()
  }

  func awaitAnswer() { thread.awaitAnswer(of: upgrade) }

  func write(_ bytes: Data) async throws {
    guard !isFinished.load(ordering: .relaxed) else {
      throw HTTPError(.connectionLost, "nothing can be written to a stream after finish()", phase: .sending)
    }
    guard !bytes.isEmpty else { return }
    guard !Task.isCancelled else {
      close()
      throw CancellationError()
    }
    let isTaken = upgrade.output.add(bytes) { thread.continueOutput(of: upgrade) }
    if isTaken == true { return }
    if isTaken == nil, await hasRoom() { return }
    throw upgrade.writingError
  }

  func finish() {
    guard !isFinished.exchange(true, ordering: .relaxed) else { return }
    if upgrade.output.end() { thread.jobs.submit { [upgrade] in $0.continueOutput(of: upgrade) } }
  }

  func close() {
    upgrade.input.stop(CancellationError())
    // After finish() and leave(), what was written may still be sent.
    let mayEnd = isFinished.load(ordering: .relaxed) || upgrade.isLeaving.load(ordering: .relaxed)
    if !mayEnd { upgrade.failWriting(CancellationError()) }
    thread.jobs.submit { [upgrade] in $0.close(upgrade, sendingRest: mayEnd) }
  }

  func leave() {
    upgrade.isLeaving.store(true, ordering: .relaxed)
    close()
  }

  var isShared: Bool { upgrade.isShared.load(ordering: .relaxed) }

  var executor: (any TaskExecutor)? { LoopExecutor(thread) }

  /// Waits until there is room for more. Returns false if the stream takes no more.
  private func hasRoom() async -> Bool {
    await withTaskCancellationHandler {
      await upgrade.output.room()
    } onCancel: {
      close()
    }
  }
}
#endif
