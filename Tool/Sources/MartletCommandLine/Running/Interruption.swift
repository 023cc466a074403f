import Dispatch
import Glibc
import Synchronization

/// Runs work in a task that Ctrl-C and SIGTERM cancel, so that files are closed and what was begun is written down. A
/// second Ctrl-C ends the program at once.
enum Interruption {
  static func running<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let task = Task { try await work() }
    let sources = [SIGINT, SIGTERM].map { DispatchSource.makeSignalSource(signal: $0) }
    defer { for source in sources { source.cancel() } }
    let isEnding = OnceFlag()
    for source in sources {
      source.setEventHandler {
        guard isEnding.set() else { exit(ExitCode.interrupted.rawValue) }
        task.cancel()
      }
      await withCheckedContinuation { isWatching in
        source.setRegistrationHandler { isWatching.resume() }
        source.activate()
      }
    }
    return try await task.value
  }
}

/// A flag that is set once.
private final class OnceFlag: Sendable {
  private let isSet = Atomic(false)

  /// Sets the flag; false if it was set before.
  func set() -> Bool { !isSet.exchange(true, ordering: .relaxed) }
}
