package import Dispatch

#if canImport(Darwin)
import Darwin
#endif

/// Watches signals, which then no longer end the process.
@MainActor
package enum SignalWatch {
  /// Begins to watch a signal. Each that comes after the return is told to `handler`, on the main queue; one that comes before
  /// does what it does without a watch.
  ///
  /// Dispatch registers a source on a thread of its own, on a busy computer some time after it was resumed. The signal must
  /// not be ignored until then: on Linux it would be lost, for only that registration takes it out of being ignored.
  package static func begin(
    _ number: Int32, _ handler: @escaping @Sendable () -> Void
  ) async -> any DispatchSourceSignal {
    let source = DispatchSource.makeSignalSource(signal: number, queue: .main)
    source.setEventHandler(handler: handler)
    await withCheckedContinuation { registered in
      source.setRegistrationHandler { registered.resume() }
      source.resume()
    }
    #if canImport(Darwin)
    // There a source only looks on: the signal would still end the process.
    signal(number, SIG_IGN)
    #endif
    return source
  }
}
