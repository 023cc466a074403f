@_spi(Toolkit) import MartletEngine
import MartletSemantics

/// Decodes files on separate threads, each within the loader's time limit.
///
/// A decoder cannot be stopped, but the load still ends in time: the thread is abandoned, and counts until its work
/// ends; see ``WorkerThreads``.
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

  /// Runs work on one of the threads, when one is free.
  ///
  /// - Throws: the error of the work; ``ImageLoadError`` of the kind `timedOut`; `CancellationError` if the task is
  ///   cancelled. Work that has not begun by then never begins.
  func run<Value: Sendable>(
    _ priority: PriorityBox, _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    do { return try await threads.run(priority, within: Deadline(limit, on: clock), work) } catch let error as HTTPError
      where error.kind == .deadlineExceeded
    {
      throw ImageLoadError(
        .timedOut,
        "the image was not decoded within \(Quantity.text(limit)), or other images kept the threads busy: "
          + "if it needs longer, raise ImageLoader.Configuration.decodeTimeout")
    }
  }
}
