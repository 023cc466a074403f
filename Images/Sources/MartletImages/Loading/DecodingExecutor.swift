@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Synchronization

/// Decodes files on separate threads, each within the loader's time limit.
///
/// A load ends in time whatever its decoder does: the thread is abandoned, and counts until its work ends; see
/// ``WorkerThreads``. The built-in decoders notice that soon, and end.
struct DecodingExecutor: Sendable {
  private let threads: WorkerThreads
  private let limit: Duration
  private let clock: any Clock<Duration>

  init(_ configuration: ImageLoader.Configuration) {
    threads = WorkerThreads("martlet-images", limit: configuration.concurrentDecodes)
    limit = configuration.decodeTimeout
    clock = configuration.clock
  }

  /// The number of pieces of work that wait.
  var waiting: Int { threads.waiting }

  /// Runs work on one of the threads, when one is free. The work can ask whether its result is no longer needed.
  ///
  /// - Throws: the error of the work; ``ImageLoadError`` of the kind `timedOut`; `CancellationError` if the task is
  ///   cancelled. Work that has not begun by then never begins.
  func run<Value: Sendable>(
    _ priority: PriorityBox, _ work: @escaping @Sendable (_ isAbandoned: @escaping @Sendable () -> Bool) throws -> Value
  ) async throws -> Value {
    let abandonment = Abandonment()
    do {
      return try await threads.run(priority, within: Deadline(limit, on: clock)) {
        try work { abandonment.hasHappened.load(ordering: .relaxed) }
      }
    } catch {
      abandonment.hasHappened.store(true, ordering: .relaxed)
      guard let error = error as? HTTPError, error.kind == .deadlineExceeded else { throw error }
      throw ImageLoadError(
        .timedOut,
        "the image was not decoded within \(Quantity.text(limit)), or other images kept the threads busy: "
          + "if it needs longer, raise ImageLoader.Configuration.decodeTimeout")
    }
  }
}

/// Whether the caller of a piece of work has left.
private final class Abandonment: Sendable {
  let hasHappened = Atomic(false)
}
