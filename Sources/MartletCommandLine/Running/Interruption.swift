import Dispatch
import Glibc

/// Runs work in a task that Ctrl-C and SIGTERM cancel, so that files are closed and what was begun is written down. A
/// second Ctrl-C ends the program at once.
enum Interruption {
  static func running<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let task = Task { try await work() }
    let sources = [SIGINT, SIGTERM].map { DispatchSource.makeSignalSource(signal: $0) }
    defer { for source in sources { source.cancel() } }
    for source in sources {
      source.setEventHandler {
        task.cancel()
        source.cancel()
      }
      await withCheckedContinuation { isWatching in
        source.setRegistrationHandler { isWatching.resume() }
        source.activate()
      }
    }
    return try await task.value
  }
}
