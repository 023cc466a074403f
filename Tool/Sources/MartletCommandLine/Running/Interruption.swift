import Dispatch
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Runs work in a task that Ctrl-C and SIGTERM cancel, so that files are closed and unfinished work is recorded.
///
/// A later signal ends the program at once. A signal shortly after the first counts as the same one: `timeout` sends it
/// to the program and to its process group, and a terminal may repeat a key.
enum Interruption {
  /// How long a signal counts as a repetition of the first.
  static let repetition = Duration.milliseconds(500)

  private static let signals = [SIGINT, SIGTERM]

  /// Blocks the signals in this thread and in threads that start later: then only ``running(_:)`` receives them. A
  /// thread that received one at a bad moment would end the program.
  static func holdSignals() {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal) }
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  static func running<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let task = Task { try await work() }
    let first = FirstSignal()
    let sources = signals.map { signal in
      let source = DispatchSource.makeSignalSource(signal: signal)
      source.setEventHandler {
        guard !PasswordPrompt.receive(signal) else { return }
        guard first.receive() < repetition else { exit(ExitCode.interrupted.rawValue) }
        task.cancel()
      }
      return source
    }
    defer { for source in sources { source.cancel() } }
    for source in sources {
      await withCheckedContinuation { isWatching in
        source.setRegistrationHandler { isWatching.resume() }
        source.activate()
      }
    }
    return try await task.value
  }
}

/// The time of the first signal.
private final class FirstSignal: Sendable {
  private let instant = Mutex<ContinuousClock.Instant?>(nil)

  /// Remembers the time of the first signal, and returns the time since then.
  func receive() -> Duration {
    let now = ContinuousClock.now
    return instant.withLock { instant in
      let first = instant ?? now
      instant = first
      return now - first
    }
  }
}
